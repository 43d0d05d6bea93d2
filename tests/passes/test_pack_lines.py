"""Lines that all sums of a map read with a stride: copied first, or left where they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.graphs import SITE, assert_same_outcomes, changed, graph, shown
from weft.passes.base import Session
from weft.passes.pack_lines import PackLines

T = "array T: f8[] stack C"


def column_times_rows(read: str = "P[%k.31, 0]", length: str = "%r.3", before: str = "") -> str:
    """`B[j] = sum over k of A[j] * P[k, 0]`, with changes."""
    return f"""
  {SITE}
  guard equal(1*%m.2, 1*%n.1): b1 else site 0 "sizes differ"
  guard greater_equal(1*%c.4, 2): b1 else site 0 "too flat"
  guard greater_equal(1*%r.3, 1*%n.1): b1 else site 0 "too few rows"
  {before}
  map (%j.30: py_int from 0 to %n.1 - 1) in [0:%n.1] {{
    alloc T
    reduce add T[] = elements at (%k.31: py_int in [0, _] from 0 to {length} - 1) over [{length}] {{
      tasklet {{
        %a.32: f8 = A[%j.30]
        %p.33: f8 = {read}
        %t.34: f8 = multiply(%a.32, %p.33) warn 1
      }}
      yield %t.34
    }} axes (0) initial 0.0:f8 warn 0
    tasklet {{
      %s.35: f8 = T[]
      write B[%j.30] = %s.35
    }}
  }}
  return slot 1
"""


def test_a_column_is_copied_for_all_points(golden: Golden) -> None:
    before = graph(column_times_rows(), T)
    made, session = changed(PackLines(), before)
    assert_same_outcomes(before, made)
    assert [record.text for record in session.records] == ["what all points read with a stride is copied first"]
    assert shown(made) == golden


STAYS = {
    "along a row": column_times_rows("P[0, %k.31]", "%c.4"),
    "another column at each point": column_times_rows("P[%k.31, 0 * %k.31 + %j.30]").replace(
        '"too flat"', '"too flat"\n  guard greater_equal(1*%c.4, 1*%n.1): b1 else site 0 "too flat"'
    ),
    "a length of its own": column_times_rows(length="%j.30"),
    "a short line": column_times_rows(length="3").replace(
        '"too flat"', '"too flat"\n  guard greater_equal(1*%r.3, 3): b1 else site 0 "too few rows"'
    ),
    "written by the map": column_times_rows().replace("write B[%j.30] = %s.35", "write P[%j.30, 0] = %s.35").replace(
        "[0:%n.1] {", "[0:1] {").replace(
        '"too flat"', '"too flat"\n  guard greater_equal(1*%n.1, 1): b1 else site 0 "empty"'
    ).replace("from 0 to %n.1 - 1) in", "from 0 to 0) in"),
    "no way back": column_times_rows(before="write B[0] = 1.0:f8").replace(
        '"too flat"', '"too flat"\n  guard greater_equal(1*%n.1, 1): b1 else site 0 "empty"'
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS.keys())
def test_lines_that_stay(text: str) -> None:
    before = graph(text, T)
    assert PackLines().run(before, Session()) is before


def points_of_a_square(read: str = "P[%j.31, 0]", rows: str = "%r.3", to: str = "D", least: str = "2") -> str:
    """`D[i, j] = A[0] - P[j, 0]`, with changes."""
    return f"""
  {SITE}
  guard greater_equal(1*%n.1, 1): b1 else site 0 "empty"
  guard greater_equal(1*%c.4, {least}): b1 else site 0 "too flat"
  guard greater_equal(1*%r.3, 2): b1 else site 0 "too few rows"
  alloc D site 0
  map (%i.30: py_int from 0 to {rows} - 1, %j.31: py_int from 0 to %r.3 - 1) in [0:{rows}, 0:%r.3] {{
    tasklet {{
      %a.32: f8 = A[0]
      %p.33: f8 = {read}
      %t.34: f8 = subtract(%a.32, %p.33) warn 1
      write {to}[%i.30, %j.31] = %t.34
    }}
  }}
  tasklet {{
    %d.35: f8 = D[0, 1]
    write B[0] = %d.35
  }}
  return slot 1
"""


def squared(rows: str = "%r.3") -> str:
    return f"array D: f8[{rows}, 1*%r.3] transient C"


def test_a_column_is_copied_for_all_rows(golden: Golden) -> None:
    before = graph(points_of_a_square(), squared("1*%r.3"))
    made, session = changed(PackLines(points=True), before)
    assert_same_outcomes(before, made)
    assert [record.text for record in session.records] == ["what all points read with a stride is copied first"]
    assert shown(made) == golden


POINTS_STAY = {
    "along a row": (points_of_a_square("P[0, 0 * %j.31]"), "1*%r.3"),
    "another line for each row": (points_of_a_square("P[%j.31, 0 * %j.31 + %i.30]", "2"), "2"),
    "few rows": (points_of_a_square(rows="2"), "2"),
    "one operation that NumPy needs no memory for": (points_of_a_square(rows="%c.4"), "1*%c.4"),
    "written by the map": (points_of_a_square(to="P", least="1*%r.3"), "1*%r.3"),
}


@pytest.mark.parametrize(("text", "rows"), POINTS_STAY.values(), ids=POINTS_STAY.keys())
def test_points_that_stay(text: str, rows: str) -> None:
    before = graph(text, squared(rows))
    assert PackLines(points=True).run(before, Session()) is before


def distances(P, Q):
    x, y = P[:, 0:1], P[:, 1:2]
    return np.sqrt((x.T - x) ** 2 + (y.T - y) ** 2)


def between_two(P, Q):
    return np.hypot(P[:, 0][None, :] - Q[:, 0][:, None], P[:, 1][None, :] - Q[:, 1][:, None])


def into_itself(P, Q):
    P[:, 0] += 1
    P[:, :] = P[:, 0][None, : P.shape[1]] * 2 + P
    return P


def every_second(P, Q):
    return P[::-2, 0] * 3 + Q[:, 1][:, None] - 1


@pytest.mark.parametrize("function", [distances, between_two, into_itself, every_second])
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 17, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_points_agree(function: Callable[..., Any], rows: int, dtype: Any) -> None:
    rng = np.random.default_rng(rows)
    P, Q = ((rng.uniform(-9, 9, (count, 3))).astype(dtype) for count in (rows, 21))
    if function is into_itself:
        P = rng.uniform(-9, 9, (max(rows, 3), 3)).astype(dtype)
    wanted, made = function(P.copy(), Q.copy()), weft.program(function)(P.copy(), Q.copy())
    assert made.dtype == wanted.dtype
    np.testing.assert_allclose(made, wanted, rtol=1e-6 if dtype is np.float32 else 2e-15)


def rows_times_a_column(A, B, c):
    y = np.empty(A.shape[0], A.dtype)
    for i in range(A.shape[0]):
        y[i] = A[i, :] @ B[:, c]
    return y


def largest_difference(A, B, c):
    y = np.empty(A.shape[0], A.dtype)
    for i in range(A.shape[0]):
        y[i] = np.max(A[i, :] - B[:, c])
    return y


def column_by_column(A, B, c):
    for j in range(B.shape[1]):
        for i in range(A.shape[0]):
            A[i, j] = A[i, :j] @ B[:j, j] + c
    return A


@PLAINLY
@pytest.mark.parametrize("function", [rows_times_a_column, largest_difference, column_by_column])
@pytest.mark.parametrize("shape", [(4, 5), (20, 30), (1, 3), (3, 1), (0, 4)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_programs_agree(function: Callable[..., Any], shape: tuple[int, int], dtype: Any) -> None:
    rows, inner = shape
    rng = np.random.default_rng(3)
    A, B = ((rng.uniform(-3, 3, size)).astype(dtype) for size in ((rows, inner), (inner, inner)))
    tolerance = 0 if dtype is np.int64 else 64 * inner * np.finfo(dtype).eps
    for c in (0, -1, inner - 1):
        wanted = function(A / 8 if dtype is not np.int64 else A.copy(), B.copy(), c)
        made = weft.program(function)(A / 8 if dtype is not np.int64 else A.copy(), B.copy(), c)
        assert made.dtype == wanted.dtype
        np.testing.assert_allclose(made, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max(initial=1))


def test_nothing_is_read_for_no_points() -> None:
    """With no rows, Python never looks at a column that is not there."""
    for function in (rows_times_a_column, largest_difference):
        assert weft.program(function)(np.ones((0, 20)), np.ones((20, 2)), 99).shape == (0,)


def test_a_column_that_is_not_there_raises_as_in_python() -> None:
    with pytest.raises(IndexError, match="index 99 is out of bounds for axis 1 with size 2"):
        weft.program(rows_times_a_column)(np.ones((3, 20)), np.ones((20, 2)), 99)
