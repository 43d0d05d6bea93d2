"""Arguments for adversarial programs: the same numbers every time, no two arrays alike.

`numbers` are small whole ones: sums and products of them are exact in any order, so that a loop raised to a reduction
still gives Python's bits. `fractions` round: programs without a sum must keep Python's order of operations.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Shape: TypeAlias = int | tuple[int, ...]


def numbers(shape: Shape, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    """Whole numbers from -9 to 13."""
    random = np.random.default_rng(1000 + seed)
    found = random.integers(-9, 14, shape)
    if np.dtype(dtype).kind == "c":
        return (found + 1j * random.integers(-9, 14, shape)).astype(dtype)
    return (found % 2 if np.dtype(dtype).kind == "b" else found).astype(dtype)


def fractions(shape: Shape, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    """Numbers between 0.1 and 3 that round; whole ones from 1 to 30 for integer types."""
    found = np.random.default_rng(2000 + seed).uniform(0.1, 3.0, shape)
    if np.dtype(dtype).kind in "iu":
        return (found * 10).astype(dtype)
    return (found + 1j * found[::-1]).astype(dtype) if np.dtype(dtype).kind == "c" else found.astype(dtype)


def signs(shape: Shape, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    """1, -1, 2 and -2: products stay exact for a while."""
    return np.random.default_rng(3000 + seed).choice([1, -1, 1, -2, -1, 2], shape).astype(dtype)


def positions(count: int, below: int, seed: int = 0) -> np.ndarray:
    """Indices with repetitions, from 0 to below."""
    return np.random.default_rng(4000 + seed).integers(0, max(below, 1), count)


def order(count: int, seed: int = 0) -> np.ndarray:
    """Indices without repetitions."""
    return np.random.default_rng(5000 + seed).permutation(count)


def diagonal_heavy(size: int, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    """A symmetric matrix that can be factored without pivoting."""
    found = fractions((size, size), dtype, seed)
    return ((found + found.T) / 2 + 4 * size * np.eye(size)).astype(dtype)


def twice(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One array as two arguments."""
    return array, array


def parts(array: np.ndarray, *keys: Any) -> tuple[np.ndarray, ...]:
    """Several views of one array."""
    return tuple(array[key] for key in keys)
