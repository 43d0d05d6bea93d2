"""Methods of lists of numbers that look at all items: sort, remove, index, count.

in:   what is in a list, and the arguments
out:  its new contents, and the value of the expression

A NaN may be in a list as the very object that is looked for, which Python then finds: that is left to it.
"""

from __future__ import annotations

from weft.frontend.attributes import call_rule
from weft.frontend.branches import split
from weft.frontend.context import Lowering
from weft.frontend.growing import elements, in_buffer, without
from weft.frontend.heap import contents
from weft.frontend.known import constant_of
from weft.frontend.mixed import is_mixed
from weft.ir.dtypes import NP_BOOL, PY_INT
from weft.ir.exprs import Expr, Index, const_index, op
from weft.numpy_rules.elementwise import apply_ufunc
from weft.numpy_rules.registry import rule_named
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.sorting import places_in_order
from weft.numpy_rules.values import Array, Growing, Operand, Scalar, Static, Tuple

_NONE = Static(None)


def sort_numbers(ctx: Lowering, old: Operand, args: list[Operand]) -> tuple[Operand, Operand]:
    """`list.sort()`, perhaps with `reverse`."""
    entry = rule_named("builtins.sorted")
    assert entry is not None
    if isinstance(old, Tuple) and len(old.items) < 2:
        return old, _NONE
    return entry.lower(ctx.build, old, **({"reverse": args[0]} if args else {})), _NONE


def order_of(ctx: Lowering, args: list[Operand]) -> Operand:
    """The places of keys that are numbers of one type, in their order."""
    keys, reverse = args
    held = contents(ctx, keys)
    if isinstance(held, Tuple) and held.items:
        held = _numbers(ctx, held, held.items[0])
    if not isinstance(held, Growing) or held.form != "number" or is_mixed(held):
        raise ctx.build.error("E148", "keys are compiled that are numbers of one type", "use an array, and np.argsort")
    return places_in_order(ctx.build, elements(held), backwards=bool(constant_of(ctx, reverse)[1]))


def remove_number(ctx: Lowering, old: Operand, args: list[Operand]) -> tuple[Operand, Operand]:
    """`list.remove(x)`: the first item that is equal."""
    held = _numbers(ctx, old, args[0])
    return without(ctx, held, _place(ctx, held, args[0])), _NONE


def place_of(ctx: Lowering, owner: Operand, value: Operand) -> Operand:
    """`list.index(x)`."""
    if isinstance(owner, Tuple) and owner.items and all(isinstance(item, Scalar) for item in owner.items):
        return split(ctx, value, lambda one: _place_among(ctx, owner.items, one))
    return Scalar(_place(ctx, _numbers(ctx, owner, value), value))


def _place_among(ctx: Lowering, items: tuple[Operand, ...], value: Operand) -> Operand:
    """Where the first of a few numbers, of any types, stands that is equal."""
    from weft.frontend.expressions import binary, condition

    if not isinstance(value, Scalar):
        raise ctx.build.error("E148", "this method is compiled for numbers only", "use an array")
    build, count = ctx.build, len(items)
    build.guard(op("equal", (value.expr, value.expr), NP_BOOL), "a NaN is looked for in a list")
    place: Expr = const_index(count)
    for number in reversed(range(count)):
        is_equal = condition(ctx, binary(ctx, "equal", items[number], value))
        place = op("select", (is_equal, const_index(number), place), PY_INT)
    found = build.let_index(place, "i", low=0, high=count)
    build.guard_nonnegative(count - 1 - found, "x is not in list")
    return Scalar(found)


def times_in(ctx: Lowering, owner: Operand, value: Operand) -> Operand:
    """`list.count(x)`."""
    count = as_index(ctx.build, call_rule(ctx, "numpy.count_nonzero", _equal(ctx, _numbers(ctx, owner, value), value)))
    assert count is not None
    return Scalar(count)


def _numbers(ctx: Lowering, owner: Operand, value: Operand) -> Growing:
    """A list in a buffer, of numbers of the type of another."""
    held = owner
    if isinstance(owner, Tuple) and owner.items and _are_of_type_of(owner.items, value):
        held = in_buffer(ctx, owner, value)
    if isinstance(held, Growing) and held.form == "number" and isinstance(value, Scalar) and value.type == held.type:
        return held
    raise ctx.build.error("E148", "this method is compiled for numbers of one type only", "use an array")


def _are_of_type_of(items: tuple[Operand, ...], value: Operand) -> bool:
    return isinstance(value, Scalar) and all(isinstance(item, Scalar) and item.type == value.type for item in items)


def _equal(ctx: Lowering, held: Growing, value: Operand) -> Array:
    assert isinstance(value, Scalar)
    ctx.build.guard(op("equal", (value.expr, value.expr), NP_BOOL), "a NaN is looked for in a list")
    equal = apply_ufunc(ctx.build, "equal", (elements(held), value))
    assert isinstance(equal, Array)
    return equal


def _place(ctx: Lowering, held: Growing, value: Operand) -> Index:
    """Where the first item stands that is equal."""
    build = ctx.build
    build.guard_nonnegative(held.count - 1, "x is not in list")
    equal = _equal(ctx, held, value)
    position = as_index(build, call_rule(ctx, "numpy.argmax", equal))
    assert position is not None
    build.guard(build.read(equal.view, (position,), equal.dtype), "x is not in list")
    return position
