"""Loops that become maps, and those that must not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Golden
from tests.passes.loops import (
    SIZES,
    assert_agrees,
    body_text,
    count,
    matrix,
    reasons,
    through,
    unguarded,
    vector,
)
from tests.passes.programs import after, assert_same_meaning, program
from tests.passes.programs import body_text as text_of
from weft.driver.compiler import lower
from weft.ir.nodes import Loop, Map
from weft.passes.base import Session
from weft.passes.loop_to_map import LoopToMap

NEST = """\
  for %i.20: py_int from 0 to %r.3 - 1 in 0:%r.3 {
    for %j.21: py_int from 1 to %c.4 - 1 in 1:%c.4 {
      %x.22: f8 = P[%i.20, %j.21]
      %y.23: f8 = multiply(2.0:f8, %x.22) warn 1
      write P[%i.20, %j.21] = %y.23
      continue
    }
    continue
  }
  return missing"""


def test_a_nest_becomes_nested_maps_under_what_is_not_proved(golden: Golden) -> None:
    before = program(NEST)
    made = after(LoopToMap(), before)
    assert_same_meaning(before, made)
    assert text_of(made) == golden


STEPS = """\
  for %i.20: py_int from 1 to %n.1 - 1 in %n.1 - 1:0:-1 {
    write A[%i.20] = 1.0:f8
    continue
  }
  for %i.21: py_int from 0 to %n.1 - 1 in 0:%n.1:3 {
    %x.22: f8 = A[%i.21]
    write B[%i.21] = %x.22
    continue
  }
  for %i.23: py_int from 0 to 9 in 9:-1:-4 {
    for %j.24: py_int from 0 to %i.23 - 1 in 0:%i.23 {
      %x.25: f8 = A[0]
      continue
    }
    continue
  }
  return missing"""


def test_ranges_that_run_down_or_in_steps_are_counted_upwards(golden: Golden) -> None:
    before = program(STEPS)
    made = after(LoopToMap(), before)
    assert_same_meaning(before, made)
    assert text_of(made) == golden


def test_with_nothing_to_do_the_program_is_the_very_same() -> None:
    before = program("  return missing")
    assert LoopToMap().run(before, Session()) is before


# ---- functions that become maps -------------------------------------------------------------------------------------


def copy(a, b):
    for i in range(len(a)):
        b[i] = a[i]


def in_place(a, b):
    for i in range(len(a)):
        a[i] = a[i] * 2 + i


def backwards(a, b):
    for i in range(len(a) - 1, -1, -1):
        b[i] = a[i] + i


def every_third(a, b):
    for i in range(1, len(a), 3):
        b[i] = a[i] - b[i]


def down_by_two(a, b):
    for i in range(len(a) - 1, 0, -2):
        b[i] = a[i]


def reversed_halves(a, b):
    for i in range(len(a)):
        b[len(a) - 1 - i] = a[i]


def even_from_odd(a, b):
    for i in range(len(a) // 2):
        a[2 * i] = a[2 * i + 1]


def with_a_choice(a, b):
    for i in range(len(a)):
        if a[i] > 0:
            b[i] = a[i]
        else:
            b[i] = -a[i]


def with_a_temporary_name(a, b):
    for i in range(len(a)):
        t = a[i] + 1
        b[i] = t * t


def shifted_between_arrays(a, b):
    for i in range(1, len(a)):
        b[i] = a[i - 1] + a[i]


def with_a_while(a, b):
    for i in range(len(a)):
        x = a[i]
        while x * x > 2:
            x = x / 2
        b[i] = x


def with_a_while_that_is_left(a, b):
    for i in range(len(a)):
        x = a[i]
        while True:
            x = x - 3
            if x < -9:
                break
            if x > 5:
                continue
            b[i] = b[i] + x


VECTORS = [
    copy, in_place, backwards, every_third, down_by_two, reversed_halves, even_from_odd, with_a_choice,
    with_a_temporary_name, shifted_between_arrays, with_a_while, with_a_while_that_is_left,
]  # fmt: skip


def rows(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] * i - j


def inner_points(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]


def triangle(A, B):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] = A[j, i]


def rows_by_statement(A, B):
    for i in range(A.shape[0]):
        B[i, :] = A[i, :] * 2


def down_the_columns(A, B):
    for j in range(A.shape[1]):
        for i in range(1, A.shape[0]):
            A[i, j] = A[i - 1, j] + B[i, j]


MATRICES = [(rows, 0), (inner_points, 0), (triangle, 0), (rows_by_statement, 1), (down_the_columns, 1)]


@pytest.mark.parametrize("function", VECTORS, ids=lambda f: f.__name__)
def test_vectors_become_maps(function: Callable[..., Any]) -> None:
    made, _ = through(unguarded(function, (vector(9), vector(9, seed=1))), LoopToMap())
    assert count(made, Loop) == 0
    assert count(made, Map) >= 1
    for size in (*SIZES, 9):
        assert_agrees(function, made, lambda size=size: (vector(size), vector(size, seed=1)))


@pytest.mark.parametrize(("function", "loops"), MATRICES, ids=lambda f: getattr(f, "__name__", ""))
def test_matrices_become_maps(function: Callable[..., Any], loops: int) -> None:
    made, _ = through(unguarded(function, (matrix(5, 5), matrix(5, 5, 1))), LoopToMap())
    assert count(made, Loop) == loops
    for size in (2, 3, 5):
        assert_agrees(function, made, lambda size=size: (matrix(size, size), matrix(size, size, 1)))


# ---- functions that stay loops --------------------------------------------------------------------------------------


def neighbour_before(a, b):
    for i in range(1, len(a)):
        a[i] = a[i - 1] + 1


def neighbour_after(a, b):
    for i in range(len(a) - 1):
        a[i] = a[i + 1] * 2


def into_one(a, b):
    for i in range(len(a)):
        b[0] = a[i]


def from_one(a, b):
    for i in range(len(a)):
        a[i] = a[0] + 1


def reversed_onto_itself(a, b):
    for i in range(len(a)):
        a[i] = a[len(a) - 1 - i]


def folded(a, b):
    for i in range(len(a)):
        b[i // 2] = a[i]


def scattered(a, b):
    for i in range(len(a)):
        b[int(a[i]) * 0] = i


def at_both_ends(a, b):
    for i in range(len(a)):
        b[i] = i
        b[len(b) - 1 - i] = -i


def left_early(a, b):
    for i in range(len(a)):
        if a[i] > 5:
            break
        b[i] = a[i]


def returned(a, b):
    for i in range(len(a)):
        if a[i] > 5:
            return i
        b[i] = a[i]
    return -1


def returned_from_a_while(a, b):
    for i in range(len(a)):
        x = a[i]
        while x > 2:
            x = x / 2
            if x == 4:
                return i
        b[i] = x
    return -1


def while_reads_the_last(a, b):
    for i in range(1, len(a)):
        while a[i] > a[i - 1]:
            a[i] = a[i] - 2


def carried(a, b):
    t = 1.0
    for i in range(len(a)):
        b[i] = t
        t = a[i]
    return t


def through_a_view(a, b):
    c = a[1:]
    for i in range(len(c)):
        c[i] = a[i] + 1


STAYS = [
    (neighbour_before, "a[i] written at line # may be a[i - 1] read at line # in a later iteration"),
    (neighbour_after, "a[i + 1] read at line # may be a[i] written at line # in a later iteration"),
    (into_one, "b[0] written at line # may be b[0] written at line # in a later iteration"),
    (from_one, "a[i] written at line # may be a[0] read at line # in a later iteration"),
    (reversed_onto_itself, "a[i] written at line # may be a[a_0 - i - 1] read at line # in a later iteration"),
    (folded, "b[(i // 2)] written at line # may be b[(i // 2)] written at line # in a later iteration"),
    (scattered, None),
    (at_both_ends, "b[i] written at line # may be b[b_0 - i - 1] written at line # in a later iteration"),
    (left_early, "it may break"),
    (returned, "it may return"),
    (returned_from_a_while, "it may return"),
    (while_reads_the_last, "a[i] written at line # may be a[i - 1] read at line # in a later iteration"),
    (carried, "t is carried from one iteration to the next"),
    (through_a_view, "a[i + 1] written at line # may be a[i] read at line # in a later iteration"),
]


@pytest.mark.parametrize(("function", "reason"), STAYS, ids=lambda f: getattr(f, "__name__", ""))
def test_stays_a_loop_and_says_why(function: Callable[..., Any], reason: str | None) -> None:
    before = unguarded(function, (vector(9), vector(9, seed=1)))
    made, session = through(before, LoopToMap())
    assert made is before
    said = reasons(session)
    assert len(said) == 1
    if reason is not None:
        lines = [word for word in said[0].split() if word.isdigit()]
        assert said[0].startswith("the loop over i stays a loop: ")
        assert reason.replace("#", "{}").format(*lines) in said[0]


def guarded(a, b):
    for i in range(len(a)):
        b[i] = a[i]


def test_a_guard_inside_is_an_obstacle() -> None:
    before = lower(guarded, (vector(9), vector(9, seed=1))).program
    made, session = through(before, LoopToMap())
    assert count(made, Loop) == 1
    assert "each iteration checks for `index out of bounds`" in reasons(session)[0]


def test_a_branch_that_no_iteration_decides_moves_out(golden: Golden) -> None:
    made, _ = through(unguarded(inner_points, (matrix(5, 5), matrix(5, 5, 1))), LoopToMap())
    assert body_text(made) == golden
