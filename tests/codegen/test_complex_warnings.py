"""One part of a complex number that is no number hides nothing of what happens to the other."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same_outcome, run

PARTS = (0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, 1e308, 1e200)
NUMBERS = [complex(*parts) for parts in product(PARTS, PARTS)]


def added(a, b):
    return a + b


def subtracted(a, b):
    return a - b


def multiplied(a, b):
    return a * b


def squared(a, b):
    return np.square(a)


def narrowed(a, b):
    return a.astype(np.complex64)


def assert_same_warnings(function: Callable[..., Any], make: Callable[[complex], Any]) -> None:
    program = weft.program(function)
    for a, b in product(NUMBERS, NUMBERS[::5]):
        ours, expected = run(program, [make(a), make(b)]), run(function, [make(a), make(b)])
        assert ours.warnings == expected.warnings, (a, b)


@pytest.mark.parametrize("function", [added, subtracted, multiplied, squared, narrowed], ids=lambda f: f.__name__)
def test_single_elements_warn_as_numpys_do(function: Callable[..., Any]) -> None:
    assert_same_warnings(function, lambda number: np.array([number]))


@pytest.mark.parametrize("function", [added, subtracted, multiplied], ids=lambda f: f.__name__)
def test_scalars_warn_as_numpys_do(function: Callable[..., Any]) -> None:
    assert_same_warnings(function, np.complex128)


def mixed(a, x, n, b):
    return a + x, x - a, a * x, n + a, a / n, b + a


@pytest.mark.filterwarnings("ignore")
def test_real_numbers_become_complex_ones_with_their_warnings() -> None:
    program = weft.program(mixed, fallback="error")
    for a in (np.complex64(1 + 2j), np.array([1 + 2j], np.complex64), np.array([1j, 3.0]), np.complex128(2j)):
        for x in (2.5, 1e39, np.inf, np.nan):
            assert_same_outcome(run(program, [a, x, 3, True]), run(mixed, [a, x, 3, True]), where=f"{a!r}, {x}")
