"""Guards that hold in all turns of loops whatever the data, because they hold where they are worst.

in:   guards that stand under conditions on data, `if a[i] > 0: y[i] = ...` with `i < len(y)`, and the loops around
out:  a condition in front of the loops, `len(a) <= len(y)`, under which no turn needs to be looked at
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.conditions import Constraint, clauses_of, condition_of
from weft.analysis.facts import Facts
from weft.ir.dtypes import NP_BOOL
from weft.ir.exprs import Expr, Index, Value, op
from weft.ir.nodes import Loop
from weft.passes.base import Bench
from weft.passes.exact_conditions import is_exact
from weft.support.records import record


@record
class Front:
    """The place in front of loops: what is known there, and the values of the loops, which are not."""

    facts: Facts
    own: frozenset[Value]
    bench: Bench


def holds_everywhere(guards: Sequence[Expr], loops: Sequence[Loop], front: Front) -> Expr | None:
    """What lets guards hold in all turns; None where they are no question of the ends of ranges."""
    result: Expr | None = None
    for clause in (clause for guard in guards for clause in clauses_of(guard)):
        if len(clause) != 1 or not isinstance(clause[0], Constraint) or clause[0].equal:
            return None
        worst: Index | None = clause[0].index
        for loop in loops:
            worst = None if worst is None else _at_worst(worst, loop)
        if worst is None or worst.values & front.own or not is_exact((Constraint(worst),), front.facts, front.bench):
            return None
        condition = condition_of((Constraint(worst),))
        result = condition if result is None else op("logical_and", (result, condition), NP_BOOL)
    return result


def _at_worst(form: Index, loop: Loop) -> Index | None:
    """A polynomial at the end of a range where it is smallest; None where that is not known."""
    found = [(monomial, factor) for monomial, factor in form.terms if loop.var in monomial]
    if not found:
        return form
    if len(found) > 1 or found[0][0] != (loop.var,):
        return None
    if not loop.step.constant:
        return None
    upwards = loop.step.constant > 0
    lower, upper = (loop.start, loop.stop - 1) if upwards else (loop.stop + 1, loop.start)
    return form.substitute({loop.var: lower if found[0][1] > 0 else upper})
