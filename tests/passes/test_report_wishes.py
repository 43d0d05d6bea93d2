"""What is said of loops that were wished parallel and are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.passes.loops import matrix, through, unguarded, vector
from weft.driver.compiler import lower
from weft.passes.loop_reductions import LoopReductions
from weft.passes.loop_to_map import LoopToMap
from weft.passes.report_wishes import ReportWishes

STEPS = (LoopReductions(), LoopToMap(), ReportWishes())


def neighbour(a, b):
    for i in weft.prange(1, len(a)):
        a[i] = a[i - 1] + 1


def scatter(a, b):
    for i in weft.prange(len(a)):
        b[int(a[i])] += 1.0


def halved(a, b):
    for i in weft.prange(len(a) - 2):
        a[i * 2 // 2 + 1] = b[i]


def alternating(a, b):
    s = np.float64(0)
    for i in weft.prange(len(a)):
        s = a[i] - s
    return s


def stops(a, b):
    for i in weft.prange(len(a)):
        if a[i] > 100:
            break
        b[i] = a[i]


def granted(a, b):
    s = np.float64(0)
    for i in weft.prange(len(a)):
        b[i] = a[i] * 2
        s += a[i]
    return s


SAID = [
    (neighbour, "the prange loop over i runs serially: "
                "a[i] written at line +1 may be a[i - 1] read at line +1 in a later iteration"),
    (scatter, "the prange loop over i runs serially: "
              "b[int(a[i])] written at line +1 may be b[int(a[i])] read at line +1 in a later iteration"),
    (halved, "the prange loop over i runs serially: "
             "a[(2*i // 2) + 1] written at line +1 may be a[(2*i // 2) + 1] written at line +1 in a later iteration"),
    (alternating, "the prange loop over i runs serially: s is carried from one iteration to the next at line +1"),
    (stops, "the prange loop over i runs serially: it may break at line +1"),
]  # fmt: skip


def with_lines(text: str, line: int) -> str:
    """`+1` is a line after that of the loop."""
    for number in range(1, 6):
        text = text.replace(f"line +{number}", f"line {line + number}")
    return text


@pytest.mark.parametrize(("function", "text"), SAID, ids=lambda x: getattr(x, "__name__", ""))
def test_says_what_is_in_the_way(function: Callable[..., Any], text: str) -> None:
    _, session = through(unguarded(function, (vector(9), vector(9, seed=1))), *STEPS)
    (record,) = [record for record in session.records if record.wish]
    assert record.span is not None
    assert record.text == with_lines(text, record.span.line)


def test_a_wish_that_came_true_is_not_mentioned() -> None:
    _, session = through(unguarded(granted, (vector(9), vector(9, seed=1))), *STEPS)
    assert not [record for record in session.records if record.wish]


def box(A):
    n, m = A.shape
    for i, j in weft.map[1:n, 0:m]:
        A[i, j] = A[i - 1, j]


def wavefront(A):
    n, m = A.shape
    for i, j in weft.map[1:n, 1:m]:
        A[i, j] = A[i - 1, j] + A[i, j - 1]


@pytest.mark.parametrize("function", [box, wavefront], ids=lambda f: f.__name__)
def test_one_record_for_a_map_over_a_box(function: Callable[..., Any]) -> None:
    _, session = through(unguarded(function, (matrix(4, 4),)), *STEPS)
    (record,) = [record for record in session.records if record.wish]
    assert record.text.startswith("the map loop over i runs serially: A[i, j] written at line ")


def checked(a, b):
    for i in weft.prange(len(a)):
        b[i] = a[i]


def test_a_check_that_could_not_be_moved_out() -> None:
    program = lower(checked, (vector(9), vector(9, seed=1))).program
    _, session = through(program, *STEPS)
    (record,) = [record for record in session.records if record.wish]
    assert "each iteration checks for `index out of bounds` at line " in record.text


def test_the_program_is_the_very_same() -> None:
    before = unguarded(neighbour, (vector(9), vector(9, seed=1)))
    assert through(before, ReportWishes())[0] is before
