"""Small arrays for tests: unsymmetric, distinct numbers, integers in value so that sums are exact in any order."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np


def whole(dtype: Any, *shape: int) -> np.ndarray:
    """Numbers from -9 to 13 without a pattern along any axis (from 0 on for unsigned types)."""
    numbers = (np.arange(prod(shape)) * 7 + 5) % 23
    if np.dtype(dtype).kind not in "ub":
        numbers = numbers - 9
    if np.dtype(dtype).kind == "b":
        numbers = numbers % 3
    array = numbers.astype(dtype).reshape(shape)
    return array + array[::-1] * 1j if np.dtype(dtype).kind == "c" and shape else array


def f8(*shape: int) -> np.ndarray:
    return whole(np.float64, *shape)


def f4(*shape: int) -> np.ndarray:
    return whole(np.float32, *shape)


def i8(*shape: int) -> np.ndarray:
    return whole(np.int64, *shape)


def i4(*shape: int) -> np.ndarray:
    return whole(np.int32, *shape)


def u1(*shape: int) -> np.ndarray:
    return whole(np.uint8, *shape)


def b1(*shape: int) -> np.ndarray:
    return whole(np.bool_, *shape)


def c16(*shape: int) -> np.ndarray:
    return whole(np.complex128, *shape)


def parts(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    """Positive numbers with fractions, between 0.1 and 3."""
    return (((np.arange(prod(shape)) * 37 + 11) % 101) / 36 + 0.1).astype(dtype).reshape(shape)
