"""What is known about the value of an index polynomial.

in:   an Index whose values carry bounds (numbers, or polynomials for loop variables)
out:  an interval, or a proof that it is never negative

A proof replaces a loop variable by the end of its range that makes the polynomial smallest, from the innermost loop
outwards, until only numbers are left: for `i < n`, `j <= i - 1` it shows `n - j - 1 >= 0`. "False" means "not proved".
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from weft.ir.exprs import Index, Monomial, Value

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
_MAX_STEPS = 16
_KEPT = 8192  # answers about polynomials, which are one object each: every pass asks the same ones again


def value_bounds(value: Value) -> tuple[int, int]:
    """Inclusive numeric bounds of a value."""
    low, high = value.type.dtype.bounds if value.type.dtype.kind in "biu" else (INT64_MIN, INT64_MAX)
    low = low if value.low is None else value.low
    high = high if value.high is None else value.high
    if value.floor is not None:
        low = max(low, index_bounds(value.floor)[0])
    if value.ceiling is not None:
        high = min(high, index_bounds(value.ceiling)[1])
    return low, high


@lru_cache(_KEPT)
def index_bounds(index: Index) -> tuple[int, int]:
    """Inclusive bounds by interval arithmetic; exact integers, so they may lie outside int64."""
    return _bounds(index.terms)


def _bounds(terms: Iterable[tuple[Monomial, int]]) -> tuple[int, int]:
    low = high = 0
    for monomial, coefficient in terms:
        term = (coefficient, coefficient)
        for value in monomial:
            a, b = value_bounds(value)
            products = (term[0] * a, term[0] * b, term[1] * a, term[1] * b)
            term = (min(products), max(products))
        low, high = low + term[0], high + term[1]
    return low, high


def fits_int64(index: Index) -> bool:
    """Whether the polynomial provably stays within int64."""
    low, high = index_bounds(index)
    return low >= INT64_MIN and high <= INT64_MAX


@lru_cache(_KEPT)
def is_nonnegative(index: Index) -> bool:
    """Whether the polynomial is provably >= 0."""
    current = index
    for _ in range(_MAX_STEPS):
        if index_bounds(current)[0] >= 0:
            return True
        lowered = _lower_once(current)
        if lowered is None:
            return False
        current = lowered
    return False


@lru_cache(4 * _KEPT)
def is_no_less(index: Index, other: Index) -> bool:
    """Whether one polynomial is provably never less than another."""
    if _has_ranges(index) or _has_ranges(other):
        return is_nonnegative(index - other)
    # The bounds of its values are all there is to know: the difference itself need not be made.
    if index.values.isdisjoint(other.values):
        return index_bounds(index)[0] >= index_bounds(other)[1]
    rest = dict(index.terms)
    for monomial, coefficient in other.terms:
        rest[monomial] = rest.get(monomial, 0) - coefficient
    return _bounds(rest.items())[0] >= 0


@lru_cache(_KEPT)
def _has_ranges(index: Index) -> bool:
    return any(value.floor is not None or value.ceiling is not None for value in index.values)


def is_positive(index: Index) -> bool:
    """Whether the polynomial is provably > 0."""
    return is_nonnegative(index - 1)


def _lower_once(index: Index) -> Index | None:
    """A polynomial that is never larger, with the innermost bounded value gone."""
    for value in sorted(index.values, key=lambda v: -v.id):
        coefficient = _linear_coefficient(index, value)
        if coefficient is None:
            continue
        bound = value.floor if coefficient > 0 else value.ceiling
        if bound is not None:
            return index + (bound - value) * coefficient
    return None


def _linear_coefficient(index: Index, value: Value) -> int | None:
    """The coefficient of a value that occurs in one monomial, alone; None otherwise."""
    found: int | None = None
    for monomial, coefficient in index.terms:
        if value in monomial:
            if monomial != (value,) or found is not None:
                return None
            found = coefficient
    return found
