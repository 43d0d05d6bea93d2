"""Numbers that are Python's after one side of a branch and NumPy's after the other."""

# ruff: noqa: FURB136, PLR1730

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.loops import SIZES, assert_agrees, body_text, reasons, through, unguarded, vector
from weft.ir.nodes import Branch
from weft.ir.traverse import all_nodes
from weft.passes.base import Session
from weft.passes.unify_branches import UnifyBranches


def limited_and_stored(a, b, low, high):
    for i in range(len(a)):
        x = a[i]
        if x < low:
            x = low
        b[i] = x


def limited_on_both_sides(a, b, low, high):
    for i in range(len(a)):
        x = a[i]
        if x < low:
            x = low
        elif x > high:
            x = high
        b[i] = x * high + b[i] * low


def a_literal(a, b, low, high):
    for i in range(len(a)):
        x = a[i] - 1.0
        if x < 0:
            x = 0
        b[i] = x + b[i]


def taken_away(a, b, low, high):
    for i in range(len(a)):
        x = a[i] if a[i] > low else low
        y = high - x
        b[i] = (y - low) * b[i]


UNIFIED = [limited_and_stored, limited_on_both_sides, a_literal, taken_away]


def returned(a, b, low, high):
    x = low
    for i in range(len(a)):
        x = a[i]
        if x < low:
            x = low
    return x


def divided(a, b, low, high):
    for i in range(len(a)):
        x = a[i]
        if x < low:
            x = low
        b[i] = high / x


def shown_where_it_fails(a, b, low, high):
    for i in range(len(a)):
        x = a[i]
        if x < low:
            x = low
        b[i + 1] = x


def an_int_of_any_size(a, b, low, high):
    n = int(high)
    for i in range(len(a)):
        x = a[i]
        if x < low:
            x = n
        b[i] = x + b[i]


OTHERS = [returned, divided, shown_where_it_fails, an_int_of_any_size]


def arguments(n: int, dtype: Any = np.float64) -> list[Any]:
    return [vector(n, dtype), vector(n, dtype, 1), -2.0, 3.0]


def branches(program: Any) -> int:
    return sum(isinstance(node, Branch) for node in all_nodes(program.body))


@pytest.mark.parametrize("function", UNIFIED)
def test_unified(function: Callable[..., Any]) -> None:
    before = unguarded(function, arguments(9))
    made, session = through(before, UnifyBranches())
    assert branches(made) < branches(before)
    assert any("is one number for both types" in text for text in reasons(session, done=True))
    assert UnifyBranches().run(made, Session()) is made
    for size in SIZES:
        assert_agrees(function, made, lambda size=size: arguments(size))


def test_before_and_after(golden: Golden) -> None:
    before = unguarded(limited_on_both_sides, arguments(9))
    made, _ = through(before, UnifyBranches())
    assert f"{body_text(before)}\n-- after --\n{body_text(made)}" == golden


def call(function: Callable[..., Any], given: list[Any]) -> tuple[Any, str, set[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = function(*given), ""
        except (IndexError, ZeroDivisionError, OverflowError) as problem:
            result, error = None, f"{type(problem).__name__}: {problem}"
    return result, error, {str(warning.message) for warning in caught}


@PLAINLY
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("function", [*UNIFIED, *OTHERS])
def test_compiled(function: Callable[..., Any], dtype: Any) -> None:
    program = weft.program(function)
    for size in (0, 1, 7, 300):
        ours, theirs = arguments(size, dtype), arguments(size, dtype)
        (one, error, said), (other, wanted, expected) = call(program, ours), call(function, theirs)
        assert (type(one), error, said) == (type(other), wanted, expected)
        np.testing.assert_array_equal(ours[1], theirs[1])
        if other is not None:
            assert one == other


@PLAINLY
@pytest.mark.parametrize("function", UNIFIED)
@pytest.mark.parametrize("place", ["a", "b", "low", "high"])
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324, -0.0])
def test_warnings_are_numpys(function: Callable[..., Any], place: str, special: float) -> None:
    outcomes: list[Any] = []
    for run in (weft.program(function), function):
        given = arguments(40)
        number = ("a", "b", "low", "high").index(place)
        if number < 2:
            given[number][3:30:9] = special
        else:
            given[number] = special
        outcomes.append((given, call(run, given)))
    (ours, found), (theirs, expected) = outcomes
    assert found == expected
    np.testing.assert_array_equal(ours[1], theirs[1])


@PLAINLY
@pytest.mark.parametrize("order", [lambda a: a[::-1], lambda a: np.repeat(a, 2)[::2]])
def test_other_layouts(order: Callable[[Any], Any]) -> None:
    for function in UNIFIED:
        ours, theirs = ([order(x) if isinstance(x, np.ndarray) else x for x in arguments(20)] for _ in range(2))
        weft.program(function)(*ours)
        function(*theirs)
        np.testing.assert_array_equal(ours[1], theirs[1])
