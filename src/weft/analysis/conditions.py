"""Conditions as clauses: each a few alternatives of which one must hold, comparisons of polynomials as far as possible.

in:   a condition of a guard or a branch
out:  `Constraint`s it implies; its `Clause`s, all of which must hold; what follows from what; an expression again

    and(or(n <= 0, m >= n), k >= 2)   has the clauses   (-n >= 0 or m - n >= 0), (k - 2 >= 0)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias

from weft.analysis.ranges import fits_int64, is_no_less, is_nonnegative, value_bounds
from weft.ir.dtypes import NP_BOOL, DType
from weft.ir.exprs import Const, Expr, Index, Op, Value, const, const_index, index, op, polynomial_of
from weft.support.records import record

_MOST_CLAUSES = 16
_KEPT = 8192  # answers, which every pass asks for again
OVERFLOWS = ("add_overflows", "subtract_overflows", "multiply_overflows")
FALSE = const(False, NP_BOOL)


@record
class Constraint:
    """`index >= 0`, or `index == 0` if `equal`."""

    index: Index
    equal: bool = False


Atom: TypeAlias = Constraint | Expr  # an expression where it is no comparison of polynomials
Clause: TypeAlias = tuple[Atom, ...]  # one of them holds; none: the condition is false


def as_index(expr: Expr) -> Index | None:
    """The polynomial an expression is; None if it is none."""
    if isinstance(expr, Index):
        return expr
    if isinstance(expr, Value) and expr.type.dtype.kind in "iu":
        return index(expr)
    if isinstance(expr, Const) and isinstance(expr.value, int) and not isinstance(expr.value, bool):
        return const_index(expr.value)
    return None


_NEGATED = {
    "less": "greater_equal",
    "less_equal": "greater",
    "greater": "less_equal",
    "greater_equal": "less",
    "equal": "not_equal",
    "not_equal": "equal",
}


def clauses_of(condition: Expr, *, truth: bool = True) -> list[Clause]:
    """The clauses of a condition, or of its negation."""
    if isinstance(condition, Const):
        return [] if bool(condition.value) is truth else [()]
    if not isinstance(condition, Op):
        return [(_plain(condition, truth),)]
    name, args = condition.name, condition.args
    if name == "logical_not":
        return clauses_of(args[0], truth=not truth)
    if name == "cast" and args[0].type.dtype is DType.BOOL and condition.type.dtype is DType.BOOL:
        return clauses_of(args[0], truth=truth)
    if name == ("logical_and" if truth else "logical_or"):
        return [clause for part in args for clause in clauses_of(part, truth=truth)]
    if name in ("logical_and", "logical_or"):
        left, right = (clauses_of(part, truth=truth) for part in args)
        if len(left) * len(right) > _MOST_CLAUSES:
            return [(_plain(condition, truth),)]
        return [(*a, *(atom for atom in b if atom not in a)) for a in left for b in right]
    return _comparison(condition, truth)


def _plain(condition: Expr, truth: bool) -> Expr:
    return condition if truth else op("logical_not", (condition,), condition.type)


def _comparison(condition: Op, truth: bool) -> list[Clause]:
    name = condition.name if truth else _NEGATED.get(condition.name, "")
    if name not in _NEGATED:
        return [(_plain(condition, truth),)]
    left, right = as_index(condition.args[0]), as_index(condition.args[1])
    if left is None or right is None:
        return [(_plain(condition, truth),)]
    match name:
        case "less":
            alternatives = [Constraint(right - left - 1)]
        case "less_equal":
            alternatives = [Constraint(right - left)]
        case "greater":
            alternatives = [Constraint(left - right - 1)]
        case "greater_equal":
            alternatives = [Constraint(left - right)]
        case "equal":
            alternatives = [Constraint(left - right, equal=True)]
        case _:
            alternatives = [Constraint(left - right - 1), Constraint(right - left - 1)]
    if any(_is_certain(atom) for atom in alternatives):
        return []
    return [tuple(atom for atom in alternatives if atom.index.constant is None)]


def _is_certain(atom: Constraint) -> bool:
    number = atom.index.constant
    return number is not None and (number == 0 if atom.equal else number >= 0)


def constraints_of(condition: Expr, truth: bool = True) -> Iterator[Constraint]:
    """The constraints a condition implies."""
    for clause in clauses_of(condition, truth=truth):
        match clause:
            case (Constraint() as atom,):
                yield atom
            case ():
                yield Constraint(const_index(-1))
            case _:
                pass


# ---- what follows from what -----------------------------------------------------------------------------------------


def implies(first: Atom, second: Atom) -> bool:
    """Whether one alternative follows from another, by the bounds of the values alone."""
    if first == second:
        return True
    if not isinstance(first, Constraint) or not isinstance(second, Constraint) or _is_apart(first, second):
        return False
    if second.equal:
        return first.equal and first.index is -second.index
    if is_nonnegative(second.index - first.index):
        return True
    return first.equal and is_nonnegative(second.index + first.index)


def clause_implies(first: Clause, second: Clause) -> bool:
    """Whether one clause follows from another: each of its alternatives implies one of the other's."""
    return all(any(implies(a, b) for b in second) for a in first)


@lru_cache(_KEPT)
def is_refuted(atom: Atom, fact: Constraint | None = None) -> bool:
    """Whether an alternative cannot hold, by bounds and at most one fact."""
    if not isinstance(atom, Constraint) or (fact is not None and _is_apart(atom, fact)):
        return False
    if not atom.equal:
        return follows(-atom.index - 1, fact)
    return follows(-atom.index - 1, fact) or follows(atom.index - 1, fact)


def _is_apart(first: Constraint, second: Constraint) -> bool:
    """Whether they speak of different values, so that neither says anything about the other."""
    return first.index.values.isdisjoint(second.index.values)


def follows(polynomial: Index, fact: Constraint | None) -> bool:
    """Whether a polynomial is never negative, by bounds and at most one fact."""
    if fact is None:
        return is_nonnegative(polynomial)
    if is_no_less(polynomial, fact.index):
        return True
    return fact.equal and is_nonnegative(polynomial + fact.index)


def least_in_box(polynomial: Index, facts: Iterable[Constraint]) -> int | None:
    """The least a linear polynomial can be where each value is bounded for itself; None where that is not so.

    `facts` are those that speak of its values.
    """
    if any(len(monomial) > 1 for monomial, _ in polynomial.terms):
        return None
    if any(value.floor is not None or value.ceiling is not None for value in polynomial.values):
        return None
    bounds = {value: value_bounds(value) for value in polynomial.values}
    for fact in facts:
        match fact.index.terms:
            case (((Value() as value,), factor),):
                shift = 0
            case (((), shift), ((Value() as value,), factor)):
                pass
            case _:
                return None
        low, high = bounds[value]
        if factor > 0 or fact.equal:
            low = max(low, -(shift // factor))  # factor * value >= -shift
        if factor < 0 or fact.equal:
            high = min(high, -shift // factor)
        bounds[value] = (low, high)
    total = 0
    for monomial, factor in polynomial.terms:
        total += factor * (bounds[monomial[0]][0 if factor > 0 else 1] if monomial else 1)
    return total


def simplest(clause: Iterable[Atom]) -> Clause:
    """A clause without the alternatives that imply another one."""
    kept: list[Atom] = []
    for atom in clause:
        if any(implies(atom, other) for other in kept):
            continue
        kept = [other for other in kept if not implies(other, atom)]
        kept.append(atom)
    return tuple(kept)


def fits_between(atom: Atom, var: Value) -> bool:
    """Whether an alternative says that a number linear in a variable fits into 64 bits.

    Then it holds between two values of the variable for which it holds.
    """
    match atom:
        case Op(name="logical_not", args=(Op(name=name, args=(left, right)),)) if name in OVERFLOWS:
            a, b = as_index(left), as_index(right)
            if a is None or b is None:
                return False
            result = {"add_overflows": a + b, "subtract_overflows": a - b}.get(name, a * b)
            return all(monomial.count(var) <= 1 for one in (a, b, result) for monomial, _ in one.terms)
        case _:
            return False


# ---- back to expressions --------------------------------------------------------------------------------------------


def condition_of(clause: Clause) -> Expr:
    """The clause as an expression."""
    if not clause:
        return FALSE
    result, *others = (_expression(atom) for atom in clause)
    for other in others:
        result = op("logical_or", (result, other), NP_BOOL)
    return result


def _expression(atom: Atom) -> Expr:
    if not isinstance(atom, Constraint):
        return atom
    return op("equal" if atom.equal else "greater_equal", sides_of(atom), NP_BOOL)


def sides_of(atom: Constraint) -> tuple[Index, Index]:
    """The polynomials to compare. A value of which nothing is known is alone, where a sum with it may leave int64."""
    terms = atom.index.terms
    left = polynomial_of((monomial, factor) for monomial, factor in terms if factor > 0)
    right = polynomial_of((monomial, -factor) for monomial, factor in terms if factor < 0)
    if fits_int64(left) and fits_int64(right):
        return left, right
    for monomial, factor in terms:
        rest = atom.index - polynomial_of([(monomial, factor)])
        if len(monomial) == 1 and abs(factor) == 1 and fits_int64(rest) and fits_int64(-rest):
            return (index(monomial[0]), -rest) if factor > 0 else (rest, index(monomial[0]))
    return left, right
