"""Turns of several maps and reductions on strips of an axis: only where no two of its points meet."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.passes.programs import after, body_text, meaning, program
from weft.ir.nodes import Loop, Map, Program
from weft.ir.traverse import all_nodes
from weft.passes.base import Session
from weft.passes.strip_loops import StripLoops

SUM = """reduce add T[0:%c.4] = elements at (%j.22: py_int, %k.23: py_int) over [%c.4, %len.21] {
      tasklet {
        %x.24: f8 = P[%t.20 + %k.23 + 1, %j.22]
        %w.25: f8 = A[%k.23]
        %y.26: f8 = multiply(%x.24, %w.25)
      }
      yield %y.26
    } axes (1) initial 0.0:f8"""
ADD = """map (%i.30: py_int) in [0:%c.4] {
      tasklet {
        %x.31: f8 = P[%t.20, %i.30]
        %y.32: f8 = T[%i.30]
        write P[%t.20, %i.30] = add(%x.31, %y.32)
      }
    }"""
COLUMNS = "reduce maximum T[0:%c.4] = P[0:%t.20 + 1, 0:%c.4] axes (0)"


def turns(*nodes: str, head: str = "%t.20: py_int from 0 to %r.3 - 1 in 0:%r.3") -> Program:
    lines = "\n    ".join(("%len.21: py_int = %r.3 - %t.20 - 1", *nodes, "continue"))
    return program(f"  alloc T site 0\n  for {head} {{\n    {lines}\n  }}\n  return missing")


def is_cut(given: Program) -> bool:
    return any(isinstance(inner, Loop) for node in all_nodes(given.body) if isinstance(node, Map)
               for inner in all_nodes(node.body))  # fmt: skip


def arguments(rows: int, columns: int) -> list[Any]:
    rng = np.random.default_rng(rows)
    return [rng.uniform(1, 2, columns), rng.uniform(1, 2, columns), rng.uniform(1, 2, (rows, columns))]


def same_meaning(left: Program, right: Program) -> None:
    for rows, columns in ((3, 130), (2, 300), (4, 5), (1, 128)):
        for seed in range(2):
            make = partial(arguments, rows, columns)
            for one, other in zip(meaning(left, make, seed), meaning(right, make, seed), strict=True):
                np.testing.assert_array_equal(one, other)


NEXT = SUM.replace("+ 1, %j.22]", "+ 1, %j.22 + 1]").replace("[%c.4, %len.21]", "[%c.4 - 1, %len.21]")
CUT = {
    "a sum and a map": (SUM, ADD),
    "the largest of a view": (COLUMNS, ADD),
    "counted from elsewhere": (
        NEXT.replace("T[0:%c.4]", "T[0:%c.4 - 1]"),
        ADD.replace("[0:%c.4]", "[1:%c.4]").replace("T[%i.30]", "T[%i.30 - 1]"),
    ),
    "with what each turn reads": (SUM, "%f.40: f8 = B[%t.20]", ADD.replace("%y.32)", "%f.40)")),
}
WHOLE = {
    "the neighbour's sum": (SUM, ADD.replace("T[%i.30]", "T[%c.4 - %i.30 - 1]")),
    "the neighbour's elements": (
        NEXT.replace("T[0:%c.4]", "T[0:%c.4 - 1]"),
        ADD.replace("[0:%c.4]", "[0:%c.4 - 1]"),
    ),
    "one point for all": (SUM, "%f.40: f8 = P[%t.20, 0]", ADD.replace("%y.32)", "%f.40)")),
    "one place for all": (SUM, ADD.replace("write P[%t.20, %i.30]", "write P[%t.20, 0] resolve add")),
    "of other lengths": (SUM, ADD.replace("[0:%c.4]", "[0:%c.4 - 1]")),
    "as long as turns": (SUM, ADD.replace("[0:%c.4]", "[0:%t.20]")),
    "one sum": (SUM, ADD, "reduce add B[0:1] = T[0:%c.4] axes (0)"),
    "a write for each turn": (SUM, ADD, "tasklet {\nwrite B[0] = 1.0:f8\n}"),
    "nothing shared": (ADD, ADD.replace(".30", ".50").replace(".31", ".51").replace(".32", ".52")),
    "other lines in each turn": (SUM.replace("P[%t.20 + %k.23 + 1, %j.22]", "P[%t.20, %j.22 + %k.23]"), ADD),
}


@pytest.mark.parametrize("nodes", CUT.values(), ids=CUT)
def test_cut(nodes: tuple[str, ...]) -> None:
    before = turns(*nodes)
    made = after(StripLoops(), before)
    assert is_cut(made)
    same_meaning(before, made)


@pytest.mark.parametrize("nodes", WHOLE.values(), ids=WHOLE)
def test_not_cut(nodes: tuple[str, ...]) -> None:
    before = turns(*nodes)
    assert after(StripLoops(), before) is before


@pytest.mark.parametrize("name", ["the neighbour's sum", "the neighbour's elements", "one point for all"])
def test_it_is_the_core_that_knows(name: str) -> None:
    assert is_cut(after(StripLoops(), turns(*WHOLE[name]), Session(kinds=frozenset())))


def test_outer_turns_too() -> None:
    inner = "for %t.20: py_int from 0 to %r.3 - 1 in 0:%r.3 {\n%len.21: py_int = %r.3 - %t.20 - 1"
    outer = f"for %s.60: py_int from 0 to 2 in 0:3 {{\n{inner}\n{SUM}\n{ADD}\ncontinue\n}}\ncontinue\n}}"
    before = program(f"  alloc T site 0\n  {outer}\n  return missing")
    made = after(StripLoops(), before)
    assert is_cut(made)
    assert not any(isinstance(node, Loop) for node in made.body.nodes)  # the strips are around both
    same_meaning(before, made)


def test_before_and_after(golden: Golden) -> None:
    assert body_text(after(StripLoops(), turns(SUM, ADD))) == golden


# ---- against NumPy --------------------------------------------------------------------------------------------------


def product(a: Any, b: Any) -> None:
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += a[i + 1 :, i] @ b[i + 1 :, j]


def solved(a: Any, b: Any) -> None:
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(i):
                total += a[i, k] * b[k, j]
            b[i, j] = (b[i, j] - total) / a[i, i]


def largest(a: Any, b: Any) -> None:
    for _ in range(2):
        for i in range(1, b.shape[0]):
            b[i] += 0.5 * a[i, i] * b[:i].max(axis=0)


def totals(a: Any, b: Any) -> Any:
    last, all_ = np.zeros(b.shape[1], b.dtype), np.zeros(b.shape[1], b.dtype)
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            last[j] = a[i + 1 :, i] @ b[i + 1 :, j]
        all_ += last
        b[i] -= all_
    return last, all_


FUNCTIONS: list[Callable[..., Any]] = [product, solved, largest, totals]


def given(rows: int, columns: int, dtype: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(rows + columns)
    a, b = rng.uniform(-0.5, 1.0, (rows, rows)) + np.eye(rows), rng.uniform(-0.5, 1.0, (rows, columns))
    if dtype.startswith("i"):
        a, b = np.rint(4 * a), np.rint(9 * b)
    return a.astype(dtype), b.astype(dtype)


def agree(function: Callable[..., Any], a: Any, b: Any, tolerance: float = 1e-9) -> None:
    """The same as in Python, and the same bits whatever the number of threads."""
    expected, whole = b.copy(order="K"), b.copy(order="K")
    function(a, expected)
    weft.program(function, without=("strip-loops",))(a, whole)
    for threads in (1, 2, 3):
        got = b.copy(order="K")
        weft.program(function, threads=threads, fallback="error")(a, got)
        np.testing.assert_allclose(got, expected, tolerance, tolerance)
        np.testing.assert_array_equal(got, whole)  # few terms: in order either way


@pytest.mark.parametrize("function", FUNCTIONS)
def test_they_are_cut(function: Callable[..., Any]) -> None:
    compiled = weft.program(function)
    compiled(*given(3, 5, "f8"))
    assert "strips" in compiled.inspect_source()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shape", [(20, 127), (20, 128), (21, 515), (9, 1100), (1, 200), (0, 300), (12, 0), (3, 1)])
def test_sizes(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    agree(function, *given(*shape, "f8"))


@pytest.mark.parametrize(("dtype", "tolerance"), [("f4", 1e-3), ("c16", 1e-9)])
@pytest.mark.parametrize("function", [product, totals])
def test_types(function: Callable[..., Any], dtype: str, tolerance: float) -> None:
    agree(function, *given(15, 260, dtype), tolerance)


def test_integers() -> None:
    agree(product, *given(6, 260, "i8"))
    agree(product, *given(6, 260, "i4"))


@pytest.mark.parametrize("rows", [1200, 2400])  # in strips, and what is too tall for them
def test_long_sums(rows: int) -> None:
    a, b = given(rows, 130, "f8")
    made = [b.copy() for _ in range(3)]
    for threads, one in enumerate(made, 1):
        weft.program(product, threads=threads)(a, one)
        np.testing.assert_array_equal(one, made[0])
    np.testing.assert_allclose(made[0], b + np.tril(a, -1).T @ b, 1e-9, 1e-9)


@pytest.mark.parametrize("function", [product, solved])
def test_strides(function: Callable[..., Any]) -> None:
    a, b = given(16, 600, "f8")
    views = (np.asfortranarray(b), b[::-1, ::-1], b[:, ::2], b[:, 200:400])
    for view in views:
        for threads in (1, 2):
            base, other = b.copy(), b.copy()
            got, expected = (np.asfortranarray(x) if view is views[0] else _like(view, x) for x in (base, other))
            weft.program(function, threads=threads, fallback="error")(a[::-1, ::-1].T, got)
            function(a[::-1, ::-1].T, expected)
            np.testing.assert_allclose(got, expected, 1e-9, 1e-9)
            np.testing.assert_allclose(base, other, 1e-9, 1e-9)  # and nothing beside it


def _like(view: Any, base: Any) -> Any:
    """The same part of another array."""
    columns = {(16, 600): slice(None, None, -1), (16, 300): slice(None, None, 2)}.get(view.shape, slice(200, 400))
    return base[::-1, columns] if view.shape == (16, 600) else base[:, columns]


def test_one_array_for_both() -> None:
    square = given(200, 200, "f8")[0] / 200
    for first, second in ((square, square), (square[:150, :150], square[50:, :])):
        kept = square.copy()
        product(first, second)
        expected = square.copy()
        square[:] = kept
        weft.program(product, threads=2)(first, second)
        np.testing.assert_allclose(square, expected, 1e-9, 1e-9)
        square[:] = kept


# ---- warnings and errors --------------------------------------------------------------------------------------------


def told(function: Callable[..., Any], a: Any, b: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function(a, b)
    return sorted({str(one.message) for one in found})


@pytest.mark.parametrize("place", [(5, 3), (11, 299), (11, 70)])
@pytest.mark.parametrize("number", [1e308, np.inf, np.nan])
def test_warnings(place: tuple[int, int], number: float) -> None:
    a, b = given(12, 300, "f8")
    a[:] = np.abs(a) + 2.0
    b[place] = number
    once = [b.copy() for _ in range(4)]
    whole = told(weft.program(product, without=("strip-loops",)), a, once[0])
    for threads in (1, 2, 3):
        assert told(weft.program(product, threads=threads), a, once[threads]) == whole
        np.testing.assert_array_equal(once[threads], once[0])
    assert bool(whole) == (number == 1e308)


def test_division_by_zero() -> None:
    a, b = given(12, 300, "f8")
    a[4, 4] = 0.0
    other = b.copy()
    found = told(weft.program(solved, threads=2), a, b)
    assert found == told(solved, a, other)
    assert any("divide by zero" in text for text in found)
    np.testing.assert_allclose(b, other)


def test_errors_are_those_of_python() -> None:
    for a, b in ((np.ones((5, 4)), np.ones((6, 300))), (np.ones((6, 4)), np.ones((6, 300)))):
        other = b.copy()
        with pytest.raises((IndexError, ValueError)) as expected:
            product(a, other)
        with pytest.raises(expected.type, match=str(expected.value)[:20].replace("(", r"\(")):
            weft.program(product, threads=2)(a, b)
        np.testing.assert_allclose(b, other)
