"""What runs on threads."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.passes.programs import HEAD, after, assert_same_meaning, body_text, program
from weft.ir.nodes import Map, Reduce, Schedule
from weft.ir.traverse import all_nodes
from weft.passes.base import Session
from weft.passes.schedule_maps import ScheduleMaps

STACK = HEAD + "array t: f8[] stack C\narray Q: f8[%n.1] ref S may alias (A, B) written\n"

ROWS = """\
  map (%i.20: py_int) in [0:%r.3] {
    alloc t
    reduce add t[] = elements at (%j.21: py_int) over [%c.4] {
      %x.22: f8 = P[%i.20, %j.21]
      yield %x.22
    } axes (0) initial 0.0:f8
    %y.23: f8 = t[]
    for %k.24: py_int in 0:2 carry (%s.25: f8 = %y.23) {
      map (%l.26: py_int) in [0:%c.4] {
        write P[%i.20, %l.26] = %s.25
      }
      continue add(%s.25, 1.0:f8)
    }
  }
  reduce add P[0, 0] = A[:] axes (0) initial 0.0:f8
  return missing"""


def test_the_outermost_map_and_reductions_outside(golden: Golden) -> None:
    opening = (
        "  site 0 f0@() {A: slot 0, B: slot 1, P: slot 2}\n"
        '  guard logical_and(equal(%n.1, %m.2): b1, greater(%r.3, 0): b1) else site 0 ""\n'
    )
    before = program(
        ROWS, head=STACK.replace("array Q: f8[%n.1] ref S may alias (A, B) written\n", ""), opening=opening
    )
    made = after(ScheduleMaps(), before)
    assert_same_meaning(before, made)
    assert body_text(made) == golden


LEAVES = "    tasklet {\n      write A[%i.20] = 1.0:f8\n    }"
REASONS = [
    ("memory from the heap", "    alloc T site 0\n" + LEAVES, "it allocates T"),
    ("a guard", '    guard less(%i.20, 5): b1 else site 0 "x"\n' + LEAVES, "it holds a guard"),
    ("sums that meet", "    write A[0] resolve add = 1.0:f8", "its points combine what they write to A"),
]


@pytest.mark.parametrize(("body", "reason"), [case[1:] for case in REASONS], ids=[case[0] for case in REASONS])
def test_what_keeps_threads_out(body: str, reason: str) -> None:
    session = Session()
    before = program(f"  map (%i.20: py_int) in [0:%n.1] {{\n{body}\n  }}\n  return missing")
    made = after(ScheduleMaps(), before, session)
    (outer,) = [node for node in made.body.nodes if isinstance(node, Map)]
    assert outer.schedule is Schedule.SEQUENTIAL
    assert [record.text for record in session.records] == [f"the map over i runs in order: {reason}"]


def test_while_loops_are_shared_out() -> None:
    body = "    while {\n      break\n    }"
    before = program(f"  map (%i.20: py_int) in [0:%n.1] {{\n{body}\n  }}\n  return missing")
    (outer,) = [node for node in after(ScheduleMaps(), before).body.nodes if isinstance(node, Map)]
    assert outer.schedule is Schedule.PARALLEL


def test_matrix_products_are_shared_out() -> None:
    body = "    matmul P[0:1, 0:1] = P[1:2, 1:2] @ P[2:3, 2:3]"
    before = program(f"  map (%i.20: py_int) in [0:%n.1] {{\n{body}\n  }}\n  return missing")
    (outer,) = [node for node in after(ScheduleMaps(), before).body.nodes if isinstance(node, Map)]
    assert outer.schedule is Schedule.PARALLEL


def test_inside_a_map_in_order_maps_and_reductions_are_parallel() -> None:
    body = """\
  map (%i.20: py_int) in [0:%r.3] {
    alloc T site 0
    map (%j.21: py_int) in [0:%n.1] {
      write T[%j.21] = 1.0:f8
    }
    reduce add P[%i.20, 0] = T[:] axes (0) initial 0.0:f8
  }
  return missing"""
    made = after(ScheduleMaps(), program(body))
    inner = [node.schedule for node in all_nodes(made.body) if isinstance(node, Map | Reduce)]
    assert inner == [Schedule.SEQUENTIAL, Schedule.PARALLEL, Schedule.PARALLEL]


def test_names_bound_at_run_time_stay_in_order() -> None:
    body = """\
  map (%i.20: py_int) in [0:%r.3] {
    for %k.24: py_int in 0:2 carry (Q = A[:]) {
      continue Q[:]
    }
  }
  return missing"""
    session = Session()
    after(ScheduleMaps(), program(body, head=STACK), session)
    assert session.records[0].text == "the map over i runs in order: Q is bound at run time"


def test_what_is_scheduled_stays() -> None:
    before = program("  map (%i.20: py_int) in [0:%n.1] parallel {\n    write A[%i.20] = 0.0:f8\n  }\n  return missing")
    assert ScheduleMaps().run(before, Session()) is before


@pytest.mark.parametrize(
    ("inner", "expected"), [("0:%n.1", Schedule.SEQUENTIAL), ("0:%m.2", Schedule.PARALLEL), ("0:9", Schedule.PARALLEL)]
)
def test_a_row_as_long_as_two_loops_around_it_is_short(inner: str, expected: Schedule) -> None:
    body = f"""\
  for %i.20: py_int in 0:%n.1 {{
    for %k.21: py_int in {inner} {{
      map (%j.22: py_int) in [%i.20:%n.1] {{
        write A[%j.22] = 1.0:f8
      }}
      continue
    }}
    continue
  }}
  return missing"""
    made = after(ScheduleMaps(), program(body))
    assert [node.schedule for node in all_nodes(made.body) if isinstance(node, Map)] == [expected]
