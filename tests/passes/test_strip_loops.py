"""Turns on strips of points: only where points do not meet, and to the end or to where nothing changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.passes.programs import after, assert_same_meaning, body_text, program
from weft.ir.nodes import Break, Loop, Map, Program
from weft.ir.traverse import all_nodes
from weft.passes.base import Session
from weft.passes.strip_loops import StripLoops


def turns(tasklet: str, ranges: str = "0:%n.1", head: str = "%t.20: py_int from 0 to 4 in 0:5") -> Program:
    lines = f"for {head} {{\n    map (%i.21: py_int) in [{ranges}] {{\n      tasklet {{\n{tasklet}\n      }}\n    }}"
    return program(f"  {lines}\n    continue\n  }}\n  return missing")


def is_cut(given: Program) -> bool:
    return any(isinstance(inner, Loop) for node in all_nodes(given.body) if isinstance(node, Map)
               for inner in all_nodes(node.body))  # fmt: skip


GROW = "%x.30: f8 = A[%i.21]\n%y.31: f8 = multiply(%x.30, 1.5:f8)\nwrite A[%i.21] = %y.31"
WATCHED = """%x.30: f8 = A[%i.21]
%m.32: b1 = less(%x.30, 3.0:f8)
%y.31: f8 = multiply(%x.30, 1.5:f8)
%z.33: f8 = select(%m.32, %y.31, %x.30)
write A[%i.21] = %z.33"""
CUT = [
    ("each for itself", GROW, "0:%n.1"),
    ("a part", GROW, "2:%n.1 - 1"),
    ("with what stays", "%x.30: f8 = A[%i.21]\n%y.31: f8 = B[%i.21]\nwrite A[%i.21] = add(%x.30, %y.31)", "0:%n.1"),
    (
        "a row for every turn",
        "%x.30: f8 = A[%i.21]\nwrite A[%i.21] = add(%x.30, %x.30)\nwrite P[0, %i.21] = %x.30",
        "0:1",
    ),
    ("until nothing changes", WATCHED, "0:%n.1"),
]
WHOLE = [
    ("the neighbour", "%x.30: f8 = A[%i.21 - 1]\nwrite B[%i.21] = %x.30\nwrite A[%i.21] = %x.30", "1:%n.1"),
    ("one place for all", "%x.30: f8 = A[%i.21]\nwrite B[0] resolve add = %x.30\nwrite A[%i.21] = %x.30", "0:%n.1"),
    ("as many as turns", GROW, "0:%t.20"),
    ("across memory", "%x.30: f8 = P[%i.21, %t.20]\nwrite P[%i.21, %t.20 + 1] = %x.30", "0:1"),
    ("from beside", "%x.30: f8 = P[%t.20, %i.21 - 1]\nwrite P[%t.20 + 1, %i.21] = %x.30", "1:%c.4"),
]


@pytest.mark.parametrize(("tasklet", "ranges"), [case[1:] for case in CUT], ids=[case[0] for case in CUT])
def test_cut(tasklet: str, ranges: str) -> None:
    before = turns(tasklet, ranges)
    made = after(StripLoops(), before)
    assert is_cut(made)
    assert_same_meaning(before, made)


def test_line_after_line_is_cut() -> None:
    tasklet = "%x.30: f8 = P[%t.20 - 1, %i.21]\nwrite P[%t.20, %i.21] = multiply(%x.30, 0.5:f8)"
    before = turns(tasklet, "0:%c.4", "%t.20: py_int from 1 to %r.3 - 1 in 1:%r.3")
    made = after(StripLoops(), before)
    assert is_cut(made)
    assert_same_meaning(before, made)


@pytest.mark.parametrize(("tasklet", "ranges"), [case[1:] for case in WHOLE], ids=[case[0] for case in WHOLE])
def test_not_cut(tasklet: str, ranges: str) -> None:
    before = turns(tasklet, ranges)
    assert after(StripLoops(), before) is before


def watched(tasklet: str) -> bool:
    made = after(StripLoops(), turns(tasklet), Session())
    assert is_cut(made)
    return any(isinstance(node, Break) for node in all_nodes(made.body))


def test_only_what_stays_as_it_is_ends_early() -> None:
    assert watched(WATCHED)
    assert not watched(GROW)
    assert not watched(WATCHED.replace("select(%m.32, %y.31, %x.30)", "select(%m.32, %x.30, %y.31)"))
    assert not watched(WATCHED.replace("1.5:f8", "cast(%t.20): f8"))  # other turns do other things
    assert not watched(WATCHED + "\nwrite B[%i.21] = %z.33")
    assert not watched(WATCHED.replace("= A[%i.21]", "= B[%i.21]"))  # what stays is not what was there


def test_before_and_after(golden: Golden) -> None:
    assert body_text(after(StripLoops(), turns(WATCHED))) == golden


# ---- against NumPy --------------------------------------------------------------------------------------------------


def escape(c: Any, turns: int) -> Any:
    z = np.zeros_like(c)
    count = np.zeros(c.shape, np.int64)
    for _ in range(turns):
        inside = np.abs(z) < 2.0
        z[inside] = z[inside] ** 2 + c[inside]
        count[inside] += 1
    return count, z


def halve(a: Any, turns: int) -> None:
    for _ in range(turns):
        a[:] = np.where(a > 1.0, a * 0.5, a)


def walk(x: Any, v: Any, path: Any) -> None:
    for t in range(path.shape[0]):
        x += v
        v *= 0.9
        path[t] = x


@pytest.mark.parametrize("width", [0, 1, 63, 64, 65, 200, 1000])
@pytest.mark.parametrize("turns", [0, 1, 30])
def test_programs(width: int, turns: int) -> None:
    c = np.linspace(-2.2, 1.2, width)[None, :] + 1j * np.linspace(-1.3, 1.3, 7)[:, None]
    for got, expected in zip(weft.program(escape)(c, turns), escape(c, turns), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    a = np.linspace(-5.0, 1e4, width)
    b = a.copy()
    weft.program(halve)(a, turns)
    halve(b, turns)
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_moves_with_the_turns(threads: int) -> None:
    x, v = np.arange(3000.0), np.linspace(0.0, 1.0, 3000)
    y, w = x.copy(), v.copy()
    got, expected = np.empty((20, 3000)), np.empty((20, 3000))
    weft.program(walk, threads=threads)(x, v, got)
    walk(y, w, expected)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(x, y)


def filtered(a: Any, b: Any) -> None:
    for i in range(2, a.shape[0]):
        b[i] = 0.5 * a[i] + 0.3 * b[i - 1] - 0.1 * b[i - 2] / a[i - 1]
    for i in range(a.shape[0] - 2, -1, -1):
        a[i] += 0.25 * a[i + 1]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("width", [0, 1, 64, 65, 700])
def test_line_after_line(width: int, threads: int) -> None:
    made = np.random.default_rng(width).random((40, 2 * width)) + 0.5
    for view in (made[:, :width].copy(), np.asfortranarray(made[:, :width]), made[::-1, ::2], made[:1, :width]):
        a, b = view.copy(order="K"), np.ones_like(view)
        c, d = a.copy(order="K"), b.copy(order="K")
        weft.program(filtered, threads=threads, fallback="error")(a, b)
        filtered(c, d)
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(b, d)


def test_a_turn_that_leaves_nan_alone() -> None:
    a = np.array([np.nan, np.inf, -np.inf, 8.0, 1.0])
    weft.program(halve)(a, 50)
    np.testing.assert_array_equal(a, [np.nan, np.inf, -np.inf, 1.0, 1.0])


def test_warnings_of_turns() -> None:
    def grow(a: Any, turns: int) -> None:
        for _ in range(turns):
            a *= 1e100

    a = np.ones(100)
    with pytest.warns(RuntimeWarning, match="overflow encountered in multiply"):
        weft.program(grow)(a, 5)
    assert np.isinf(a).all()


# ---- nests of loops -------------------------------------------------------------------------------------------------


def window(x: Any, w: Any, out: Any) -> None:
    h, v = out.shape
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            out += w[i, j] * x[i : i + h, j : j + v]


def rows_in_turn(x: Any, w: Any, out: Any) -> None:
    h, v = out.shape
    for i in range(w.shape[0]):
        out[0] = out[1] * 0.5
        for j in range(w.shape[1]):
            out += w[i, j] * x[i : i + h, j : j + v] * 0.25


NESTED = """for %s.22: py_int from 0 to 2 in 0:3 {
    %w.23: f8 = cast(%s.22): f8
    for %t.20: py_int from 0 to 4 in 0:5 {
      %v.24: f8 = cast(%t.20): f8
      map (%i.21: py_int) in [0:%n.1] {
        tasklet {
          %x.30: f8 = A[%i.21]
          %y.31: f8 = multiply(%v.24, %w.23)
          write A[%i.21] = add(%x.30, %y.31)
        }
      }
      continue
    }
    continue
  }
  return missing"""


def loops_around_strips(given: Program) -> int:
    return sum(isinstance(node, Loop) for node in given.body.nodes)


def test_a_nest_is_cut_as_a_whole() -> None:
    before = program(f"  {NESTED}")
    made = after(StripLoops(), before)
    assert is_cut(made)
    assert loops_around_strips(made) == 0
    assert_same_meaning(before, made)


def test_what_moves_with_the_outer_turns_leaves_them_outside() -> None:
    some = NESTED.replace("%w.23: f8", "%z.25: py_int = minimum(%s.22, %n.1)\n    %w.23: f8").replace(
        "0:%n.1", "0:%z.25"
    )
    before = program(f"  {some}")
    made = after(StripLoops(), before)
    assert is_cut(made)
    assert loops_around_strips(made) == 1
    assert_same_meaning(before, made)


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (0, 3), (4, 4)])
@pytest.mark.parametrize("function", [window, rows_in_turn])
def test_windows(function: Any, size: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    x, w = rng.normal(size=(40, 700)), rng.normal(size=size)
    given = [rng.normal(size=(40 - size[0], 700 - size[1])) for _ in range(2)]
    for out in given:
        one, other = out.copy(), out.copy()
        function(x, w, one)
        compiled: Any = weft.program(function)
        compiled(x, w, other)
        np.testing.assert_array_equal(one, other)


def test_windows_of_what_is_written() -> None:
    rng = np.random.default_rng(6)
    whole = rng.normal(size=(30, 300))
    for weights in (whole[:3, :2], whole[5:8, 10:12]):
        for read in (whole, rng.normal(size=(30, 300))):
            before = whole.copy()
            window(read, weights, whole[:27, :298])
            expected = whole.copy()
            whole[:] = before
            weft.program(window)(read, weights, whole[:27, :298])
            np.testing.assert_array_equal(whole, expected)
            whole[:] = before
