"""Checks that fail in most calls are told of: the program runs in Python then, though nothing is wrong with it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from tests.compiling import PLAINLY

pytestmark = PLAINLY


def product(a: int, b: int) -> int:
    c = a * b
    return c + 1


def told(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[warnings.WarningMessage]:
    """The warnings of a program whose calls all give what Python gives."""
    program = weft.program(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for arguments in calls:
            try:
                expected = function(*arguments)
            except IndexError:
                expected = None
            try:
                found = program(*arguments)
            except IndexError:
                found = None
            assert found == expected
    return caught


def test_a_check_that_fails_in_most_calls_is_told_of_once() -> None:
    (warning,) = told(product, [(2**40, 2**40)] * 100)
    assert warning.category is weft.FallbackWarning
    assert str(warning.message) == (
        "product goes on in Python from here in 32 of 32 calls: "
        "compiled code needs what does not hold there (int too large for int64)"
    )
    assert warning.filename == __file__
    assert warning.lineno == product.__code__.co_firstlineno + 1


def test_a_check_that_fails_now_and_then_is_not() -> None:
    assert told(product, [(3, 4), (5, 6), (2**40, 2**40)] * 100) == []


def test_a_check_that_fails_more_and_more_often_is() -> None:
    assert len(told(product, [(3, 4)] * 50 + [(2**40, 2**40)] * 100)) == 1


def last(a: Any, k: int) -> Any:
    return a[k] + 1.0


def test_what_python_raises_as_well_is_not() -> None:
    assert told(last, [(np.ones(3), 5)] * 100) == []
