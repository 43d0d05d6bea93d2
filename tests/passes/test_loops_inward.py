"""Loops that run inside of the maps they hold, and those that must not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.passes.loops import SIZES, assert_agrees, matrix, through, unguarded
from tests.passes.programs import after, assert_same_meaning, body_text, program
from weft.ir.nodes import Loop, Map, Program
from weft.ir.traverse import all_nodes
from weft.passes.fuse_maps import FuseMaps
from weft.passes.inline_producers import InlineProducers
from weft.passes.loop_to_map import LoopToMap
from weft.passes.loops_inward import LoopsInward
from weft.passes.simplify import Simplify

END = "  return missing"


def test_a_recurrence_along_rows_runs_row_by_row(golden: Golden) -> None:
    before = program(
        f"""\
  for %j.21: py_int from 1 to %c.4 - 1 in 1:%c.4 {{
    map (%i.20: py_int from 0 to %r.3 - 1) in [0:%r.3] warn 1 {{
      tasklet {{
        %x.22: f8 = P[%i.20, %j.21 - 1]
        %y.23: f8 = multiply(%x.22, 3.0:f8)
        write P[%i.20, %j.21] = %y.23
      }}
    }}
    continue
  }}
{END}"""
    )
    made = after(LoopsInward(), before)
    assert_same_meaning(before, made)
    assert body_text(made) == golden


def along_rows(a):
    for j in range(1, a.shape[1]):
        a[:, j] += 0.5 * a[:, j - 1]


def back_along_rows(a):
    for j in range(a.shape[1] - 2, -1, -1):
        a[:, j] -= a[:, j + 1]


def in_steps(a):
    for j in range(2, a.shape[1], 3):
        a[:, j] = a[:, j - 2] + a[:, j - 1]


def next_row_before_it_changes(a):
    for j in range(1, a.shape[1]):
        a[:-1, j] = a[1:, j - 1]


def first_row_for_all(a):
    for j in range(1, a.shape[1]):
        a[:, j] = a[:, j - 1] + a[0, j]


def along_columns(a):
    for i in range(1, a.shape[0]):
        a[i] += a[i - 1]


def some_rows_each_time(a):
    for j in range(1, min(a.shape[0], a.shape[1])):
        a[j:, j] += a[j:, j - 1]


def assert_numpys(function: Callable[..., Any], compiled: Any, shapes: list[tuple[int, int]]) -> None:
    """The compiled function changes matrices as NumPy does, in both orders."""
    for shape in shapes:
        for order in ("C", "F"):
            a = np.asarray(np.random.default_rng(3).integers(-9, 9, shape) / 64.0, order=order)
            expected, got = a.copy(order="K"), a.copy(order="K")
            function(expected)
            compiled(got)
            np.testing.assert_array_equal(got, expected)


def is_inward(made: Program) -> bool:
    maps = (node for node in all_nodes(made.body) if isinstance(node, Map))
    return any(isinstance(inner, Loop) for node in maps for inner in node.body.nodes)


@pytest.mark.parametrize("function", [along_rows, back_along_rows, in_steps])
def test_points_that_never_meet_go_through_their_turns_alone(function: Callable[..., Any]) -> None:
    for n in SIZES:
        for m in SIZES:
            before = unguarded(function, (matrix(n, m),))
            made, _ = through(before, Simplify(), InlineProducers(), FuseMaps(), LoopsInward(), Simplify())
            assert is_inward(made) or min(n, m) < 2
            assert_agrees(function, made, lambda n=n, m=m: (matrix(n, m),))


@pytest.mark.parametrize(
    "function", [next_row_before_it_changes, first_row_for_all, along_columns, some_rows_each_time]
)
def test_loops_stay_outside(function: Callable[..., Any]) -> None:
    before = unguarded(function, (matrix(5, 6),))
    made, _ = through(before, Simplify(), InlineProducers(), FuseMaps(), LoopsInward())
    assert not is_inward(made)


@pytest.mark.parametrize(
    "function",
    [along_rows, back_along_rows, in_steps, next_row_before_it_changes, first_row_for_all, along_columns,
     some_rows_each_time],
)  # fmt: skip
def test_compiled_recurrences_are_numpys(function: Callable[..., Any]) -> None:
    assert_numpys(function, weft.program(function, fallback="error"), [(5, 6), (1, 4), (4, 1), (3, 0), (40, 2000)])


def sums_of_rows(a):
    total = np.zeros(a.shape[0], a.dtype)
    for k in range(a.shape[1]):
        total += a[0, k] * a[:, k]
    return total


def sums_of_columns(a):
    total = np.zeros(a.shape[1], a.dtype)
    for k in range(a.shape[0]):
        total += a[k, 0] * a[k]
    return total


def products_up_to_the_diagonal(a):
    c = np.zeros((a.shape[0], a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            c[i, : i + 1] += 2.0 * a[i, k] * a[: i + 1, k]
    return c


@pytest.mark.parametrize(("function", "inward"), [(sums_of_rows, True), (sums_of_columns, False)])
def test_sums_run_along_memory(function: Callable[..., Any], *, inward: bool) -> None:
    for n in (1, 2, 5):
        for m in (1, 2, 5):
            before = unguarded(function, (matrix(n, m),))
            made, _ = through(before, Simplify(), InlineProducers(), FuseMaps(), LoopsInward())
            assert is_inward(made) == inward or min(n, m) < 2
            assert_agrees(function, made, lambda n=n, m=m: (matrix(n, m),))


@pytest.mark.parametrize("function", [sums_of_rows, sums_of_columns, products_up_to_the_diagonal])
def test_compiled_sums_are_numpys(function: Callable[..., Any]) -> None:
    compiled = weft.program(function, fallback="error")
    for shape in [(5, 6), (1, 4), (4, 1), (40, 200)]:
        np.testing.assert_allclose(compiled(matrix(*shape)), function(matrix(*shape)), rtol=1e-12, atol=1e-12)


def factor_that_overflows(a):
    total = np.zeros(0, a.dtype)
    for k in range(a.shape[1]):
        total += (a[0, k] * 1e300) * a[:0, k]
    return total


def test_a_factor_of_no_points_still_warns() -> None:
    a = np.full((2, 3), 1e300)
    with pytest.warns(RuntimeWarning, match="overflow"):
        factor_that_overflows(a)
    with pytest.warns(RuntimeWarning, match="overflow"):
        weft.program(factor_that_overflows, fallback="error")(a)


# ---- arrays that are carried from turn to turn ----------------------------------------------------------------------


def carried(a):
    state = a[:, 0] * 2.0
    for j in range(1, a.shape[1]):
        state = 0.5 * state + a[:, j]
        a[:, j] = state


def carried_under_a_condition(a):
    last = a.shape[1] - 1
    state = a[:, 0] + 1.0
    for j in range(1, a.shape[1]):
        old = state
        if j < last:
            state = state + a[:, j + 1]
        a[:, j] = old * 0.5 - state


def carried_two_that_change_places(a):
    left, right = a[:, 0] + 1.0, a[:, 0] - 1.0
    for j in range(1, a.shape[1]):
        left, right = right, left * 0.5 + a[:, j]
        a[:, j] = left


def carried_back_from_a_view(a):
    b = a * 0.5
    new = b[:, a.shape[1] - 1]
    for j in range(a.shape[1] - 2, -1, -1):
        new = b[:, j] - 0.25 * new
        a[:, j] = new


def carried_from_what_is_written(a):
    new = a[:, a.shape[1] - 1]
    for j in range(a.shape[1] - 1, -1, -1):
        a[:, j] = a[:, j] + 1.0
        a[:, j] = new * 0.5


def carried_and_needed_later(a):
    state = a[:, 0] * 2.0
    for j in range(1, a.shape[1]):
        state = 0.5 * state + a[:, j]
        a[:, j] = state
    a[:, 0] = state


def carried_and_changed_in_place(a):
    state = a[:, 0] * 2.0
    other = state
    for j in range(1, a.shape[1]):
        state += a[:, j]
        a[:, j] = other


def carried_under_two_names(a):
    state = a[:, 0] * 2.0
    other = state
    for j in range(1, a.shape[1]):
        state = state + a[:, j]
        other = state
        state[:] = state + 1.0
        a[:, j] = other


def carried_with_a_number(a):
    state, time = a[:, 0] * 2.0, 0.0
    for j in range(1, a.shape[1]):
        time += 0.5
        state = state + time * a[:, j]
        a[:, j] = state
    a[:, 0] = time


def carried_a_step_apart(a):
    state = a[:, 0] * 2.0
    for j in range(1, a.shape[1]):
        state = state[::-1] + a[:, j]
        a[:, j] = state


CARRIED_INWARD = [carried, carried_under_a_condition, carried_two_that_change_places, carried_back_from_a_view]
CARRIED_OUTSIDE = [
    carried_from_what_is_written,
    carried_and_needed_later,
    carried_and_changed_in_place,
    carried_under_two_names,
    carried_a_step_apart,
    carried_with_a_number,
]


@pytest.mark.parametrize("function", CARRIED_INWARD)
def test_what_is_carried_in_arrays_is_carried_in_numbers(function: Callable[..., Any]) -> None:
    for n, m in product((1, 2, 5), (2, 3, 6)):
        before = unguarded(function, (matrix(n, m),))
        made, _ = through(before, Simplify(), InlineProducers(), LoopToMap(), FuseMaps(), LoopsInward(), Simplify())
        assert is_inward(made)
        assert_agrees(function, made, lambda n=n, m=m: (matrix(n, m),))


@pytest.mark.parametrize("function", CARRIED_OUTSIDE)
def test_what_is_carried_in_arrays_and_seen_otherwise_stays(function: Callable[..., Any]) -> None:
    before = unguarded(function, (matrix(5, 6),))
    made, _ = through(before, Simplify(), InlineProducers(), LoopToMap(), FuseMaps(), LoopsInward(), Simplify())
    assert_agrees(function, made, lambda: (matrix(5, 6),))


@pytest.mark.parametrize("function", [*CARRIED_INWARD, *CARRIED_OUTSIDE])
def test_compiled_carried_arrays_are_numpys(function: Callable[..., Any]) -> None:
    assert_numpys(function, weft.program(function), [(5, 6), (1, 4), (4, 1), (4, 2), (40, 2000)])


def test_a_carried_array_in_a_loop(golden: Golden) -> None:
    before = unguarded(carried_under_a_condition, (matrix(4, 5),))
    made, _ = through(before, Simplify(), InlineProducers(), LoopToMap(), FuseMaps())
    assert body_text(made) == golden.part("before")
    made, _ = through(made, LoopsInward(), Simplify())
    assert body_text(made) == golden
