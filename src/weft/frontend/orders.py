"""Tuples and lists of known length compared, item by item, as Python does it.

before:  (a, b) < (c, d)
after:   b < d if a == c else a < c
"""

from __future__ import annotations

from weft.frontend.branches import choose
from weft.frontend.context import Lowering
from weft.frontend.expressions import as_python_bool, binary, condition, inverted, plain_bool
from weft.frontend.mixed import kinds_of
from weft.ir.dtypes import NP_BOOL, PY_BOOL
from weft.ir.exprs import Const, const, op
from weft.numpy_rules.values import Operand, Scalar, Tuple

_OF_LENGTHS = {"less": int.__lt__, "less_equal": int.__le__, "greater": int.__gt__, "greater_equal": int.__ge__}


def compare_sequences(ctx: Lowering, name: str, left: Tuple, right: Tuple) -> Operand | None:
    """A comparison of two tuples or two lists; None where it is not compiled."""
    if name in ("equal", "not_equal"):
        return _equal(ctx, name, left, right)
    if left.is_list != right.is_list or not all(map(kinds_of, (*left.items, *right.items))):
        return None

    def rest(place: int) -> Operand:
        """The comparison from a place on, all items before being equal."""
        if place == min(len(left.items), len(right.items)):
            return Scalar(const(_OF_LENGTHS[name](len(left.items), len(right.items)), PY_BOOL))
        one, other = left.items[place], right.items[place]
        if one == other:  # the same object
            return rest(place + 1)
        _guard_told_apart(ctx, one, other)
        same = condition(ctx, binary(ctx, "equal", one, other))
        return choose(ctx, same, lambda: rest(place + 1), lambda: binary(ctx, name, one, other))

    return rest(0)


def _guard_told_apart(ctx: Lowering, one: Operand, other: Operand) -> None:
    """Python takes what is the same object for equal, which only a NaN is not: of two, Python knows."""
    if not _may_be_nan(one) or not _may_be_nan(other):
        return
    tests = [condition(ctx, binary(ctx, "equal", item, item)) for item in (one, other)]
    ctx.build.guard(op("logical_or", tuple(map(plain_bool, tests)), NP_BOOL), "NaNs that may be the same object")


def _may_be_nan(item: Operand) -> bool:
    return any(kind is not None and kind.dtype.kind in "fc" for kind in kinds_of(item))


def _equal(ctx: Lowering, name: str, left: Tuple, right: Tuple) -> Operand:
    """`==` and `!=`."""
    same: Operand = Scalar(const(len(left.items) == len(right.items) and left.is_list == right.is_list, PY_BOOL))
    for one, other in zip(left.items, right.items, strict=False):
        if one == other:
            continue
        test = condition(ctx, binary(ctx, "equal", one, other))
        if isinstance(test, Const):
            if test.value:
                continue
            same = Scalar(const(False, PY_BOOL))
            break  # Python looks no further either
        before = condition(ctx, same)
        same = Scalar(as_python_bool(op("logical_and", (plain_bool(before), plain_bool(test)), NP_BOOL)))
    return same if name == "equal" else inverted(ctx, same)
