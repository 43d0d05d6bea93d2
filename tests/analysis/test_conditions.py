"""Conditions as clauses, what follows from them, and facts of which one of several holds."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from weft.analysis.conditions import (
    Clause,
    Constraint,
    clause_implies,
    clauses_of,
    condition_of,
    implies,
    is_refuted,
    least_in_box,
    simplest,
)
from weft.analysis.dependences import Legality
from weft.analysis.facts import Facts
from weft.analysis.integer_sets import Solver
from weft.analysis.memory import Memory
from weft.interp.scalars import compile_expr
from weft.ir.dtypes import NP_BOOL, PY_INT
from weft.ir.exprs import Expr, Value, const, const_index, index, op
from weft.ir.nodes import Continue, Guard, Loop, Program, Region

N, M, K = (Value(number, name, PY_INT, 0, 9) for number, name in enumerate("nmk", 1))
I = Value(4, "i", PY_INT, None, None, const_index(0), index(N) - 1)  # noqa: E741  (the loop variable)


def compare(name: str, left: Any, right: Any) -> Expr:
    return op(name, (index(left), index(right)), NP_BOOL)


def either(*parts: Expr) -> Expr:
    result, *rest = parts
    for part in rest:
        result = op("logical_or", (result, part), NP_BOOL)
    return result


def both(left: Expr, right: Expr) -> Expr:
    return op("logical_and", (left, right), NP_BOOL)


def negated(part: Expr) -> Expr:
    return op("logical_not", (part,), NP_BOOL)


CONDITIONS = [
    compare("less", N, M),
    compare("equal", N, M),
    compare("not_equal", N, M),
    negated(compare("greater_equal", N, index(M) + 2)),
    both(compare("less", N, M), compare("equal", K, 3)),
    either(both(compare("less", N, M), compare("less", M, K)), compare("equal", K, N)),
    negated(either(compare("less", N, M), negated(compare("greater", M, K)))),
    either(compare("less", 3, 2), compare("greater", N, 4)),
    const(True, NP_BOOL),
    const(False, NP_BOOL),
    either(*(both(compare("less", N, number), compare("less", M, number)) for number in range(1, 7))),
]


def holds(expr: Expr, env: dict[int, Any]) -> bool:
    return bool(compile_expr(expr)(env))


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_clauses_say_what_the_condition_says(condition: Expr, truth: bool) -> None:
    clauses = clauses_of(condition, truth=truth)
    for n, m, k in product(range(0, 10, 3), range(0, 10, 2), (0, 3, 7)):
        env = {N.id: n, M.id: m, K.id: k}
        assert holds(condition, env) is (truth is all(holds(condition_of(clause), env) for clause in clauses))


def at_least(value: Value, number: int) -> Constraint:
    return Constraint(index(value) - number)


IMPLIED: list[tuple[Clause, Clause, bool]] = [
    ((at_least(N, 2),), (at_least(N, 1),), True),
    ((at_least(N, 1),), (at_least(N, 2),), False),
    ((Constraint(index(N) - M, equal=True),), (Constraint(index(M) - N),), True),
    ((Constraint(index(N) - M, equal=True),), (Constraint(index(M) - N, equal=True),), True),
    ((Constraint(index(M) - N),), (Constraint(index(M) - N, equal=True),), False),
    ((at_least(N, 5), at_least(M, 3)), (at_least(M, 1), at_least(N, 4)), True),
    ((at_least(N, 5), at_least(M, 3)), (at_least(N, 4),), False),
    ((), (at_least(N, 4),), True),
]


@pytest.mark.parametrize(("first", "second", "expected"), IMPLIED)
def test_what_follows(first: Clause, second: Clause, expected: bool) -> None:
    assert clause_implies(first, second) is expected


def test_the_simplest_clause() -> None:
    assert simplest((at_least(N, 2), at_least(N, 1), at_least(M, 3))) == (at_least(N, 1), at_least(M, 3))
    assert not implies(at_least(N, 1), compare("less", N, M))


def test_refuted_by_bounds_and_a_fact() -> None:
    assert is_refuted(at_least(N, 10))
    assert not is_refuted(at_least(N, 3))
    assert is_refuted(at_least(N, 3), Constraint(2 - index(N)))
    assert is_refuted(Constraint(index(N) - 4, equal=True), Constraint(index(N) - 5))


def test_one_of_several_holds_once_the_others_cannot() -> None:
    loop = Loop(var=I, start=const_index(0), stop=index(N), step=const_index(1), carries=(), body=Region((Continue(),)))
    facts = Facts().after(Guard(either(compare("less_equal", N, 0), compare("equal", M, K)), 0, ""))
    assert facts.constraints == ()
    (inside,) = facts.inside(loop, Memory({}))
    assert Constraint(index(M) - K, equal=True) in inside.constraints
    assert inside.alternatives == ()


def test_alternatives_settle_in_turn() -> None:
    facts = Facts().given(either(compare("less", N, 2), compare("greater_equal", M, 5)))
    facts = facts.given(either(compare("less", M, 5), compare("equal", K, 1)))
    assert len(facts.alternatives) == 2
    assert Constraint(index(K) - 1, equal=True) in facts.given(compare("greater", N, 3)).constraints


def test_what_is_no_comparison_is_not_known() -> None:
    unknown = op("isfinite", (index(N),), NP_BOOL)
    assert Facts().given(either(compare("less", N, 2), unknown)) == Facts()


def test_a_proof_of_alternatives() -> None:
    program = Program("p", (), (), (), {}, Region(()))
    legality = Legality(program, Solver())
    facts = Facts().given(either(compare("less", N, 2), compare("greater_equal", M, 5)))
    assert legality.proves(either(compare("greater_equal", M, 4), compare("less", N, 3)), facts)
    assert not legality.proves(compare("greater_equal", M, 4), facts)
    assert not legality.proves(either(compare("greater_equal", M, 6), compare("less", N, 3)), facts)
    assert legality.proves(const(True, NP_BOOL), facts)


def test_the_least_value_in_a_box() -> None:
    difference = index(N) - index(M) * 2 + 1
    assert least_in_box(difference, ()) == -17
    facts = (at_least(N, 3), Constraint(7 - index(M) * 3), Constraint(index(M) * -2 + 5))
    assert least_in_box(difference, facts) == 3 - 2 * 2 + 1
    assert least_in_box(index(N), (Constraint(index(N) * -2 + 8, equal=True),)) == 4
    assert least_in_box(index(N), (Constraint(index(N) * 2 - 8, equal=True),)) == 4
    assert least_in_box(-index(N), (Constraint(index(N) * 2 - 8, equal=True),)) == -4
    assert least_in_box(difference, (Constraint(index(N) - M),)) is None
    assert least_in_box(index(I), ()) is None
    assert least_in_box(index(N) * M, ()) is None
