"""Questions to isl in the middle of long programs: facts about values that nobody asks about are left out."""

from __future__ import annotations

from weft.analysis.facts import Constraint
from weft.analysis.integer_sets import Solver, System
from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Value, index


def number(place: int) -> Value:
    return Value(place, f"n{place}", PY_INT, 0)


def asked(facts: list[Constraint]) -> tuple[bool, str]:
    """Whether n0 may be greater than n2, and the text of the question."""
    system = System()
    system.nonnegative(index(number(0)) - index(number(2)) - 1, None)
    solver = Solver()
    answer = solver.may_hold(system, facts)
    (question,) = solver._answers
    return answer, question


def chain(through: int) -> list[Constraint]:
    """n0 <= n1 = n2 + a value that is at most 0."""
    return [
        Constraint(index(number(1)) - index(number(0))),
        Constraint(index(number(1)) - index(number(2)) + index(number(through)), equal=True),
        Constraint(-index(number(through)), equal=True),
    ]


def hangers(count: int) -> list[Constraint]:
    """Facts that each have a value of their own, and one behind another."""
    others = [Constraint(index(number(0)) - index(number(100 + place))) for place in range(count)]
    return others + [Constraint(index(number(100 + place)) - index(number(200 + place))) for place in range(count)]


def test_what_is_connected_is_used() -> None:
    assert asked(chain(50))[0] is False
    assert asked([*hangers(30), *chain(50)])[0] is False
    assert asked(hangers(30))[0] is True


def test_what_hangs_on_is_left_out_where_there_is_much() -> None:
    _, few = asked([*hangers(3), *chain(50)])
    _, many = asked([*hangers(30), *chain(50)])
    assert few.count(">= 0") > many.count(">= 0")
    assert len(many) < 400
