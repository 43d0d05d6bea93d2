"""Sums of all points of a map that are made together, and those that stay with their points."""

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
from weft.passes.sums_outward import SumsOutward

SUM = """
    alloc T
    reduce add T[] = elements at (%k.31: py_int in [0, _] from 0 to %r.3 - 1) over [%r.3] {
      tasklet {
        %p.32: f8 = P[%k.31, %j.30]
        %t.33: f8 = multiply(%p.32, 2.0:f8) warn 1
      }
      yield %t.33
    } axes (0) initial 0.0:f8 warn 0
"""
T = "array T: f8[] stack C"


def row_of_sums(before: str = "", terms: str = SUM, site: str = SITE) -> str:
    return f"""
  {site}
  guard equal(1*%c.4, 1*%m.2): b1 else site 0 "sizes differ"
  map (%j.30: py_int from 0 to %c.4 - 1) in [0:%c.4] {{
    {before}
    {terms}
    tasklet {{
      %s.34: f8 = T[]
      %b.35: f8 = B[%j.30]
      write B[%j.30] = add(%s.34, %b.35)
    }}
  }}
  return slot 1
"""


def test_sums_along_columns_are_made_row_by_row(golden: Golden) -> None:
    before = graph(row_of_sums(), T)
    made, _ = changed(SumsOutward(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden


def test_what_is_the_same_at_all_points_goes_along(golden: Golden) -> None:
    before = graph(
        row_of_sums("%n.36: py_int in [0, _] = minimum(1*%r.3, 2)", SUM.replace("%r.3", "%n.36")),
        T,
    )
    made, _ = changed(SumsOutward(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden


STORED = row_of_sums().replace("  map (", "  write A[0] = 1.0:f8\n  map (").replace(
    "      %b.35: f8 = B[%j.30]\n      write B[%j.30] = add(%s.34, %b.35)\n    }",
    """\
      write B[%j.30] = %s.34
    }
    map (%i.36: py_int from 0 to %r.3 - 1) in [0:%r.3] {
      %q.37: f8 = P[%i.36, %j.30]
      write P[%i.36, %j.30] = multiply(%q.37, %s.34)
    }""",
).replace('"sizes differ"', '"sizes differ"\n  guard greater_equal(1*%n.1, 1): b1 else site 0 "empty"')  # fmt: skip


def test_sums_that_are_stored_need_no_memory_and_no_way_back(golden: Golden) -> None:
    before = graph(STORED, T)
    made, _ = changed(SumsOutward(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden


STAYS = {
    "stored where terms are read": STORED.replace("write B[%j.30] = %s.34", "write P[0, %j.30] = %s.34").replace(
        '"empty"', '"empty"\n  guard greater_equal(1*%r.3, 1): b1 else site 0 "empty"'
    ),
    "stored after another number is": STORED.replace(
        "write B[%j.30] = %s.34", "%o.38: f8 = B[%j.30]\n      write B[%j.30] = %s.34"
    ),
    "stored with gaps": STORED.replace("write B[%j.30] = %s.34", "write B[2*%j.30] = %s.34").replace(
        "equal(1*%c.4, 1*%m.2)", "equal(2*%c.4, 1*%m.2)"
    ),
    "along rows": row_of_sums(terms=SUM.replace("P[%k.31, %j.30]", "P[%j.30, %k.31]").replace("%r.3", "%c.4")).replace(
        '"sizes differ"', '"sizes differ"\n  guard equal(1*%c.4, 1*%r.3): b1 else site 0 "not square"'
    ),
    "a factor read at its point": row_of_sums(
        "%a.36: f8 = B[%j.30]", SUM.replace("multiply(%p.32, 2.0:f8)", "multiply(%p.32, %a.36)")
    ),
    "a length of its own": row_of_sums(terms=SUM.replace("%r.3", "%j.30")).replace(
        '"sizes differ"', '"sizes differ"\n  guard greater_equal(1*%r.3, 1*%c.4): b1 else site 0 "too flat"'
    ),
    "no way back": row_of_sums().replace("  map (", "  write A[0] = 1.0:f8\n  map (").replace(
        '"sizes differ"', '"sizes differ"\n  guard greater_equal(1*%n.1, 1): b1 else site 0 "empty"'
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS.keys())
def test_sums_that_stay(text: str) -> None:
    before = graph(text, T)
    assert SumsOutward().run(before, Session()) is before


def products_of_columns(A, B):
    C = np.empty((A.shape[0], B.shape[1]), B.dtype)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = np.dot(A[i, :], B[:, j])
    return C


def three_loops(A, B):
    C = np.zeros((A.shape[0], B.shape[1]), B.dtype)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    return C


def below_the_diagonal(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += A[i + 1 :, i] @ B[i + 1 :, j]
    return B


def sums_of_columns(A, B):
    out = np.empty(B.shape[1], B.dtype)
    for j in range(B.shape[1]):
        out[j] = (B[:, j] * B[:, j]).sum() + A[0, 0]
    return out


@PLAINLY
@pytest.mark.parametrize("function", [products_of_columns, three_loops, below_the_diagonal, sums_of_columns])
@pytest.mark.parametrize("shape", [(4, 4, 5), (7, 7, 1), (1, 1, 3), (3, 0, 2), (0, 0, 2), (5, 3, 4)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int32])
def test_programs_agree(function: Callable[..., Any], shape: tuple[int, int, int], dtype: Any) -> None:
    rows, inner, columns = shape
    rng = np.random.default_rng(3)
    A, B = ((rng.uniform(-3, 3, size)).astype(dtype) for size in ((rows, inner), (inner, columns)))
    program = weft.program(function)
    try:
        wanted = function(A.copy(), B.copy())
    except (ValueError, IndexError) as problem:
        with pytest.raises(type(problem)):
            program(A.copy(), B.copy())
        return
    made = program(A.copy(), B.copy())
    assert made.dtype == wanted.dtype
    tolerance = 0 if dtype is np.int32 else 64 * inner * np.finfo(dtype).eps
    np.testing.assert_allclose(made, wanted, rtol=tolerance, atol=tolerance * 9)


def test_overflow_in_a_term_warns_as_in_python() -> None:
    B = np.full((2, 3), 1e300)
    A = np.full((2, 2), 1e300)
    for function in (products_of_columns, three_loops):
        with pytest.warns(RuntimeWarning) as told:
            function(A, B)
        with pytest.warns(RuntimeWarning) as ours:
            weft.program(function)(A, B)
        assert {str(item.message) for item in ours} == {str(item.message) for item in told}


def columns_made_orthogonal(A):
    R = np.zeros((A.shape[1], A.shape[1]), A.dtype)
    for k in range(A.shape[1]):
        for j in range(k + 1, A.shape[1]):
            R[k, j] = A[:, k] @ A[:, j]
            A[:, j] -= R[k, j] * A[:, k]
    return R


@pytest.mark.parametrize("shape", [(5, 4), (1, 3), (3, 1), (0, 3), (2, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_changed_by_their_own_sums(shape: tuple[int, int], order: Any) -> None:
    A = np.random.default_rng(5).uniform(-0.5, 0.5, shape).copy(order)
    wanted, ours = A.copy(order), A.copy(order)
    result = columns_made_orthogonal(wanted)
    np.testing.assert_allclose(weft.program(columns_made_orthogonal)(ours), result, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(ours, wanted, rtol=1e-13, atol=1e-14)


def rows_that_get_shorter(A, B):
    n = A.shape[0]
    for i in range(n):
        A[i, 0] += 1
        for j in range(i, n):
            B[i, j] -= A[i, :i] @ B[:i, j]
    return B


def test_a_row_whose_length_changes_is_allocated_once() -> None:
    """In front of the loop, as long as it is at most."""
    program = weft.program(rows_that_get_shorter, without=("distribute-loops",))
    for n in (9, 0, 40):
        A, B = (np.random.default_rng(seed).uniform(-0.2, 0.2, (n, n)) / (n + 1) for seed in (1, 2))
        wanted = rows_that_get_shorter(A.copy(), B.copy())
        np.testing.assert_allclose(program(A.copy(), B.copy()), wanted, rtol=1e-12, atol=1e-14)
    assert program.stats.allocations == 3
