"""Quotients of complex numbers: NumPy's bits and warnings, also of numbers at the ends of their range."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import weft

Array = np.ndarray[Any, Any]


def quotients(a: Array, b: Array) -> Array:
    return a / b


def steps(z: Array) -> Array:
    return z - (z * z * z - 1) / (3 * z * z)


def in_place(a: Array, b: Array) -> Array:
    for _ in range(3):
        a = a - a / b
    return a


def _outcome(function: Any, *args: Array) -> tuple[Array, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*(arg.copy() for arg in args))
    return result, list(dict.fromkeys(str(one.message) for one in caught))  # one of a kind for each line


def _same(function: Any, *args: Array) -> None:
    expected, told = _outcome(function, *args)
    found, noted = _outcome(weft.program(fallback="error")(function), *args)
    assert noted == told
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    for part in ("real", "imag"):
        left, right = getattr(found, part), getattr(expected, part)
        known = ~np.isnan(right)
        np.testing.assert_array_equal(np.signbit(left[known]), np.signbit(right[known]))


def _ends(dtype: Any) -> list[float]:
    info = np.finfo(dtype)
    sizes = [0.0, float(info.tiny), float(info.smallest_subnormal), 1.0, 3.0, float(info.max), float("inf")]
    return [sign * size for size in sizes for sign in (1.0, -1.0)] + [float("nan")]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_ends_of_the_range(dtype: Any) -> None:
    parts = _ends(np.dtype(dtype).type(0).real.dtype)
    numbers = np.array([complex(x, y) for x, y in itertools.product(parts, parts)], dtype)
    few = numbers[:: len(numbers) // 23]
    _same(quotients, np.repeat(few, len(numbers)), np.tile(numbers, len(few)))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("number", [0.0, 1e-30, 1.0, complex(0, 2), np.inf, complex(0, np.nan)])
def test_a_single_special_one_among_many(dtype: Any, number: complex) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=(2, 40, 41)) + 1j * rng.normal(size=(2, 40, 41))).astype(dtype)
    a[3, 5] = b[11, 7] = number
    b[20] = 1.0
    b[21] = 2j
    _same(quotients, a, b)
    _same(in_place, a, b)
    _same(steps, b)


def test_a_quotient_lost_to_an_overflow_of_the_divisor() -> None:
    largest = np.finfo(float).max
    a = np.full(300, 1 + 1j)
    b = np.full(300, 2 + 1j)
    b[100] = complex(largest, largest)  # the quotient is zero, and the sum of squares overflowed
    _same(quotients, a, b)


def sums(a: Array, b: Array) -> Array:
    return np.sum(a / b, axis=1)


def sums_of_differences(a: Array, b: Array) -> Array:
    return np.sum(a / (b - a), axis=1)


@pytest.mark.parametrize("function", [sums, sums_of_differences])
@pytest.mark.parametrize("number", [0.0, complex(1.7e308, 1.7e308), 1e-308, np.inf, complex(0, np.nan), 5e-324j])
def test_sums_of_quotients_warn_as_numpy_does(function: Any, number: complex) -> None:
    a, b = np.full((3, 40), 1 + 1j), np.full((3, 40), 2 + 2j)
    b[1, 17] = number
    for left, right in ((a, b), (b, a)):
        expected, told = _outcome(function, left, right)
        found, noted = _outcome(weft.program(fallback="error")(function), left, right)
        assert noted == told
        np.testing.assert_allclose(found, expected, rtol=1e-14)
