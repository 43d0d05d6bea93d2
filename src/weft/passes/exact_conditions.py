"""Conditions that passes make of others, computed in 64 bits: whether no sum in them wraps around.

in:   clauses of conditions (`weft.analysis.conditions`), the facts where they will be computed
out:  whether their expressions are exact there

What a program compares is guarded to fit. What follows from it need not: `i <= k` for all i below n is no question
of `k + 1`, which there is not in int64 for the largest k.
"""

from __future__ import annotations

from weft.analysis.conditions import Clause, Constraint, condition_of, sides_of
from weft.analysis.facts import Facts
from weft.analysis.ranges import INT64_MAX, INT64_MIN, fits_int64
from weft.ir.exprs import Index
from weft.passes.base import Bench


def stays_in_int64(polynomial: Index, facts: Facts, bench: Bench, *, apart: int = 0) -> bool:
    """Whether a polynomial stays in int64 under the facts, and so far `apart` from its ends."""
    if not apart and fits_int64(polynomial):
        return True
    form = polynomial.substitute(facts.definitions)
    ends = (form - (INT64_MIN + apart), (INT64_MAX - apart) - form)
    return all(bench.legality.is_nonnegative(end, facts) for end in ends)


def is_exact(clause: Clause, facts: Facts, bench: Bench) -> bool:
    """Whether a clause that does not hold is computed as such: each alternative, as all others do not hold then."""
    for atom in clause:
        if not isinstance(atom, Constraint) or all(map(fits_int64, sides_of(atom))):
            continue
        known = facts
        for other in clause:
            if other is not atom:
                known = known.given(condition_of((other,)), truth=False)
        if not all(stays_in_int64(side, known, bench) for side in sides_of(atom)):
            return False
    return True
