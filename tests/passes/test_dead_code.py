"""Dead code: what nobody can see goes, what may warn, leave or never end stays."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.passes.graphs import SITE, assert_same_outcomes, changed, graph, shown, words
from weft.ir.nodes import Site
from weft.ir.traverse import all_nodes
from weft.passes.dead_code import DropDeadCode

VECTORS = ("array T: f8[%n.1] transient C", "array U: f8[%n.1] transient C")


def test_what_nobody_sees_goes(golden: Golden) -> None:
    before = graph(
        f"""
  {SITE}
  site 1 f0@(1) {{A: slot 0}}
  guard greater_equal(1*%n.1, 1): b1 else site 1 "empty"
  alloc T site 0
  alloc U site 0
  elementwise T[:] at (%p.10: py_int) {{
    %a.11: f8 = A[:]
    yield negative(%a.11)
  }}
  elementwise U[:] at (%p.12: py_int) {{
    %t.13: f8 = T[:]
    yield %t.13
  }}
  tasklet {{
    %a.14: f8 = A[0]
    %b.15: f8 = A[0]
    %c.16: f8 = negative(%a.14)
    %d.17: f8 = negative(%b.15)
    write A[0] = %d.17
  }}
  map (%i.18: py_int) in [0:%n.1] {{
    write T[%i.18] = 0.0:f8
  }}
  for %j.19: py_int in 0:%k.5 {{
    %e.20: f8 = A[0]
    continue
  }}
  if greater(1*%k.5, 0): b1 -> (%f.21: f8, %g.22: py_int) {{
    yield %d.17, 1
  }} else {{
    yield 0.0:f8, 2
  }}
  return %g.22
""",
        *VECTORS,
    )
    made, session = changed(DropDeadCode(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden
    assert words(session, done=True) == ["T is never read", "U is never read"]


def test_what_loops_carry_for_nothing(golden: Golden) -> None:
    before = graph(
        """
  for %i.10: py_int in 0:%k.5 carry (%s.11: py_int = 0, %t.12: py_int = 0, X = A[:], Y = A[:]) {
    for %j.13: py_int in 0:%k.5 carry (%u.14: py_int = 0) {
      if equal(%j.13, 3): b1 {
        break %u.14
      } else {
        yield
      }
      if equal(%j.13, 5): b1 {
        break out 1 1*%s.11, 1*%t.12, X[:], Y[:]
      } else {
        yield
      }
      continue %u.14 + 1
    }
    continue %s.11 + 1, %t.12 + %u.14, Y[:], X[:]
  }
  while carry (%v.15: py_int = 0, %w.16: py_int = 0) {
    if greater_equal(%v.15, 2): b1 {
      break 1*%v.15, 1*%w.16
    } else {
      yield
    }
    continue %v.15 + 1, %w.16 + %v.15
  }
  return tuple(1*%s.11, 1*%w.16)
""",
        "size %qx.30: py_int in [0, 1000]",
        "size %qy.31: py_int in [0, 1000]",
        "array X: f8[%qx.30] ref S may alias (A, Y)",
        "array Y: f8[%qy.31] ref S may alias (A, X)",
    )
    made, _ = changed(DropDeadCode(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden


STAYS = {
    "a let that may warn": "  %y.10: f8 = multiply(cast(%x.6): f8, 2.0:f8) warn 1",
    "an int that may warn as a scalar": "  %y.10: i8 = multiply(cast(%k.5): i8, 2:i8) warn 1",
    "an operation that may warn": """
  alloc T site 0
  elementwise T[:] at (%p.10: py_int) warn 0 {
    %a.11: f8 = A[:]
    yield add(%a.11, 1.0:f8)
  }""",
    "a sum that may warn": "  alloc T site 0\n  reduce add T[0] = A[:] axes (0) initial 0.0:f8 warn 0",
    "a let in a map that warns": """
  map (%i.10: py_int) in [0:%n.1] warn 0 {
    %a.11: f8 = A[%i.10]
    %b.12: f8 = add(%a.11, 1.0:f8)
  }""",
    "an endless loop": "  while {\n    if less(1*%k.5, 9): b1 {\n      break\n    } else {\n      continue\n    }\n  }",
    "a loop that may leave": """
  for %i.10: py_int in 0:%k.5 {
    guard less(%i.10, 100): b1 else site 0 "never"
    continue
  }""",
    "what a site shows": """
  alloc T site 0
  elementwise T[:] at (%p.10: py_int) {
    yield 1.0:f8
  }
  site 1 f0@(1) {T: T[:]}
  guard greater_equal(1*%n.1, 1): b1 else site 1 "empty\"""",
    "what a ref may be": """
  alloc T site 0
  elementwise T[:] at (%p.10: py_int) {
    yield 1.0:f8
  }
  if greater(1*%k.5, 0): b1 -> (X) {
    yield T[:]
  } else {
    yield A[:]
  }
  reduce maximum B[0:0] = X[$0] over [%q.30, 0] axes (0)""",
    "what is under another shape": """
  alloc T site 0
  elementwise T[:] at (%p.10: py_int) {
    yield 1.0:f8
  }
  elementwise P[0:0, 0:0] at (%p.11: py_int, %p.12: py_int) {
    %v.13: f8 = V[0:0, 0:0]
    yield %v.13
  }""",
}


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS.keys())
def test_what_can_be_seen_stays(text: str) -> None:
    more = ["array T: f8[%n.1] transient C"] if "T[" in text else []
    more += ["size %q.30: py_int in [0, 1000]", "array X: f8[%q.30] ref S may alias (A, T)"] if "X[" in text else []
    more += ["array V: f8[1, %n.1] alias of T C"] if "V[" in text else []
    site = SITE if "site 0" in text else ""
    before = graph(f"{site}\n{text}\n  return slot 0", *more)
    assert changed(DropDeadCode(), before)[0] is before


@pytest.mark.parametrize("text", ["negative(%a.11)", "maximum(%a.11, 1.0:f8)", "%a.11"])
def test_a_place_for_warnings_is_no_warning(text: str) -> None:
    before = graph(
        f"""
  {SITE}
  alloc T site 0
  elementwise T[:] at (%p.10: py_int) warn 0 {{
    %a.11: f8 = A[:]
    yield {text}
  }}
  return slot 0
""",
        "array T: f8[%n.1] transient C",
    )
    made, _ = changed(DropDeadCode(), before)
    assert len(made.body.nodes) == 1


def test_inputs_nobody_uses(golden: Golden) -> None:
    before = graph("""
  elementwise A[:] at (%p.10: py_int) {
    %a.11: f8 = A[:]
    %b.12: f8 = B[$0] over [%n.1]
    yield %a.11
  }
  reduce add A[0:0] = elements at (%e.13: py_int) over [0] {
    tasklet {
      %c.14: f8 = A[%e.13]
      %d.15: f8 = A[%e.13]
    }
    yield %c.14
  } axes () initial 0.0:f8
  return slot 0
""")
    made, _ = changed(DropDeadCode(), before)
    assert shown(made) == golden


def test_sites_in_front_of_loops_stay_while_they_may_be_needed() -> None:
    before = graph(f"""
  {SITE}
  for %i.10: py_int in 0:%k.5 {{
    site 1 f0@(0, 0, 0) {{A: slot 0}}
    guard greater_equal(1*%n.1, 1): b1 else site 1 "empty"
    write A[0] = 1.0:f8
    continue
  }}
  site 2 f0@(1) {{A: slot 0}}
  for %j.11: py_int in 0:%k.5 {{
    write A[%j.11] = 1.0:f8
    continue
  }}
  site 3 f0@(2) {{A: slot 0}}
  elementwise A[0:%n.1 - 1] at (%p.12: py_int) {{
    %a.13: f8 = A[1:%n.1]
    yield %a.13
  }}
  return slot 0
""")
    kept = [node.number for node in all_nodes(changed(DropDeadCode(), before)[0].body) if isinstance(node, Site)]
    early, _ = changed(DropDeadCode(loop_sites=True), before)
    assert kept == [1]
    assert [node.number for node in all_nodes(early.body) if isinstance(node, Site)] == [0, 1, 3]
