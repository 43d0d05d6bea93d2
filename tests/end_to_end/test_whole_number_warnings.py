"""Loops over elements that are whole numbers: they wrap, and warn of it, exactly where NumPy's scalars do."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import weft

Loop = Callable[[Any, Any, Any], None]


def add(a: Any, b: Any, result: Any) -> None:
    for i in range(len(a)):
        result[i] = a[i] + b[i]


def subtract(a: Any, b: Any, result: Any) -> None:
    for i in range(len(a)):
        result[i] = a[i] - b[i]


def multiply(a: Any, b: Any, result: Any) -> None:
    for i in range(len(a)):
        result[i] = a[i] * b[i]


def turn_around(a: Any, b: Any, result: Any) -> None:
    for i in range(len(a)):
        result[i] = abs(a[i])
        result[i] = -b[i]


def run(loop: Loop, a: Any, b: Any) -> tuple[list[int], list[str]]:
    result = np.zeros_like(a)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        loop(a, b, result)
    return result.tolist(), sorted({str(warning.message) for warning in given})


def edges(dtype: str) -> list[int]:
    """Numbers whose sums, differences and products lie on both sides of what fits, some of them by one."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    root = int((high + 1) ** 0.5)
    ups = [0, 1, 2, 3, root - 1, root, root + 1, high // 3, high // 3 + 1, high // 2, high // 2 + 1, high - 1, high]
    return [*ups, -1, -2, -root, low // 3, low // 2 - 1, low // 2, low + 1, low] if low else ups


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("loop", [add, subtract, multiply, turn_around], ids=lambda loop: loop.__name__)
def test_each_pair_alone_wraps_and_warns_as_in_numpy(loop: Loop, dtype: str) -> None:
    compiled = weft.program(loop, fallback="error")
    faults: list[str] = []
    for x, y in product(edges(dtype), repeat=2):
        a, b = np.full(9, 1, dtype), np.full(9, 1, dtype)
        a[7], b[7] = x, y
        expected, got = run(loop, a, b), run(compiled, a, b)
        if got != expected:
            faults.append(f"{x}, {y}: {got}, NumPy {expected}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_products_at_random_warn_as_in_numpy(dtype: str) -> None:
    """Of all lengths, so that many are near what fits."""
    rng, compiled = np.random.default_rng(5), weft.program(multiply, fallback="error")
    a, b = (rng.integers(0, 2**63, 400, dtype) >> rng.integers(0, 63, 400).astype(dtype) for _ in range(2))
    seen: set[bool] = set()
    for x, y in zip(a, b, strict=True):
        expected = run(multiply, np.full(1, x), np.full(1, y))
        assert run(compiled, np.full(1, x), np.full(1, y)) == expected, (x, y)
        seen.add(bool(expected[1]))
    assert seen == {False, True}
