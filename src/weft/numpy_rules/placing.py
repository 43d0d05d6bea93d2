"""Writing by position: put, putmask, place, put_along_axis, fill_diagonal, and `at` of ufuncs.

in:   an array to write to; positions, masks and values known at run time
out:  None; the array is changed

    np.add.at(a, idx, v)  ->  for k in range(len(idx)): a[idx[k]] = a[idx[k]] + v[k]
"""

from __future__ import annotations

import numpy as np

from weft.ir.dtypes import PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Index, Value, const_index, index, op
from weft.ir.nodes import Let, Map, Tasklet
from weft.ir.ops import OPS
from weft.numpy_rules.arguments import Given, PythonRaises, static_value
from weft.numpy_rules.arrays import (
    as_array,
    as_data,
    data_dtype,
    empty_array,
    from_nested,
    guard_assignable,
    map_array,
    number,
    numpy_scalar,
    steady,
)
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.diagonals import diagonal_view
from weft.numpy_rules.elementwise import (
    apply_ufunc,
    cast,
    coordinates,
    may_warn,
    operation,
    resolve,
    store,
    store_where,
)
from weft.numpy_rules.gathering import may_share, scatter, write_selected
from weft.numpy_rules.indexing import drop_axis
from weft.numpy_rules.masks import count_true, mask_of
from weft.numpy_rules.picking import along_axis, fitted_positions
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.reshaping import flat_array, is_contiguous, product, reshape_view
from weft.numpy_rules.selections import Basic, Pick, Selection, as_selection, positions_from, select
from weft.numpy_rules.ufuncs import ufunc_name
from weft.numpy_rules.values import Array, Masked, Operand, Scalar, Static, Tuple
from weft.support.abi import MAX_EXTENT

ZERO, ONE = const_index(0), const_index(1)


def _target(operand: Operand, name: str) -> Array:
    if not isinstance(operand, Array):
        raise PythonRaises(f"np.{name} needs an array to write to")
    return operand


def values_for(build: Builder, operand: Operand, dtype: DType, *, safe: bool) -> Array | Scalar:
    """What is to be written as NumPy converts it: lists and numbers as they fit, arrays by casting."""
    operand = number(build, operand)
    if isinstance(operand, Tuple):
        return from_nested(build, operand, dtype)
    data = as_data(build, operand)
    if isinstance(data, Scalar):
        guard_assignable(build, data, dtype)
        if data.type.dtype.kind == "c" and dtype.kind != "c":
            raise PythonRaises("casting complex values to real")
        if data.type.dtype.kind == "f" and dtype.kind in "iu" and not data.type.python:
            raise build.error("E226", "a float is not compiled here for an array of integers", "convert it first")
        return data
    if safe and not np.can_cast(data.dtype.numpy, dtype.numpy, "safe"):
        raise PythonRaises("cannot cast according to the rule 'safe'")
    if data.dtype.kind == "c" and dtype.kind != "c":
        raise PythonRaises("casting complex values to real")
    return data


def repeated(build: Builder, values: Array | Scalar, shape: tuple[Index, ...]) -> Array | Scalar:
    """The values in C order, from the beginning again as often as it takes to fill a shape."""
    if isinstance(values, Scalar):
        return values
    flat = flat_array(build, values)
    (count,) = flat.shape
    if count is ONE:
        return flat.viewed(drop_axis(flat.view, 0, ZERO))
    build.guard_nonnegative(count - 1, "there are no values")
    target = empty_array(build, shape, flat.dtype)
    params = coordinates(build, shape)
    place = ZERO
    for param, extent in zip(params, shape, strict=True):
        place = place * extent + index(param)
    with build.region() as scope:
        at = Value(build.new_id(), "at", PY_INT, 0, MAX_EXTENT)
        turn = Let(at, op("remainder", (place, count), PY_INT))
        build.emit(Tasklet(lets=(turn,), id=build.new_id(), span=build.span))
        element = build.value("x", ScalarType(flat.dtype))
        reads = ((element, flat.view.at((index(at),))),)
        writes = ((target.view.at(tuple(index(param) for param in params)), element),)
        build.emit(Tasklet(reads=reads, writes=writes, id=build.new_id(), span=build.span))
    ranges = tuple((ZERO, extent) for extent in shape)
    build.emit(Map(params=params, ranges=ranges, body=build.close(scope), id=build.new_id(), span=build.span))
    return target


# ---- by position ----------------------------------------------------------------------------------------------------


@numpy_rule("numpy.put", "ndarray.put")
def lower_put(build: Builder, a: Operand, ind: Operand, v: Operand, mode: Operand | str = "raise") -> Operand:
    """Write values, repeated if there are too few, at positions counted in C order."""
    target = _target(a, "put")
    kind = static_value(build, mode, "mode")
    if kind not in ("raise", "wrap", "clip"):
        raise build.error("E226", f"mode={kind!r} of np.put is not compiled", "write 'raise', 'wrap' or 'clip'")
    positions = flat_array(build, positions_from(build, ind) if isinstance(ind, Tuple) else as_array(build, ind))
    if positions.dtype.kind not in "biu":
        raise PythonRaises("positions must be integers")
    positions = fitted_positions(build, positions, product(target.shape), kind)
    values = repeated(build, values_for(build, v, target.dtype, safe=False), positions.shape)
    write_selected(build, flat_selection(build, target, positions), values)
    return Static(None)


def flat_selection(build: Builder, array: Array, positions: Array) -> Selection:
    """The elements at positions in C order, which are known to be inside (or to count from the end)."""
    size = product(array.shape)
    view = reshape_view(build, array.view, (size,))
    if view is not None:
        return Selection(array.viewed(view), (Pick(0, positions),), positions.shape, 0)
    picks: list[Pick] = []
    for axis, extent in enumerate(array.shape):
        after = product(array.shape[axis + 1 :])
        coordinate = map_array(build, positions, DType.INT64, lambda x, e=extent, n=after: _unravelled(x, size, n, e))
        picks.append(Pick(axis, coordinate, wrap=False))
    return Selection(array, tuple(picks), positions.shape, 0)


def _unravelled(element: Expr, size: Index, after: Index, extent: Index) -> Expr:
    """One coordinate of a position in C order; there is an element, so no extent is 0."""
    place = op("cast", (cast(element, DType.INT64),), PY_INT)
    turned = op("remainder", (place, size), PY_INT)  # from the end
    return cast(op("remainder", (op("floor_divide", (turned, after), PY_INT), extent), PY_INT), DType.INT64)


@numpy_rule("numpy.put_along_axis")
def lower_put_along_axis(
    build: Builder, arr: Operand, indices: Operand, values: Operand, axis: Operand | int | None = -1
) -> Operand:
    """Write along one axis at the positions given, along the others in step."""
    target = _target(arr, "put_along_axis")
    if isinstance(axis, Static) and axis.value is None and not is_contiguous(build, target.view):
        raise build.error("E226", "put_along_axis on a flattened view is not compiled", "give the axis")
    selection = along_axis(build, target, as_array(build, indices), axis)
    write_selected(build, selection, values_for(build, values, target.dtype, safe=False))
    return Static(None)


@numpy_rule("numpy.fill_diagonal")
def lower_fill_diagonal(build: Builder, a: Operand, val: Operand) -> Operand:
    """Write a number, or values repeated as it takes, on the diagonal of a matrix."""
    target = _target(a, "fill_diagonal")
    if target.rank < 2:
        raise PythonRaises("array must be at least 2-d")
    if target.rank > 2:
        raise build.error("E226", "fill_diagonal is compiled for matrices only", "write a loop over the diagonal")
    line = target.viewed(diagonal_view(build, target.view, ZERO, 0, 1))
    values = values_for(build, val, target.dtype, safe=False)
    if isinstance(values, Array) and may_share(build, values.view, line.view):
        raise build.error("E280", "fill_diagonal with elements of the same array is not compiled", "copy them first")
    store(build, line, repeated(build, values, line.shape))
    return Static(None)


# ---- by mask --------------------------------------------------------------------------------------------------------


@numpy_rule("numpy.putmask")
def lower_putmask(build: Builder, a: Operand, /, mask: Operand, values: Operand) -> Operand:
    """Write where a mask is true; of too few values, the one that falls on the position."""
    target = _target(a, "putmask")
    flags = _mask_like(build, mask, target)
    data = repeated(build, values_for(build, values, target.dtype, safe=True), target.shape)
    store_where(build, target, flags, data)
    return Static(None)


@numpy_rule("numpy.place")
def lower_place(build: Builder, arr: Operand, mask: Operand, vals: Operand) -> Operand:
    """Write the values one after the other where a mask is true."""
    target = _target(arr, "place")
    flags = _mask_like(build, mask, target)
    data = values_for(build, vals, target.dtype, safe=True)
    values = repeated(build, data, (count_true(build, flags),))
    write_selected(build, Masked(target, flags), values)
    return Static(None)


def _mask_like(build: Builder, mask: Operand, target: Array) -> Array:
    """A mask of the very shape of the target, which has axes."""
    flags = mask_of(build, as_array(build, mask))
    if flags.rank != target.rank or target.rank == 0:
        raise build.error("E226", "a mask of another rank than the array is not compiled here", "reshape it")
    for left, right in zip(flags.shape, target.shape, strict=True):
        build.guard_equal(left, right, "mask and data must be the same size")
    return flags


# ---- ufunc.at -------------------------------------------------------------------------------------------------------


@numpy_rule("ufunc.at")
def lower_at(build: Builder, function: Operand, a: Operand, indices: Operand, b: Given = None, /) -> Operand:
    """`np.add.at(a, idx, b)`: position after position, so that each repetition counts."""
    name = ufunc_name(build, function)
    target = _target(a, f"{name}.at")
    if OPS[name].arity != (1 if b is None else 2):
        raise PythonRaises("second operand needed for ufunc, or not taken")
    value = Scalar(const_index(0)) if b is None else as_data(build, b)
    if isinstance(value, Scalar):
        value = numpy_scalar(value)
    dtypes = (target.dtype,) if b is None else (target.dtype, data_dtype(value))
    types = resolve(name, tuple(dtype.numpy for dtype in dtypes), None)
    loop = [DType(t.name) for t in types] if types and all(t.name in _KNOWN for t in types) else None
    if loop is None or not np.can_cast(loop[-1].numpy, target.dtype.numpy, "same_kind") or name == "power":
        raise build.error("E226", f"np.{name}.at is not compiled for these types", "write the loop")
    selected = select(build, target, indices)
    if isinstance(selected, Basic):
        operands = (selected.array,) if b is None else (selected.array, value)
        apply_ufunc(build, name, operands, out=selected.array)
        return Static(None)
    selection = as_selection(build, selected) if isinstance(selected, Masked) else selected
    if isinstance(value, Array) and value.rank > len(selection.result_shape):
        raise PythonRaises("array is not broadcastable to correct shape")
    if isinstance(value, Scalar):
        value = Scalar(steady(build, value.expr))

    def combine(old: Expr, new: Expr) -> Expr:
        args = [cast(arg, dtype) for arg, dtype in zip((old, new)[: len(dtypes)], loop, strict=False)]
        return cast(operation(name, args, loop[-1]), target.dtype)

    scatter(build, selection, value, combine, warn=build.warn_site(name) if may_warn(name, loop) else -1)
    return Static(None)


_KNOWN = {dtype.value for dtype in DType}
