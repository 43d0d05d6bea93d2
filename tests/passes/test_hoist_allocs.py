"""Allocations in front of loops, and temporaries that share memory."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.passes.graphs import SITE, assert_same_outcomes, changed, graph, shown, words
from weft.ir.nodes import Alloc
from weft.ir.traverse import all_nodes
from weft.passes.base import Session
from weft.passes.hoist_allocs import HoistAllocs

INNER = "site 1 f0@(0, 0, 0) {A: slot 0, B: slot 1, P: slot 2}"


def step(number: int, target: str, source: str, operation: str = "add") -> str:
    """`target = operation(source, 1)`."""
    return f"""
    elementwise {target} at (%p.{number}: py_int) {{
      %a.{number + 1}: f8 = {source}
      yield {operation}(%a.{number + 1}, 1.0:f8)
    }}"""


def test_out_of_two_loops(golden: Golden) -> None:
    before = graph(
        f"""
  {SITE}
  guard logical_or(less_equal(1*%k.5, 0): b1, greater_equal(1*%n.1, 2): b1): b1 else site 0 "too short"
  for %i.10: py_int from 0 to %k.5 - 1 in 0:%k.5 {{
    site 2 f0@(0, 0, 0) {{A: slot 0}}
    for %j.11: py_int from 0 to %i.10 - 1 in 0:%i.10 {{
      {INNER}
      alloc T site 1
      alloc U site 1
      {step(20, "T[:]", "A[0:%n.1 - 2]")}
      {step(30, "U[0:%i.10]", "V[0:%i.10]")}
      {step(40, "A[1:%n.1 - 1]", "T[:]", "multiply")}
      continue
    }}
    continue
  }}
  return slot 0
""",
        "array T: f8[%n.1 - 2] transient C",
        "array U: f8[%i.10] transient C",
        "array V: f8[%i.10] alias of U C",
    )
    # The inner site does not show what the loop writes: it is the one in front of the outer loop that counts.
    made, session = changed(HoistAllocs(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden
    assert words(session, done=True) == ["T is allocated once, in front of the loop"] * 2
    assert words(session, done=False) == ["U is allocated in every iteration: it is seen from outside of the iteration"]


def one_loop(body: str, head: str = "for %i.10: py_int from 0 to %k.5 - 1 in 0:%k.5") -> str:
    return f"{SITE}\n  {head} {{\n    {INNER}\n    alloc T site 1\n{body}\n    continue\n  }}\n  return slot 0"


USE = step(20, "T[:]", "A[:]") + step(30, "A[:]", "T[:]")
STAYS = {
    "size of the loop": (
        one_loop("    write T[0] = 1.0:f8"),
        "array T: f8[%i.10 + 1] transient C",
        "its size depends on the loop",
    ),
    "no site": (
        one_loop(USE).replace(SITE, ""),
        "array T: f8[%n.1] transient C",
        "there is no way back to the head of the loop",
    ),
    "written since": (
        one_loop(USE).replace(SITE, f"{SITE}\n  elementwise B[:] at (%p.50: py_int) {{\n    yield 1.0:f8\n  }}"),
        "array T: f8[%n.1] transient C",
        "there is no way back to the head of the loop",
    ),
    "perhaps negative": (
        one_loop("    elementwise T[:] at (%p.20: py_int) {\n      yield 1.0:f8\n    }"),
        "array T: f8[%n.1 - 2] transient C",
        "its size may be negative",
    ),
}


@pytest.mark.parametrize(("text", "array", "reason"), STAYS.values(), ids=STAYS.keys())
def test_allocations_that_stay(text: str, array: str, reason: str) -> None:
    before = graph(text, array)
    made, session = changed(HoistAllocs(), before)
    assert made is before
    assert words(session, done=False) == [f"T is allocated in every iteration: {reason}"]


def test_what_leaves_the_program_is_seen_by_no_other_iteration() -> None:
    shown_to_python = (
        step(20, "T[:]", "A[:]") + "\n    site 2 f0@(0, 0, 1) {T: T[:], i: %i.10}\n"
        '    guard less(1*%i.10, 2): b1 else site 2 "late"'
    )
    before = graph(one_loop(shown_to_python), "array T: f8[%n.1] transient C")
    made, session = changed(HoistAllocs(), before)
    assert_same_outcomes(before, made)
    assert words(session, done=True) == ["T is allocated once, in front of the loop"]


def test_what_a_loop_carries_is_allocated_in_it() -> None:
    before = graph(
        f"""
  {SITE}
  for %i.10: py_int from 0 to %k.5 - 1 in 0:%k.5 carry (X = A[:]) {{
    {INNER}
    alloc T site 1
    {step(20, "T[:]", "A[:]")}
    continue T[:]
  }}
  return X[:]
""",
        "size %q.30: py_int in [0, 1000]",
        "array T: f8[%n.1] transient C",
        "array X: f8[%q.30] ref S may alias (A, T)",
    )
    assert changed(HoistAllocs(), before)[0] is before


def test_points_of_maps_do_not_share_memory() -> None:
    before = graph(
        f"""
  {SITE}
  map (%i.10: py_int) in [0:%r.3] {{
    alloc T site 0
    elementwise T[:] at (%p.20: py_int) {{
      %a.21: f8 = P[%i.10, :]
      yield add(%a.21, 1.0:f8)
    }}
    elementwise P[%i.10, :] at (%p.22: py_int) {{
      %t.23: f8 = T[:]
      yield multiply(%t.23, 2.0:f8)
    }}
  }}
  return slot 2
""",
        "array T: f8[%c.4] transient C",
    )
    assert changed(HoistAllocs(), before)[0] is before


def test_temporaries_that_take_turns_share_memory(golden: Golden) -> None:
    names = ("T", "U", "V", "W", "Y")
    arrays = [f"array {name}: f8[%n.1] transient {'F' if name == 'Y' else 'C'}" for name in names]
    before = graph(
        f"""
  {SITE}
  alloc T site 0
  {step(10, "T[:]", "A[:]")}
  alloc U site 0
  {step(20, "U[:]", "T[:]")}
  alloc V site 0
  {step(30, "V[:]", "U[:]")}
  alloc Y site 0
  {step(40, "Y[:]", "V[:]")}
  alloc W site 0
  for %i.50: py_int in 0:%k.5 {{
    {step(60, "W[:]", "Y[:]")}
    continue
  }}
  alloc Z site 0
  elementwise Z[:] at (%p.70: py_int) {{
    yield 1.0:f8
  }}
  {step(80, "A[:]", "V[:]")}
  return Z[:]
""",
        *arrays,
        "array Z: f8[%n.1] transient C",
    )
    made, session = changed(HoistAllocs(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden
    assert words(session, done=True) == ["V uses the memory of T", "W uses the memory of U"]


NOT_SHARED = {
    "still read": ("array U: f8[%n.1] transient C", step(40, "B[0:%n.1]", "T[:]")),
    "another size": ("array U: f8[%n.1 + 1] transient C", ""),
    "another type": ("array U: f4[%n.1] transient C", ""),
}


@pytest.mark.parametrize(("array", "rest"), NOT_SHARED.values(), ids=NOT_SHARED.keys())
def test_temporaries_that_stay_apart(array: str, rest: str) -> None:
    fill = f"  elementwise U[0:%n.1] at (%p.30: py_int) {{\n    yield 1.0:{array[9:11]}\n  }}"
    before = graph(
        f"""
  {SITE}
  guard less_equal(1*%n.1, 1*%m.2): b1 else site 0 "sizes"
  alloc T site 0
  {step(10, "T[:]", "A[:]")}
  {step(20, "A[:]", "T[:]")}
  alloc U site 0
{fill}
{rest}
  %u.50: {array[9:11]} = U[%n.1 - 1]
  return %u.50
""",
        "array T: f8[%n.1] transient C",
        array,
    )
    made, _ = changed(HoistAllocs(), before)
    assert sum(isinstance(node, Alloc) for node in made.body.nodes) == 2


LATE = """
  {SITE}
  alloc T site 0
  {first}
  site 1 f0@(1) {{B: slot 1, T: T[:]}}
  guard greater_equal(1*%n.1, 1): b1 else site 1 "too short"
  {between}
  alloc U site 0
  {last}
  return slot 0
"""
T_AND_U = ("array T: f8[%n.1] transient C", "array U: f8[%n.1] transient C")


def late(between: str = "") -> str:
    first, last = step(20, "T[:]", "A[:]"), step(30, "U[:]", "T[:]") + step(40, "A[:]", "U[:]")
    return LATE.format(SITE=SITE, first=first, between=between, last=last)


def sites(text: str) -> list[int]:
    made = HoistAllocs().run(graph(text, *T_AND_U), Session())
    return [node.site for node in all_nodes(made.body) if isinstance(node, Alloc)]


def test_an_allocation_leaves_through_the_last_site_that_holds() -> None:
    assert sites(late()) == [0, 1]


@pytest.mark.parametrize(
    "between",
    [step(50, "B[:]", "A[:]"), step(50, "T[:]", "A[:]"), "site 2 f0@(2) {B: slot 1}\n" + step(50, "T[:]", "A[:]")],
    ids=["what Python sees", "what the site shows", "another site that no guard leaves through"],
)
def test_an_allocation_keeps_its_site_where_a_later_one_does_not_hold(between: str) -> None:
    assert sites(late(between)) == [0, 0]


def test_a_later_site_is_not_given_up_for_an_earlier_one() -> None:
    text = late("site 2 f0@(2) {A: slot 0}\n").replace("alloc U site 0", "alloc U site 2")
    assert sites(text) == [0, 2]
