"""Loops that run inside of the maps they hold, and those that must not."""

from __future__ import annotations

from collections.abc import Callable
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
    compiled: Any = weft.program(function, fallback="error")
    for shape in [(5, 6), (1, 4), (4, 1), (3, 0), (40, 2000)]:
        for order in ("C", "F"):
            a = np.asarray(np.random.default_rng(3).integers(-9, 9, shape) / 64.0, order=order)
            expected, got = a.copy(order="K"), a.copy(order="K")
            function(expected)
            compiled(got)
            np.testing.assert_array_equal(got, expected)
