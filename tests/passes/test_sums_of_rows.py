"""Loops that add rows to rows, as sums of rows; and those whose turns see what was added before."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.loops import SIZES, assert_agrees, body_text, count, matrix, reasons, through, vector
from weft.driver.compiler import lower
from weft.ir.nodes import Guard, Loop, Map, Program, Reduce
from weft.passes.base import Session, rewrite_nodes
from weft.passes.expand_elementwise import ExpandElementwise
from weft.passes.inline_producers import InlineProducers
from weft.passes.loop_to_map import LoopToMap
from weft.passes.simplify import Simplify
from weft.passes.sums_of_rows import SumsOfRows


def weighted_rows(A, s, r):
    for k in range(len(r)):
        s += r[k] * A[k]


def taken_away(A, s, r):
    for k in range(len(r)):
        s[1:] -= A[k, 1:] * r[k]


def point_by_point(A, s, r):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s[j] += r[i] * A[i, j]


def backwards(A, s, r):
    for k in range(len(r) - 1, -1, -2):
        s += A[k] * 2.0


def in_every_second_place(A, s, r):
    for k in range(len(r)):
        s[::2] += A[k, ::2] * A[k, ::2]


SUMMED = [weighted_rows, taken_away, backwards]
OTHERS = [point_by_point, in_every_second_place]  # of which the one has its site from a guard


def seen_in_the_next_turn(A, s, r):
    for k in range(len(r)):
        s += s[0] * A[k]


def seen_by_a_neighbour(A, s, r):
    for k in range(len(r)):
        s[:-1] += r[k] * s[1:]


def of_another_length(A, s, r):
    for k in range(min(len(r), len(s))):
        s[:k] += A[k, :k]


def not_added(A, s, r):
    for k in range(len(r)):
        s *= r[k]


def with_something_else(A, s, r):
    for k in range(len(r)):
        s += A[k]
        r[k] = s[0]


def along_columns(A, s, r):
    for k in range(min(A.shape)):
        r[: A.shape[0]] += A[:, k]


KEPT = [
    seen_in_the_next_turn, seen_by_a_neighbour, of_another_length, not_added, with_something_else, along_columns,
]  # fmt: skip


def arguments(m: int, n: int, dtype: Any = np.float64) -> list[Any]:
    return [matrix(m, n).astype(dtype), vector(n, dtype, 1), vector(m, dtype, 2)]


def expanded(function: Callable[..., Any]) -> Program:
    """The program of a function at the level of maps, without guards but with its sites: sums need memory."""
    assert isinstance(function, FunctionType)
    program, _ = through(lower(function, tuple(arguments(4, 3))).program, ExpandElementwise())
    body = rewrite_nodes(program.body, lambda node: () if isinstance(node, Guard) else None)
    return through(replace(program, body=body), Simplify(loop_sites=True), InlineProducers())[0]


def summed(function: Callable[..., Any]) -> tuple[Program, Session]:
    return through(expanded(function), LoopToMap(), SumsOfRows())


@pytest.mark.parametrize("function", SUMMED)
def test_summed(function: Callable[..., Any]) -> None:
    made, session = summed(function)
    assert (count(made, Loop), count(made, Reduce)) == (0, 1)
    assert any("adds up are a sum" in text for text in reasons(session, done=True))
    assert through(made, SumsOfRows())[0] is made
    for m in SIZES:
        if m:
            assert_agrees(function, made, lambda m=m: arguments(m, 3))


@pytest.mark.parametrize("function", KEPT)
def test_kept(function: Callable[..., Any]) -> None:
    made, _ = summed(function)
    assert (count(made, Loop), count(made, Reduce)) == (1, 0)
    assert count(made, Map)
    assert_agrees(function, made, lambda: arguments(5, 5))


def test_before_and_after(golden: Golden) -> None:
    before = expanded(weighted_rows)
    made, _ = through(before, SumsOfRows())
    assert f"{body_text(before)}\n-- after --\n{body_text(made)}" == golden


@PLAINLY
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.complex128])
@pytest.mark.parametrize("function", [*SUMMED, *OTHERS, *KEPT])
def test_compiled(function: Callable[..., Any], dtype: Any) -> None:
    program = weft.program(function)
    for m, n in ((0, 3), (3, 0), (1, 1), (5, 5), (40, 40)):
        ours, theirs = arguments(m, n, dtype), arguments(m, n, dtype)
        for call, given in ((program, ours), (function, theirs)):
            with np.errstate(all="ignore"):
                outcome = _outcome(call, given)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5 if dtype is np.float32 else 1e-12)
        assert outcome is None or not isinstance(outcome, weft.WeftError)


def _outcome(call: Callable[..., Any], given: list[Any]) -> Exception | None:
    try:
        call(*given)
    except (IndexError, ValueError, TypeError) as error:
        return error
    return None


@PLAINLY
@pytest.mark.parametrize("order", [np.asfortranarray, lambda a: a[::-1], lambda a: np.repeat(a, 2, axis=-1)[..., ::2]])
def test_other_layouts(order: Callable[[Any], Any]) -> None:
    program = weft.program(weighted_rows)
    ours, theirs = ([order(a) for a in arguments(6, 5)] for _ in range(2))
    program(*ours)
    weighted_rows(*theirs)
    np.testing.assert_array_equal(ours[1], theirs[1])


@PLAINLY
def test_rows_that_are_added_to() -> None:
    program = weft.program(weighted_rows)
    results: list[Any] = []
    for call in (program, weighted_rows):
        A, _, r = arguments(4, 4)
        call(A, A[2], r)
        call(A, r, r)
        results.append((A, r))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


@PLAINLY
def test_warnings_are_numpys() -> None:
    said: list[set[str]] = []
    for call in (weft.program(weighted_rows), weighted_rows):
        A, s, r = arguments(3, 4)
        A[1, 2], r[1], s[0], A[2, 0] = 1e308, 1e10, np.inf, -np.inf
        r[2] = 1.0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(A, s, r)
        said.append({str(warning.message) for warning in caught})
    assert said[0] == said[1]
    assert len(said[0]) == 2
