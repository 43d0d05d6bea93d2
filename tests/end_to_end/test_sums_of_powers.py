"""Sums of squares and other powers, as loops over NumPy's numbers write them: results and warnings are NumPy's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same_outcome, run


def squares(a, b):
    s = 0.0
    for i in range(len(a)):
        s += (a[i] - b[i]) ** 2
    return s


def square_roots(a, b):
    s = 0.0
    for i in range(len(a)):
        s += (a[i] * b[i]) ** 0.5
    return s


def cubes_of_halves(a, b):
    s = 0.0
    for i in range(len(a)):
        s -= a[i] ** 1.5 + b[i] ** 3
    return s


def reciprocals(a, b):
    s = 0.0
    for i in range(len(a)):
        s += a[i] ** -2 + b[i] ** -0.5
    return s


VALUES = [1.5, 0.0, -0.0, -2.0, np.inf, -np.inf, np.nan, 1e200, -1e200, 1e-200, 5e-324]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", [squares, square_roots, cubes_of_halves, reciprocals])
def test_values_that_warn(function: Callable[..., Any], dtype: str) -> None:
    program = weft.program(function, fallback="error")
    with np.errstate(over="ignore"):
        values = np.array(VALUES, dtype)
    for x in values:
        for y in values:

            def make(x: Any = x, y: Any = y) -> list[Any]:
                a, b = np.full(21, 2.0, dtype), np.full(21, 3.0, dtype)
                a[17], b[17] = x, y
                return [a, b]

            assert_same_outcome(run(program, make()), run(function, make()), ulps=16.0, where=f"{x} {y}")


def roots(a, b):
    for i in range(len(a)):
        b[i] = a[i] ** 0.5


def roots_of_pythons_numbers(a, b):
    for i in range(len(a)):
        b[i] = float(a[i]) ** 0.5


def roots_by_math(a, b):
    for i in range(len(a)):
        b[i] = math.pow(a[i], 0.5)


def roots_by_ufunc(a, b):
    for i in range(len(a)):
        b[i] = np.power(a[i], 0.5)


def roots_of_arrays(a, b):
    b[:] = a**0.5 + np.power(a, 0.5)


@pytest.mark.parametrize("x", [-0.0, 0.0, np.inf, -np.inf, np.nan, 2.0, -2.0])
@pytest.mark.parametrize("function", [roots, roots_of_pythons_numbers, roots_by_math, roots_by_ufunc, roots_of_arrays])
def test_roots_are_powers_where_they_are_in_numpy(function: Callable[..., Any], x: float) -> None:
    """NumPy's arrays take a root, with which -0.0 stays and -inf is none; its scalars and Python take a power."""
    program = weft.program(function)

    def make() -> list[Any]:
        return [np.full(9, x), np.zeros(9)]

    assert_same_outcome(run(program, make()), run(function, make()))
