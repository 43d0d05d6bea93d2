"""Stores to elements and slices: `a[key] = value`, with NumPy's rules for what fits."""

from __future__ import annotations

from weft.frontend.branches import split
from weft.frontend.context import Lowering
from weft.ir.dtypes import NP_BOOL, DType
from weft.ir.exprs import Expr, const, const_index, op
from weft.ir.nodes import View
from weft.numpy_rules.arrays import from_nested
from weft.numpy_rules.elementwise import cast, guard_fits, narrowed, refuse_readonly, store
from weft.numpy_rules.indexing import drop_axis, index_view
from weft.numpy_rules.values import Array, Never, Operand, Scalar, Tuple

ZERO, ONE = const_index(0), const_index(1)


def store_item(ctx: Lowering, owner: Operand, key: Operand, value: Operand) -> Operand:
    """`owner[key] = value`."""
    if isinstance(owner, Never) or isinstance(value, Never):
        return Never()
    if not isinstance(owner, Array):
        raise ctx.build.error("E140", "only elements of arrays can be assigned in compiled code")
    view, scalar = index_view(ctx.build, owner, key)
    return split(ctx, value, lambda item: store_value(ctx, owner.viewed(view), item, scalar=scalar))


def store_value(ctx: Lowering, target: Array, value: Operand, *, scalar: bool) -> Operand:
    """`target[...] = value`; `scalar` where the target is a single element."""
    build = ctx.build
    refuse_readonly(build, target)
    match value:
        case Tuple():
            return store_value(ctx, target, from_nested(build, value, None), scalar=False)
        case Scalar():
            if not _guard_conversion(ctx, value, target.dtype):
                return Never()
            if scalar or target.rank == 0:
                build.write(target.view.at(()), cast(narrowed(build, value.expr, target.dtype), target.dtype))
            else:
                store(build, target, value)
        case Array() if scalar and value.rank > 0:
            return build.leave("setting an array element with a sequence")
        case Array():
            if value.dtype.kind == "c" and target.dtype.kind != "c":
                return build.leave("casting complex values to real")
            store(build, target, Array(_fitting(ctx, value.view, target.rank), value.dtype))
        case _:
            raise build.error(
                "E141", "this value cannot be stored in an array in compiled code", "store numbers or arrays"
            )
    return value


def _fitting(ctx: Lowering, view: View, rank: int) -> View:
    """Leading axes of length 1 beyond the target's rank do not matter."""
    while view.rank > rank:
        ctx.build.guard_equal(view.shape[0], ONE, "shapes do not match")
        view = drop_axis(view, 0, ZERO)
    return view


def _guard_conversion(ctx: Lowering, value: Scalar, target: DType) -> bool:
    """What NumPy refuses to store, or warns about, is left to it."""
    if not guard_fits(ctx.build, value, target):
        return False
    if value.type.dtype.kind == "c" and target.kind != "c":
        ctx.build.leave("casting complex values to real")
        return False
    if value.type.dtype.kind == "f" and target.kind in "iu":
        _guard_range(ctx, value.expr, target)
    return True


def _guard_range(ctx: Lowering, expr: Expr, target: DType) -> None:
    """A float stored into integers must be a number in their range."""
    low, high = target.bounds
    named = ctx.build.let(expr)
    below = op("greater", (named, const(float(low) - 1.0, named.type)), NP_BOOL)
    if target.itemsize == 8:
        below = op("greater_equal", (named, const(float(low), named.type)), NP_BOOL)
    above = op("less", (named, const(float(high + 1), named.type)), NP_BOOL)
    ctx.build.guard(below, "float out of range for the integer type")
    ctx.build.guard(above, "float out of range for the integer type")
