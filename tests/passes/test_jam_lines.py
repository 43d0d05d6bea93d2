"""Loops of several points side by side: what a point knows and carries stays its own, whatever the width of a group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.passes.programs import after, arguments, body_text, meaning, program
from weft.ir.nodes import Map, Program, Schedule
from weft.ir.traverse import all_nodes
from weft.passes.jam_lines import JamLines

LINE = """\
    for %j.21: py_int from 1 to %c.4 - 1 in 1:%c.4 {
      tasklet {
        %x.22: f8 = P[%i.20, %j.21 - 1]
        %y.23: f8 = multiply(%x.22, 3.0:f8)
        write P[%i.20, %j.21] = %y.23
      }
      continue
    }"""
CARRIED = """\
    tasklet {
      %a.30: f8 = P[%i.20, 0]
      %b.31: f8 = multiply(%a.30, 0.5:f8)
    }
    for %j.21: py_int from 0 to %c.4 - 1 in 0:%c.4 carry (%s.32: f8 = %b.31, %t.33: f8 = %a.30) {
      tasklet {
        %x.22: f8 = P[%i.20, %j.21]
        %y.23: f8 = multiply(%x.22, %s.32)
        %z.24: f8 = add(%y.23, %a.30)
      }
      continue %t.33, %z.24
    }
    write P[%i.20, 0] = add(%s.32, %t.33)"""
NESTED = """\
    for %j.21: py_int from 0 to %c.4 - 1 in 0:%c.4 carry (%s.32: f8 = 1.0:f8) {
      for %k.25: py_int from 0 to %j.21 in 0:%j.21 carry (%t.33: f8 = %s.32) {
        tasklet {
          %x.22: f8 = P[%i.20, %k.25]
          %y.23: f8 = multiply(%x.22, %t.33)
          %h.26: f8 = multiply(%y.23, 0.25:f8)
        }
        continue %h.26
      }
      tasklet {
        %v.27: f8 = add(%t.33, %s.32)
        write P[%i.20, %j.21] = %v.27
      }
      continue %t.33
    }"""


def at_points(body: str) -> Program:
    head = "  map (%i.20: py_int from 0 to %r.3 - 1) in [0:%r.3] warn 1 {"
    return program(f"{head}\n{body}\n  }}\n  return missing")


def jammed(given: Program) -> int:
    return sum(isinstance(node, Map) and node.schedule is Schedule.JAMMED for node in all_nodes(given.body))


@pytest.mark.parametrize(("body", "parts"), [(LINE, 1), (CARRIED, 3), (NESTED, 4)], ids=["line", "carried", "nested"])
def test_jammed(body: str, parts: int) -> None:
    before = at_points(body)
    made = after(JamLines(), before)
    assert jammed(made) == 2 * parts
    for size in (1, 3, 4, 7, 8, 9, 33, 65):  # groups of four, of eight, and what is left
        for left, right in zip(
            meaning(before, lambda size=size: arguments(size)),
            meaning(made, lambda size=size: arguments(size)),
            strict=True,
        ):
            np.testing.assert_array_equal(left, right)


LEFT_ALONE = [
    ("turns of its own", LINE.replace("1:%c.4 {", "1:%i.20 {")),
    ("few turns", LINE.replace("1:%c.4 {", "1:4 {")),
    ("no turns", "    write P[%i.20, 0] = 1.0:f8"),
    ("one place for all", LINE.replace("write P[%i.20, %j.21] =", "write B[0] resolve add =")),
    (
        "more than statements",
        LINE.replace(
            "      tasklet {",
            "      if less(%j.21, 3): b1 {\n        write P[%i.20, 0] = 2.0:f8\n        yield\n      } else {\n"
            "        yield\n      }\n      tasklet {",
        ),
    ),
]


@pytest.mark.parametrize("body", [case[1] for case in LEFT_ALONE], ids=[case[0] for case in LEFT_ALONE])
def test_left_alone(body: str) -> None:
    before = at_points(body)
    assert after(JamLines(), before) is before


def test_before_and_after(golden: Golden) -> None:
    assert body_text(after(JamLines(), at_points(CARRIED))) == golden


# ---- against NumPy --------------------------------------------------------------------------------------------------


def smoothed(a: Any, b: Any, weight: float) -> None:
    for j in range(1, a.shape[1]):
        b[:, j] = weight * a[:, j] + (1.0 - weight) * b[:, j - 1]
    for j in range(a.shape[1] - 2, -1, -1):
        b[:, j] += b[:, j + 1] / a[:, j]


def one_by_one(a: Any, b: Any, weight: float) -> None:
    for i in range(a.shape[0]):
        level = a[i, 0]
        trend = 0.0
        for j in range(a.shape[1]):
            before = level
            level = weight * a[i, j] + (1.0 - weight) * (level + trend)
            trend = weight * (level - before) + trend
            b[i, j] = level
        b[i, 0] = trend


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function", [smoothed, one_by_one])
@pytest.mark.parametrize("rows", [0, 1, 5, 31, 32, 64, 77, 300])
def test_programs(function: Any, rows: int, threads: int) -> None:
    compiled: Any = weft.program(function, threads=threads, fallback="error")
    made = np.random.default_rng(rows).random((rows, 80)) + 0.5
    for view in (made, np.asfortranarray(made), made[::-1, ::2]):
        a, b, c = view.copy(order="K"), np.ones_like(view), np.ones_like(view)
        compiled(a, b, 0.3)
        function(a, c, 0.3)
        np.testing.assert_array_equal(b, c)


def test_warnings_and_numbers_that_are_none() -> None:
    a = np.full((20, 40), 2.0)
    a[3, 17], a[11, 5] = 0.0, np.nan
    b, c = np.full_like(a, 1e308), np.full_like(a, 1e308)
    with pytest.warns(RuntimeWarning) as got:
        weft.program(smoothed)(a, b, 0.5)
    with pytest.warns(RuntimeWarning) as expected:
        smoothed(a, c, 0.5)
    assert {str(x.message) for x in got} == {str(x.message) for x in expected}
    np.testing.assert_array_equal(b, c)
