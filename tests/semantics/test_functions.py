"""The rows "floats: functions", "floats: sums", "repeatability": bounds of the error, and the same bits every time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import run
from tests.semantics.cases import agree


def functions(x, y):
    return (
        np.exp(x), np.log(y), np.sin(x), np.cos(x), np.tan(x), np.tanh(x), np.arctan(x), np.cbrt(x), np.log1p(y),
        np.expm1(x), np.exp2(x), np.log2(y), np.log10(y), np.sinh(x), np.power(y, x), np.arctan2(x, y), np.hypot(x, y),
    )  # fmt: skip


def numbers(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    x = (np.linspace(-20.0, 20.0, 4001) + 1e-3).astype(dtype)
    return x, np.abs(x)


@pytest.mark.parametrize("dtype", ["d", "f"])
def test_functions_are_within_four_units(dtype: str) -> None:
    agree(functions, lambda: numbers(dtype), ulps=4)


def test_strict_functions_have_the_bits_of_numpy() -> None:
    program = weft.program(functions, fallback="error", strict=True)
    for actual, expected in zip(program(*numbers("d")), functions(*numbers("d")), strict=True):
        np.testing.assert_array_equal(actual, expected)


def of_module_math(x):
    y = np.empty((2, len(x)))
    for i in range(len(x)):
        y[0, i] = math.erf(x[i])
        y[1, i] = math.erfc(x[i])
    return y


def test_functions_of_module_math() -> None:
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e300, -6.0, 27.5])
    agree(of_module_math, lambda: (np.linspace(-6, 26, 4001),), lambda: (odd,), lambda: (odd[:1],), ulps=4)


def edges(x):
    return np.exp(x), np.log(x), np.sin(x), np.sqrt(x), np.tanh(x), np.arctan(x), np.log1p(x), np.expm1(x), np.cos(x)


def test_functions_of_odd_numbers() -> None:
    """Infinities, NaN, zeros of both signs, subnormals: values and warnings."""
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 710.0, -745.2, 1.0, -1.0])
    agree(edges, lambda: (odd,), ulps=4)
    agree(edges, *[lambda value=value: (np.float64(value),) for value in odd], ulps=4)


def powers(x):
    return (
        x**-2, x**-2.0, x**-1.5, x**-1.0, x**-0.5, np.power(x, 0.5), x**1.0, x**1.5, np.power(x, 2), x**2.0, x**2.5,
        x**3, x**3.5, np.power(x, 4),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["d", "f"])
def test_powers_that_are_products_and_roots(dtype: str) -> None:
    """Within four units, of numbers large and small; of odd ones the same values, signs and warnings."""
    largest = math.log(np.finfo(dtype).max) * 0.9
    spread = np.exp(np.random.default_rng(5).uniform(-largest / 4, largest / 4, 4000))
    agree(powers, lambda: (spread.astype(dtype),), lambda: (numbers(dtype)[1],), ulps=4)
    least, most = np.finfo(dtype).tiny, np.finfo(dtype).max
    for odd in (0.0, -0.0, np.inf, -np.inf, np.nan, least, most, most**0.3, -1.5, 1.0):
        agree(powers, lambda odd=odd: (np.full(3, odd, dtype),), ulps=4)


def a_power(x, y):
    return (x + y) ** -1.5


def a_power_of_some(x, y):
    return np.where(x > 0, (x * y) ** -1.5, x**2.5)


@pytest.mark.parametrize("function", [a_power, a_power_of_some])
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_warnings_of_powers_in_fused_loops(function: Callable[..., Any], dtype: str) -> None:
    """One number among many others; below zero and so small that its reciprocal is infinite, only the root warns."""
    small = float(np.finfo(dtype).smallest_subnormal)
    for odd in (0.0, -0.0, np.inf, -np.inf, np.nan, small, -small, 1e-30, float(np.finfo(dtype).max), -1.5):
        x = np.ones(40, dtype)
        x[33] = odd
        agree(function, lambda x=x: (x, np.zeros(40, dtype)), lambda x=x: (x, np.ones(40, dtype)), ulps=4)


def sums(a, m):
    total = 0.0
    for i in range(len(a)):
        total += a[i]
    return (
        a.sum(),
        np.sum(a * a),
        a.mean(),
        total,
        m.sum(axis=0),
        m.sum(axis=1),
        a.dot(a),
        np.prod(a[:50] + 1.0),
        a.var(),
    )


def test_sums_are_as_good_as_pairwise_ones() -> None:
    """Numbers of mixed sign that cancel: the error stays within that of NumPy's own way of summing."""
    rng = np.random.default_rng(3)
    a = rng.standard_normal(100_003) * 10.0 ** rng.integers(-8, 9, 100_003)
    m = a[:100_000].reshape(1000, 100)
    program = weft.program(sums, fallback="error")
    actual = program(a, m)
    eps, size = np.finfo(float).eps, math.log2(len(a)) + 10
    assert abs(actual[0] - math.fsum(a)) <= eps * size * math.fsum(abs(a))
    assert abs(actual[1] - math.fsum(a * a)) <= eps * size * math.fsum(a * a)
    assert abs(actual[3] - math.fsum(a)) <= eps * size * math.fsum(abs(a)) * 100
    for axis, given in ((0, actual[4]), (1, actual[5])):
        exact = np.array([math.fsum(row) for row in np.moveaxis(m, axis, -1)])
        bound = np.array([math.fsum(abs(row)) for row in np.moveaxis(m, axis, -1)])
        assert np.all(abs(given - exact) <= eps * size * bound)


def test_the_same_bits_for_every_number_of_threads() -> None:
    rng = np.random.default_rng(4)
    a = rng.standard_normal(300_007)
    m = a[:300_000].reshape(600, 500)
    results = [run(weft.program(sums, fallback="error", threads=threads), (a, m)).result for threads in (1, 2, 3)]
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(one, two)
