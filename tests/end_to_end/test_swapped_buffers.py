"""Programs that swap two arrays at every step."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
import pytest

import weft


@weft.program
def smooth(steps, A, B):
    for _ in range(steps):
        B[1:-1, 1:-1] = 0.25 * (A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:])
        A, B = B, A
    return A


@weft.program
def relax(steps, A):
    B = A.copy()
    for _ in range(steps):
        B[1:-1] = (A[:-2] + A[2:]) / 2.0
        A, B = B, A
    return A, B


@weft.program
def chosen(flag, A, B):
    X = A if flag else B
    X[:, 0] = 7.0
    return X * 2.0


def grids(order: Literal["C", "F"] = "C") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return np.asarray(rng.random((40, 50)), order=order), np.asarray(rng.random((40, 50)), order=order)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("steps", [0, 1, 2, 7])
def test_two_arguments(steps: int, order: Literal["C", "F"]) -> None:
    a, b = grids(order)
    ours = grids(order)
    expected = smooth.py_func(steps, a, b)
    np.testing.assert_array_equal(smooth(steps, *ours), expected)
    np.testing.assert_array_equal(ours[0], a)
    np.testing.assert_array_equal(ours[1], b)


def test_they_are_indexed_by_their_extents() -> None:
    smooth(2, *grids())
    assert "WEFT_AT(" not in smooth.inspect_source().replace("#define WEFT_AT(", "")


def test_of_one_that_is_not_dense() -> None:
    a, b = grids()
    wide = np.zeros((40, 100))
    wide[:, ::2] = a
    expected = smooth.py_func(3, a.copy(), b.copy())
    np.testing.assert_array_equal(smooth(3, wide[:, ::2], b), expected)


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_an_argument_and_an_array_of_the_program(steps: int) -> None:
    a = np.random.default_rng(0).random(100)
    mine = a.copy()
    expected = relax.py_func(steps, a)
    for left, right in zip(relax(steps, mine), expected, strict=True):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(mine, a)


@pytest.mark.parametrize("flag", [True, False])
def test_one_of_two(flag: bool) -> None:
    a, b = grids()
    ours = grids()
    np.testing.assert_array_equal(chosen(flag, *ours), chosen.py_func(flag, a, b))
    np.testing.assert_array_equal(ours[0], a)
    np.testing.assert_array_equal(ours[1], b)


def messages(function, *arguments) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*arguments)
    return [str(entry.message) for entry in caught if entry.category is RuntimeWarning]


def test_warnings_are_those_of_numpy() -> None:
    """One nest holds four operations of one line; each warns for itself, and only where NumPy does."""
    for specials in ([], [np.nan], [np.inf], [1e308, 1e308], [np.inf, -np.inf]):
        a, b = grids()
        a[5, 5 : 5 + 2 * len(specials) : 2] = specials
        ours = messages(smooth, 1, a.copy(), b.copy())
        numpy = messages(smooth.py_func, 1, a.copy(), b.copy())
        assert ours == numpy, specials
