"""Copies: producers write where their result goes, a temporary and its copy are one."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.passes.graphs import SITE, assert_same_outcomes, changed, graph, shown, words
from weft.ir.nodes import MatMul
from weft.passes.redundant_copies import DropCopies
from weft.passes.simplify import Simplify

MATRIX = "array T: f8[%r.3, %r.3] transient C"


def vector(statements: str, copy: str = "B[0:%r.3]", source: str = "T[:]") -> str:
    """A sum of the rows of P into T, statements, and a copy of T."""
    return f"""
  {SITE}
  guard greater_equal(1*%m.2, 1*%r.3): b1 else site 0 "too short"
  alloc T site 0
  reduce add T[:] = P[:, :] axes (1) initial 0.0:f8
{statements}
  elementwise {copy} at (%p.10: py_int) {{
    %t.11: f8 = {source}
    yield %t.11
  }}
  return tuple(slot 0, slot 1, slot 2)
"""


def test_a_sum_is_written_where_it_is_copied_to(golden: Golden) -> None:
    between = '  guard greater_equal(1*%n.1, 1): b1 else site 0 "empty"\n  write A[0] = 2.0:f8'
    before = graph(vector(between), "array T: f8[%r.3] transient C")
    made, session = changed(Simplify(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden
    assert "written to B directly" in words(session, done=True)


def test_a_product_with_a_vector_goes_through_two_copies(golden: Golden) -> None:
    before = graph(
        f"""
  {SITE}
  guard equal(1*%n.1, 1*%c.4): b1 else site 0 "inner"
  alloc W site 0
  alloc T site 0
  alloc U site 0
  matmul T[$0] over [%r.3, 1] = P[:, :] @ A[$0] over [%c.4, 1]
  elementwise U[:] at (%p.10: py_int) {{
    %t.11: f8 = T[:]
    yield %t.11
  }}
  elementwise W[2*$0, 0] over [%r.3] at (%p.12: py_int) {{
    %u.13: f8 = U[:]
    yield %u.13
  }}
  return W[2*$0, 0] over [%r.3]
""",
        "array T: f8[%r.3] transient C",
        "array U: f8[%r.3] transient C",
        "array W: f8[2*%r.3, 3] transient C",
    )
    made, _ = changed(Simplify(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden


STAYS = {
    "it reads the target": (vector("", copy="P[:, 0]"), "T keeps a temporary: it is computed from P"),
    "its input changes": (
        vector("  elementwise P[:, :] at (%p.20: py_int, %p.21: py_int) {\n    yield 1.0:f8\n  }"),
        "T keeps a temporary: what it is computed from is changed before it is copied",
    ),
    "another shape": (
        vector("", copy="B[0:%r.3 - 1]", source="T[0:%r.3 - 1]"),
        "T keeps a temporary: it is copied in another shape or order",
    ),
    "read twice": (vector("  %b.20: f8 = T[0]"), ""),
    "shown at a site": (
        vector('  site 1 f0@(1) {T: T[:]}\n  guard greater_equal(1*%n.1, 1): b1 else site 1 "empty"'),
        "",
    ),
    "written twice": (vector("  write T[0] = 1.0:f8"), ""),
}


@pytest.mark.parametrize(("text", "reason"), STAYS.values(), ids=STAYS.keys())
def test_what_keeps_its_temporary(text: str, reason: str) -> None:
    before = graph(text, "array T: f8[%r.3] transient C")
    made, session = changed(DropCopies(), before)
    assert made is before
    assert words(session, done=False) == ([reason] if reason else [])


def test_a_matrix_is_not_written_across_memory() -> None:
    before = graph(
        f"""
  {SITE}
  guard equal(1*%n.1, 2*%r.3): b1 else site 0 "sizes"
  alloc T site 0
  alloc Q site 0
  matmul T[:, :] = P[:, :] @ P[$1, $0] over [%c.4, %r.3]
  elementwise Q[2*$0, 2*$1] over [%r.3, %r.3] at (%p.10: py_int, %p.11: py_int) {{
    %t.12: f8 = T[:, :]
    yield %t.12
  }}
  return Q[:, :]
""",
        MATRIX,
        "array Q: f8[%n.1, %n.1] transient C",
    )
    made, session = changed(DropCopies(), before)
    assert made is before
    assert words(session, done=False) == ["T keeps a temporary: it is copied in another shape or order"]


def test_a_product_goes_into_a_part_of_a_matrix(golden: Golden) -> None:
    before = graph(
        f"""
  {SITE}
  guard equal(1*%n.1, %c.4 + 3): b1 else site 0 "sizes"
  alloc T site 0
  alloc Q site 0
  matmul T[:, :] = P[:, :] @ P[$1, $0] over [%c.4, %r.3]
  elementwise Q[%r.3 - 1 - $1, 1 + $0] over [%r.3, %r.3] at (%p.10: py_int, %p.11: py_int) {{
    %t.12: f8 = T[:, :]
    yield %t.12
  }}
  return Q[:, 1:%r.3 + 1]
""",
        MATRIX,
        "array Q: f8[%r.3, %r.3 + 2] transient C",
    )
    made, _ = changed(Simplify(), before)
    assert sum(isinstance(node, MatMul) for node in made.body.nodes) == 1
    assert_same_outcomes(before, made)
    assert shown(made) == golden


FILL = """
  alloc T site 0
  elementwise T[:] at (%p.10: py_int) {
    %a.11: f8 = A[:]
    yield add(%a.11, 1.0:f8)
  }
  alloc U site 0
  elementwise U[:] at (%p.12: py_int) {
    %t.13: f8 = T[:]
    yield %t.13
  }
"""
VECTORS = ("array T: f8[%n.1] transient C", "array U: f8[%n.1] transient C")
WRITE = "  elementwise {}[0:%n.1] at (%p.20: py_int) {{\n    yield 7.0:f8\n  }}\n"


def test_a_temporary_that_dies_is_its_copy(golden: Golden) -> None:
    before = graph(f"{SITE}\n{FILL}{WRITE.format('U')}  return U[:]", *VECTORS)
    made, _ = changed(DropCopies(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden


def test_a_copy_that_never_differs_is_the_original(golden: Golden) -> None:
    before = graph(f"{SITE}\n{FILL}\n  reduce add B[0:0] = U[$0] over [%n.1, 0] axes (0)\n  return T[:]", *VECTORS)
    made, _ = changed(DropCopies(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden


COPIES_THAT_STAY = {
    "the original changes": WRITE.format("T") + "  return tuple(T[:], U[:])",
    "the copy changes": WRITE.format("U") + "  return tuple(T[:], U[:])",
    "both are given back": "  return tuple(T[:], U[:])",
    "a ref may change the original": """
  if greater(1*%k.5, 0): b1 -> (X) {
    yield T[:]
  } else {
    yield A[:]
  }
  write X[0] = 7.0:f8
  %u.20: f8 = U[0]
  return %u.20""",
}


@pytest.mark.parametrize("rest", COPIES_THAT_STAY.values(), ids=COPIES_THAT_STAY.keys())
def test_copies_that_stay(rest: str) -> None:
    more = ["size %q.30: py_int in [0, 1000]", "array X: f8[%q.30] ref S may alias (A, T)"] if "X[" in rest else []
    before = graph(f"{SITE}\n{FILL}{rest}", *VECTORS, *more)
    made, session = changed(DropCopies(), before)
    assert made is before
    assert words(session, done=False) == ["U is a copy of what changes later"]
