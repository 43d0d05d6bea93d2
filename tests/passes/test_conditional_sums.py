"""Sums of what is computed under a condition: all terms are computed, and only those that count may warn."""

# ruff: noqa: SIM102

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.loops import SIZES, assert_agrees, body_text, count, reasons, through, unguarded, vector
from weft.ir.nodes import Loop, Reduce
from weft.passes.loop_reductions import LoopReductions
from weft.passes.unify_carries import UnifyCarries


def squares_of_some(a):
    total = 0.0
    for i in range(len(a)):
        if a[i] > 0:
            total += a[i] * a[i]
    return total


def passed_over(a):
    total = 0.0
    for i in range(len(a)):
        if a[i] < 0:
            continue
        total -= a[i] - 3.0
    return total


def quotients_of_some(a):
    total = 0.0
    for i in range(len(a)):
        if a[i] > 0:
            total += 8.0 / a[i]
    return total


def under_two_conditions(a):
    total = 0.0
    for i in range(len(a)):
        if a[i] > 0:
            if a[i] < 5:
                total += (a[i] + 1.0) * a[i]
    return total


def both_sides(a):
    total = 0.0
    for i in range(len(a)):
        if a[i] > 2:
            total += a[i] * 4.0
        else:
            total += a[i] + 1.0
    return total


SUMMED = [squares_of_some, quotients_of_some, under_two_conditions, both_sides]


def exponentials(a):
    total = 0.0
    for i in range(len(a)):
        if a[i] < 3:
            total += np.exp(a[i])
    return total


@pytest.mark.parametrize("function", SUMMED)
def test_summed(function: Callable[..., Any]) -> None:
    made, session = through(unguarded(function, (vector(9),)), UnifyCarries(), LoopReductions())
    assert count(made, Loop) == 0
    assert count(made, Reduce) >= 1
    assert "total is a reduction over i" in reasons(session, done=True)
    if function is not quotients_of_some:  # the others add whole numbers
        for size in SIZES:
            assert_agrees(function, made, lambda size=size: (vector(size),))


def test_functions_that_cost_much_are_not_computed_in_vain() -> None:
    made, _ = through(unguarded(exponentials, (vector(9),)), UnifyCarries(), LoopReductions())
    assert count(made, Loop) == 1


def test_before_and_after(golden: Golden) -> None:
    before, _ = through(unguarded(under_two_conditions, (vector(9),)), UnifyCarries())
    made, _ = through(before, LoopReductions())
    assert f"{body_text(before)}\n-- after --\n{body_text(made)}" == golden


@PLAINLY
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("function", [*SUMMED, passed_over, exponentials])
def test_compiled(function: Callable[..., Any], dtype: Any) -> None:
    program = weft.program(function)
    for size in (0, 1, 7, 500):
        a = vector(size, dtype)
        expected, found = function(a), program(a)
        assert type(found) is type(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype is np.float32 else 1e-12)
        np.testing.assert_allclose(program(a[::-2]), function(a[::-2]), rtol=1e-4 if dtype is np.float32 else 1e-12)


@PLAINLY
@pytest.mark.parametrize("special", [0.0, np.inf, -np.inf, np.nan, 1e200, -1e200, 5e-324, -0.0])
@pytest.mark.parametrize("function", [*SUMMED, passed_over])
def test_warnings_are_numpys(function: Callable[..., Any], special: float) -> None:
    said: list[set[str]] = []
    results: list[Any] = []
    for call in (weft.program(function), function):
        a = vector(40)
        a[a == 0.0] = 1.0
        a[7] = special
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results.append(call(a))
        said.append({str(warning.message) for warning in caught})
    assert said[0] == said[1]
    np.testing.assert_allclose(results[0], results[1], rtol=1e-13)
