"""The legality core on nests of which the answer is known, both ways: independent and not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.analysis.nests import HEAD, NESTS, Nest, carried, known, loop_of
from weft.analysis.dependences import Kind, Legality
from weft.analysis.effects import effects_of
from weft.analysis.facts import Constraint, Facts
from weft.analysis.integer_sets import Solver
from weft.ir.exprs import index
from weft.ir.nodes import Loop, Map, Program, Region
from weft.ir.parser import parse_program


@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: nest.name)
def test_what_a_loop_carries(nest: Nest) -> None:
    assert {dependence.kind for dependence in nest.ask()} == nest.kinds


@pytest.mark.parametrize("kind", Kind)
def test_a_class_of_dependences_taken_away_is_missed(kind: Kind) -> None:
    others = frozenset(Kind) - {kind}
    wrong = [nest.name for nest in NESTS if {d.kind for d in nest.ask(others)} != nest.kinds]
    falsely_free = [nest.name for nest in NESTS if nest.kinds and not nest.ask(others)]
    assert len(wrong) >= 3
    assert len(falsely_free) >= 3


def test_a_question_that_costs_too_much_is_answered_by_maybe() -> None:
    nest = known("every second, from the one after")
    program = nest.program()
    loop, facts = loop_of(program)
    tired = Solver(operations=3)
    assert Legality(program, tired).carried(loop, facts)
    assert tired.work.given_up > 0


def test_equal_questions_are_asked_once() -> None:
    program = known("even from odd").program()
    loop, facts = loop_of(program)
    solver = Solver()
    legality = Legality(program, solver)
    first = legality.carried(loop, facts)
    asked = solver.work.sets
    assert legality.carried(loop, facts) == first
    assert solver.work.sets == asked
    assert solver.work.repeated > 0
    assert solver.work.questions >= solver.work.sets


# ---- refs -----------------------------------------------------------------------------------------------------------

SWAP = """\
  for %t.20: py_int in 0:%k.1 carry (X = A[:], Y = B[:]) {
    map (%i.21: py_int) in [0:%x.8] {
      tasklet {
        %v.22: f8 = X[%i.21]
        write Y[%i.21] = %v.22
      }
    }
    continue SWAPPED
  }
"""


def swapping(order: str) -> tuple[Program, Map, Facts]:
    program = parse_program(f"{HEAD}{{\n  site 0 f0@() {{}}\n{SWAP.replace('SWAPPED', order)}  return missing\n}}\n")
    loop, facts = loop_of(program)
    inside = facts.inside(loop, Legality(program, Solver()).memory)[0]
    body = loop.body.nodes[0]
    assert isinstance(body, Map)
    return program, body, inside


@pytest.mark.parametrize(("order", "apart"), [("Y[:], X[:]", True), ("X[:], Y[:]", True), ("X[:], X[:]", False),
                                              ("Y[:], Y[:]", False), ("Y[:], A[:]", False)])  # fmt: skip
def test_exchanged_buffers_stay_apart(order: str, apart: bool) -> None:
    program, body, facts = swapping(order)
    meeting = Legality(program, Solver()).elsewhere(body, body, facts)
    assert (not meeting) is apart


def test_buffers_exchanged_by_the_loop_itself_meet_across_its_iterations() -> None:
    program, _, _ = swapping("Y[:], X[:]")
    assert {d.kind for d in carried(program)} == {Kind.FLOW, Kind.ANTI, Kind.OUTPUT}


MADE = """\
  for %t.20: py_int in 0:%k.1 carry (Z = A[:]) {
    BEFORE
    alloc N site 0
    map (%i.21: py_int) in [1:%x.8] {
      tasklet {
        %v.22: f8 = Z[%i.21 - 1]
        write N[%i.21] = %v.22
      }
    }
    continue N[:]
  }
"""
HEAD_OF_MADE = f"{HEAD}array Z: f8[%x.8] ref S may alias (A, N)\narray N: f8[%n.3] transient C\n"


def making(before: str = "") -> tuple[Legality, Loop, Facts]:
    body = MADE.replace("    BEFORE\n", before)
    program = parse_program(f"{HEAD_OF_MADE}{{\n  site 0 f0@() {{}}\n{body}  return missing\n}}\n")
    loop, facts = loop_of(program)
    return Legality(program, Solver()), loop, facts


def test_what_a_turn_allocates_is_apart_from_what_the_loop_carries() -> None:
    legality, loop, facts = making()
    alloc, points = loop.body.nodes[:2]
    assert isinstance(points, Map)
    inside = facts.inside(loop, legality.memory)[0]
    assert legality.elsewhere(points, points, inside)  # nothing is known of N above its allocation
    assert not legality.elsewhere(points, points, inside.after(alloc))
    assert not legality.may_share("N", "Z")


def test_that_holds_for_the_turn_alone() -> None:
    _, loop, facts = making()
    assert not facts.after(loop).apart


def test_a_ref_of_an_inner_loop_is_not_told_from_what_was_allocated_outside() -> None:
    legality, loop, facts = making()
    inner = replace(loop, body=Region((loop.body.nodes[-1],)))
    around = facts.after(loop.body.nodes[0])  # allocated in front of the loop
    assert not around.inside(inner, legality.memory)[0].apart


# ---- two maps -------------------------------------------------------------------------------------------------------


def maps(*bodies: str, guards: str = "") -> tuple[Legality, list[Map], Facts]:
    texts = [
        f"  map ({name}: py_int) in [0:%n.3 - 1] {{\n    tasklet {{\n{body.replace('%p', name)}\n    }}\n  }}"
        for name, body in zip(("%i.60", "%i.61"), bodies, strict=True)
    ]
    program = parse_program(f"{HEAD}{{\n  site 0 f0@() {{}}\n{guards}\n" + "\n".join(texts) + "\n  return missing\n}\n")
    facts = Facts()
    for node in program.body.nodes:
        facts = facts.after(node)
    return Legality(program, Solver()), [node for node in program.body.nodes if isinstance(node, Map)], facts


WRITE_A = "%a.80: f8 = B[%p]\nwrite A[%p] = %a.80"
PAIRS = [
    ("at the same point", "%a.81: f8 = A[%p]\nwrite M[%p, 0] = %a.81", set()),
    ("at the point after", "%a.81: f8 = A[%p + 1]\nwrite M[%p, 0] = %a.81", {Kind.FLOW}),
    ("overwritten beside", "%a.81: f8 = M[%p, 0]\nwrite A[%p + 1] = %a.81", {Kind.OUTPUT}),
    ("what the first reads, beside", "%a.81: f8 = M[%p, 0]\nwrite B[%p + 1] = %a.81", {Kind.ANTI}),
    ("nothing in common", "%a.81: f8 = M[%p, 0]\nwrite M[%p, 1] = %a.81", set()),
    ("only reads in common", "%a.81: f8 = B[%p + 1]\nwrite M[%p, 1] = %a.81", set()),
]


@pytest.mark.parametrize(("name", "second", "kinds"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_two_maps_at_different_points(name: str, second: str, kinds: set[Kind]) -> None:
    del name
    legality, (first, other), facts = maps(WRITE_A, second)
    assert {d.kind for d in legality.elsewhere(first, other, facts)} == kinds


def test_two_maps_may_change_places_only_without_any_dependence() -> None:
    legality, (first, other), facts = maps(WRITE_A, PAIRS[0][1])
    assert {d.kind for d in legality.between(first, other, facts)} == {Kind.FLOW}
    legality, (first, other), facts = maps(WRITE_A, PAIRS[4][1])
    assert legality.independent(first, other, facts)


# ---- subsets and conditions -----------------------------------------------------------------------------------------


def test_subsets() -> None:
    legality, (first, other), facts = maps(
        WRITE_A, "%a.81: f8 = A[%p + 1]\nwrite M[%p, 1] = %a.81", guards='  guard greater(%n.3, 4): b1 else site 0 ""'
    )
    written = effects_of(first).writes[0]
    read = effects_of(other).reads[0]
    assert legality.contains(written, written, facts)
    assert not legality.contains(written, read, facts)
    assert not legality.contains(read, written, facts)
    assert legality.intersect(written, read, facts)
    assert legality.same(written, written, facts)


def test_conditions_that_follow_from_guards() -> None:
    program = parse_program(
        f"{HEAD}{{\n  site 0 f0@() {{}}\n"
        '  guard logical_and(greater_equal(%n.3, 4), equal(%n.3, %n2.4)): b1 else site 0 ""\n'
        "  return missing\n}\n"
    )
    facts = Facts()
    for node in program.body.nodes:
        facts = facts.after(node)
    legality = Legality(program, Solver())
    n, n2 = (program.containers[name].shape[0] for name in "AB")
    assert legality.holds(Constraint(n - 4), facts)
    assert legality.holds(Constraint(n2 - 4), facts)
    assert legality.holds(Constraint(n - n2, equal=True), facts)
    assert not legality.holds(Constraint(n - 5), facts)
    assert not legality.holds(Constraint(n2 - index(program.scalars[0][1])), facts)
