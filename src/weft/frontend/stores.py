"""Stores to elements and slices: `a[key] = value`, with NumPy's rules for what fits."""

from __future__ import annotations

import numpy as np

from weft.frontend.branches import split
from weft.frontend.context import Lowering
from weft.frontend.growing import elements
from weft.frontend.heap import resolved
from weft.frontend.keys import plain_key
from weft.frontend.mixed import is_mixed
from weft.ir.dtypes import NP_BOOL, DType
from weft.ir.exprs import Expr, const, const_index, op
from weft.ir.nodes import View
from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.arrays import as_data, from_nested
from weft.numpy_rules.elementwise import apply_ufunc, cast, guard_fits, narrowed, refuse_readonly, store
from weft.numpy_rules.flat import write_flat
from weft.numpy_rules.gathering import chosen_alike, read_selected, write_selected
from weft.numpy_rules.indexing import drop_axis
from weft.numpy_rules.powers import operator_ufunc
from weft.numpy_rules.selections import Basic, Selected, Selection, select
from weft.numpy_rules.values import Array, Flat, Growing, Masked, Never, Operand, Scalar, Tuple
from weft.support.errors import CompileError

ZERO, ONE = const_index(0), const_index(1)


def store_item(ctx: Lowering, owner: Operand, key: Operand, value: Operand) -> Operand:
    """`owner[key] = value`."""
    key, value = plain_key(ctx, key), resolved(ctx, value)
    if isinstance(owner, Never) or isinstance(value, Never):
        return Never()
    if isinstance(owner, Flat):
        return split(ctx, value, lambda item: write_flat(ctx.build, owner, key, item))
    if not isinstance(owner, Array):
        if isinstance(owner, Tuple) and not owner.is_list:
            return ctx.build.leave("a tuple does not support item assignment")
        raise ctx.build.error(
            "E140", "only elements of arrays and lists can be assigned in compiled code", "use an array or a list"
        )
    try:
        selected = select(ctx.build, owner, key)
    except PythonRaises as raised:
        return ctx.build.leave(raised.reason)
    return split(ctx, value, lambda item: store_selected(ctx, selected, item))


def store_selected(ctx: Lowering, selected: Selected, value: Operand) -> Operand:
    """`owner[key] = value` for what the key selects."""
    try:
        if isinstance(selected, Basic):
            return store_value(ctx, selected.array, value, scalar=selected.scalar)
        return _store_elements(ctx, selected, value)
    except PythonRaises as raised:
        return ctx.build.leave(raised.reason)


def _store_elements(ctx: Lowering, selected: Masked | Selection, value: Operand) -> Operand:
    """A store through arrays of positions or a mask."""
    dtype = selected.array.dtype
    match value:
        case Tuple():
            return _store_elements(ctx, selected, from_nested(ctx.build, value, dtype))
        case Growing() if _are_kept(value, dtype):
            return _store_elements(ctx, selected, elements(value))
        case Scalar():
            if not _guard_conversion(ctx, value, dtype):
                return Never()
            write_selected(ctx.build, selected, value)
        case Array():
            if value.dtype.kind == "c" and dtype.kind != "c":
                return ctx.build.leave("casting complex values to real")
            write_selected(ctx.build, selected, value)
        case _:
            raise _not_storable(ctx)
    return value


def store_value(ctx: Lowering, target: Array, value: Operand, *, scalar: bool) -> Operand:
    """`target[...] = value`; `scalar` where the target is a single element."""
    build = ctx.build
    refuse_readonly(build, target)
    match value:
        case Tuple():
            return store_value(ctx, target, from_nested(build, value, target.dtype), scalar=False)
        case Growing() if _are_kept(value, target.dtype):
            return store_value(ctx, target, elements(value), scalar=scalar)
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
            raise _not_storable(ctx)
    return value


def augment_selected(ctx: Lowering, name: str, selected: Masked | Selection, value: Operand) -> Operand:
    """`owner[key] op= value`: read all, compute, write all; so of repeated positions the last one counts."""
    build, array = ctx.build, selected.array
    if isinstance(value, Never):
        return value
    if name == "matmul":
        raise build.error("E137", "'@=' is not compiled for elements chosen by arrays", "write a[idx] = a[idx] @ b")
    try:
        source = chosen_alike(build, selected, value)
        if isinstance(selected, Masked) and (isinstance(value, Scalar) or source is not None):
            called, operands = operator_ufunc(name, array, value if source is None else source.array)
            return apply_ufunc(build, called, operands, out=selected, operator=True)
        old = read_selected(build, selected)
        called, operands = operator_ufunc(name, old, as_data(build, value))
        result = apply_ufunc(build, called, operands, operator=True)
        if isinstance(result, Never):
            return result
        assert isinstance(old, Array)
        if not isinstance(result, Array) or result.rank > old.rank:
            return build.leave("non-broadcastable output operand")
        if not np.can_cast(result.dtype.numpy, array.dtype.numpy, "same_kind"):
            return build.leave("the result cannot be cast to the elements")
        write_selected(build, selected, result, called)
    except PythonRaises as raised:
        return build.leave(raised.reason)
    return value


def _are_kept(held: Growing, dtype: DType) -> bool:
    """Whether a list holds numbers that elements of a type can hold: others NumPy converts one by one, or refuses."""
    return held.form == "number" and not is_mixed(held) and np.can_cast(held.buffer.dtype.numpy, dtype.numpy, "safe")


def _not_storable(ctx: Lowering) -> CompileError:
    return ctx.build.error(
        "E141", "this value cannot be stored in an array in compiled code", "store numbers or arrays"
    )


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
    if not value.type.python and value.type.dtype.kind in "iu" and target.kind == "i":
        _guard_whole(ctx, value.expr, target)
    return True


def _guard_whole(ctx: Lowering, expr: Expr, target: DType) -> None:
    """NumPy's integers must fit signed types, as Python's must; in unsigned ones they wrap."""
    low, high = expr.type.dtype.bounds
    least, most = target.bounds
    if low < least:
        floor = op("greater_equal", (expr, const(least, expr.type)), NP_BOOL)
        ctx.build.guard(floor, "integer out of bounds for the array's type")
    if high > most:
        ceiling = op("less_equal", (expr, const(most, expr.type)), NP_BOOL)
        ctx.build.guard(ceiling, "integer out of bounds for the array's type")


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
