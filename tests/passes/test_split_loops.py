"""Loops of numbers and maps in two: only where no number needs what a map did, and with each turn's own numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.passes.programs import after, assert_same_meaning, body_text, program
from weft.ir.nodes import Branch, Loop, Program
from weft.passes.split_loops import SplitLoops

NUMBERS = """\
    tasklet {
      %x.22: f8 = A[%i.21 - 1]
      %y.23: f8 = multiply(%x.22, 0.5:f8)
      write A[%i.21] = %y.23
    }"""
MAP = """\
    map (%j.24: py_int from 0 to %c.4 - 1) in [0:%c.4] warn 0 {
      tasklet {
        %p.25: f8 = P[0, %j.24]
        %q.26: f8 = multiply(%p.25, %y.23)
        write P[0, %j.24] = %q.26
      }
    }"""
HEAD = "  if greater_equal(%n.1, 1): b1 {\n  for %i.21: py_int from 1 to %n.1 - 1 in 1:%n.1 {"


def turns(body: str, head: str = HEAD, last: str = "continue") -> Program:
    return program(f"{head}\n{body}\n    {last}\n  }}\n  yield\n  }} else {{\n  yield\n  }}\n  return missing")


def loops(given: Program) -> int:
    branch = given.body.nodes[2]
    assert isinstance(branch, Branch)
    return sum(isinstance(node, Loop) for node in branch.then.nodes)


CARRIED = HEAD.replace("1:%n.1 {", "1:%n.1 carry (%s.30: f8 = 1.0:f8) {")
TWICE = "    %y.23: f8 = multiply(%s.30, 1.5:f8)"
SPLIT = [
    ("an array of numbers", turns(f"{NUMBERS}\n{MAP}")),
    ("numbers after the map", turns(f"{NUMBERS}\n{MAP}\n    write B[%i.21] = %y.23")),
    ("a carried number", turns(f"{TWICE}\n{MAP}", CARRIED, "continue %y.23")),
    ("the carried number itself", turns(f"{TWICE}\n{MAP.replace('%y.23', '%s.30')}", CARRIED, "continue %y.23")),
    (
        "backwards",
        turns(f"{NUMBERS.replace('%i.21 - 1', '%i.21 + 1')}\n{MAP}", HEAD.replace("1:%n.1 {", "%n.1 - 2:-1:-1 {")),
    ),
]
ONE = [
    ("nothing in the way", turns("    %y.23: f8 = A[%i.21]\n" + MAP)),
    ("numbers from the map", turns(f"{NUMBERS.replace('A[%i.21 - 1]', 'P[0, 0]')}\n{MAP}")),
    ("numbers the map has read", turns(f"{NUMBERS}\n{MAP.replace('= P[0, %j.24]', '= A[%i.21 - 1]')}"
                                       .replace("write A[%i.21]", "write A[0]"))),
    ("numbers of the map after it", turns(f"{NUMBERS}\n{MAP}\n    tasklet {{\n      %w.40: f8 = P[0, 0]\n"
                                          "      write B[%i.21] = %w.40\n    }")),
    ("points that meet", turns(f"{NUMBERS}\n{MAP.replace('[0, %j.24]', '[0, %j.24 - 1]', 1)}"
                               .replace("[0:%c", "[1:%c"))),
    ("more points in every turn", turns(f"{NUMBERS}\n{MAP.replace('0:%c.4', '0:%i.21')}")),
    ("turns that may be less than none", turns(f"{NUMBERS}\n{MAP}",
                                               HEAD.replace("greater_equal(%n.1, 1)", "less(%c.4, 9)"))),
]  # fmt: skip


@pytest.mark.parametrize("before", [case[1] for case in SPLIT], ids=[case[0] for case in SPLIT])
def test_split(before: Program) -> None:
    made = after(SplitLoops(), before)
    assert loops(made) == 2
    assert_same_meaning(before, made)


@pytest.mark.parametrize("before", [case[1] for case in ONE], ids=[case[0] for case in ONE])
def test_not_split(before: Program) -> None:
    assert after(SplitLoops(), before) is before


def test_before_and_after(golden: Golden) -> None:
    assert body_text(after(SplitLoops(), SPLIT[0][1])) == golden


# ---- against NumPy --------------------------------------------------------------------------------------------------


def solved(lower: float, right: Any, p: Any, q: Any) -> None:
    for i in range(1, right.shape[0]):
        pivot = 1.0 + 2.0 * lower - lower * p[i - 1]
        p[i] = lower / pivot
        q[i] = (right[i] + lower * q[i - 1]) / pivot
    for i in range(right.shape[0] - 2, -1, -1):
        q[i] += p[i] * q[i + 1]


def solved_across(lower: float, right: Any, p: Any, q: Any) -> None:
    for j in range(1, right.shape[1]):
        pivot = 1.0 + 2.0 * lower - lower * p[j - 1]
        p[j] = lower / pivot
        q[:, j] = (right[:, j] + lower * q[:, j - 1]) / pivot


def fading(rate: float, right: Any, p: Any, q: Any) -> Any:
    weight = 1.0
    for i in range(right.shape[0]):
        q += weight * right[i]
        weight *= rate
        p[i % p.shape[0]] = weight
    return weight


def adapted(rate: float, right: Any, p: Any, q: Any) -> Any:
    weight = 1.0
    for i in range(right.shape[0]):
        q += weight * right[i]
        weight = rate * q[0, 0]  # what the map has just made
    return weight


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function", [solved, solved_across, fading, adapted])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (40, 41), (9, 300), (300, 9)])
def test_programs(function: Any, shape: tuple[int, int], threads: int) -> None:
    made = np.random.default_rng(3).random(shape) + 0.5
    for view in (made, np.asfortranarray(made), made[::-1, ::-1]):
        results: list[Any] = []
        runs: list[Any] = [weft.program(function, threads=threads, fallback="error"), function]
        for run in runs:
            right, p, q = view.copy(order="K"), np.zeros(max(shape)), np.ones(shape)
            results.append((run(0.4, right, p, q), p, q))
        for got, expected in zip(*results, strict=True):
            np.testing.assert_array_equal(got, expected)


def ring(p: Any, columns: int) -> Any:
    rows = np.ones((8, columns))
    for i in range(p.shape[0]):
        k = i % 4
        rows[k] = rows[k] * 0.5 + i
        p[i] = rows[k + 1, 0]  # the row of an earlier turn: k was another number then
    return rows


def marked(p: Any, columns: int) -> Any:
    rows = np.ones((8, columns))
    for i in range(p.shape[0]):
        k = i % 4
        rows[k] = rows[k] * 0.5 + p[i]
        rows[k + 1, 0] = 7.0
        p[i] = 3.0
    return rows


@pytest.mark.parametrize("function", [ring, marked])
def test_positions_are_other_ones_in_other_turns(function: Any) -> None:
    compiled: Any = weft.program(function, fallback="error")
    for length, columns in ((0, 3), (1, 1), (9, 2), (40, 300)):
        given, expected = (np.random.default_rng(3).random(length) for _ in range(2))
        np.testing.assert_array_equal(compiled(given, columns), function(expected, columns))
        np.testing.assert_array_equal(given, expected)
