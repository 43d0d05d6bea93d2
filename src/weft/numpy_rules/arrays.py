"""Operands as arrays: conversion, copies, and arrays made point by point.

in:   operands as the program wrote them: numbers, arrays, nested tuples and lists of them
out:  an `Array` or `Scalar` of a known element type

    np.sum([a, 1.0])  ->  a new array of two elements, then the sum of it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType, dtype_of
from weft.ir.exprs import Const, Expr, Index, Value, const, const_index, index, op, python_const
from weft.ir.nodes import Elementwise, Memlet, Tasklet, View
from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import (
    apply_ufunc,
    cast,
    coordinates,
    guard_fits,
    initialise,
    map_elements,
    new_array,
    permute,
    type_key,
)
from weft.numpy_rules.indexing import drop_axis
from weft.numpy_rules.memory_order import copied_order
from weft.numpy_rules.scalars import int_expr, python_binary
from weft.numpy_rules.values import Array, Never, Operand, Range, Scalar, Static, Tuple

Body = Callable[[Sequence[Index], Sequence[Expr]], Expr]
"""What stands at a point, from its coordinates and the elements of the inputs there."""
_PYTHON_NUMBERS = ("builtins.bool", "builtins.int", "builtins.float", "builtins.complex")
_NUMPY_NUMBERS = {f"numpy.{dtype.value}": dtype for dtype in DType}
_PYTHON_SAMPLES: dict[type, Any] = {bool: True, int: 1, float: 1.0, complex: 1j}


def number(build: Builder, operand: Operand) -> Operand:
    """A number known at compile time as a Scalar; every other operand as it is."""
    if isinstance(operand, Static):
        value: Any = operand.value
        name = f"{type(value).__module__}.{type(value).__name__}"
        if name in _PYTHON_NUMBERS:
            return Scalar(python_const(value))
        dtype = _NUMPY_NUMBERS.get(name)
        if dtype is not None:
            return Scalar(const(value.item(), ScalarType(dtype)))
    if isinstance(operand, Never):
        raise PythonRaises("never reached")
    return operand


def as_data(build: Builder, operand: Operand) -> Array | Scalar:
    """An array or a number; nested tuples and lists become a new array."""
    operand = number(build, operand)
    match operand:
        case Array() | Scalar():
            return operand
        case Tuple():
            return from_nested(build, operand)
        case Range(start=start, stop=stop, step=step) if step.constant is not None:
            return _numbers_of(build, start, stop, step.constant)
        case _:
            raise build.error("E210", "this kind of operand is not compiled here", "pass arrays or numbers")


def _numbers_of(build: Builder, start: Index, stop: Index, step: int) -> Array:
    """`np.array(range(start, stop, step))`."""
    span = stop - start if step > 0 else start - stop
    steps = op("floor_divide", (span + (abs(step) - 1), const_index(abs(step))), PY_INT)
    length = build.let_index(op("maximum", (steps, const_index(0)), PY_INT), "n", low=0)
    build.guard_nonnegative(length - 1, "an array of an empty range")
    line = Array(build.alloc((length,), DType.INT64, "range"), DType.INT64)
    generate(build, line.view, lambda point, _: cast(start + point[0] * step, DType.INT64))
    return line


def as_array(build: Builder, operand: Operand) -> Array:
    """`np.asarray(operand)`: a number becomes a 0-d array."""
    data = as_data(build, operand)
    if isinstance(data, Array):
        return data
    dtype = data.type.dtype
    target = Array(build.alloc((), dtype, "x"), dtype)
    write_fresh(build, [(target.view.at(()), cast(data.expr, dtype))])
    return target


def write_fresh(build: Builder, writes: Sequence[tuple[Memlet, Expr]]) -> None:
    """Write elements of an array made in this statement."""
    build.emit(Tasklet(writes=tuple(writes), id=build.new_id(), span=build.span))


def read_scalar(build: Builder, array: Array) -> Scalar:
    """The element of a 0-d array as a NumPy scalar."""
    return Scalar(build.read(array.view, (), array.dtype))


def scalar_of(build: Builder, operand: Operand) -> Scalar:
    """A number, or the element of a 0-d array."""
    data = number(build, operand)
    if isinstance(data, Array) and data.rank == 0:
        return read_scalar(build, data)
    if not isinstance(data, Scalar):
        raise build.error("E214", "a number is needed here", "an array or sequence is not compiled in this place")
    return data


def numpy_scalar(operand: Scalar, dtype: DType | None = None) -> Scalar:
    """The scalar as a NumPy scalar, of its own or the given type."""
    return Scalar(cast(operand.expr, dtype or operand.type.dtype))


def data_dtype(data: Array | Scalar) -> DType:
    """The element type `np.asarray` gives."""
    return data.dtype if isinstance(data, Array) else data.type.dtype


# -- types ------------------------------------------------------------------------------------------------------------


def common_dtype(build: Builder, parts: Sequence[Array | Scalar]) -> DType:
    """`np.result_type`, Python scalars weak."""
    samples = [_PYTHON_SAMPLES.get(key, key) for key in map(type_key, parts)]
    return known_dtype(build, np.result_type(*samples))


def strong_dtype(build: Builder, parts: Sequence[Array | Scalar]) -> DType:
    """The common type where Python scalars count as int64, float64 and complex128 (np.array, np.dot)."""
    return known_dtype(build, np.result_type(*(data_dtype(part).numpy for part in parts)))


def known_dtype(build: Builder, dtype: np.dtype[Any]) -> DType:
    """The element type, or an error where Weft has none."""
    found = dtype_of(dtype)
    if found is None:
        raise build.error("E231", f"arrays of {dtype} are not compiled", "use bool, an integer, float or complex type")
    return found


def refuse_real_part(build: Builder, source: DType, dtype: DType) -> None:
    """Complex numbers are not converted to real ones in compiled code: NumPy warns of it."""
    if source.kind == "c" and dtype.kind not in "cb":
        raise build.error("E253", "discarding the imaginary part is not compiled", "write .real first")


def guard_assignable(build: Builder, data: Array | Scalar, dtype: DType) -> None:
    """A Python number must fit the element it is written to: otherwise Python raises."""
    if isinstance(data, Array) or not data.type.python:
        refuse_real_part(build, data_dtype(data), dtype)
        return
    if not guard_fits(build, data, dtype):
        raise PythonRaises("Python integer out of bounds")
    source = data.type.dtype
    if source is DType.COMPLEX128 and dtype.kind != "c":
        raise PythonRaises("a complex number cannot be converted")
    if source is DType.FLOAT64 and dtype.kind in "iu":
        guard_in_range(build, data.expr, dtype)


def guard_in_range(build: Builder, expr: Expr, dtype: DType) -> None:
    """A float whose integer part fits an integer type: otherwise Python raises OverflowError or ValueError."""
    low, high = dtype.bounds
    above = op("greater", (expr, const(float(low) - 1.0, expr.type)), NP_BOOL)
    if float(low) - 1.0 == float(low):  # the double below -2**63 is far away: the bound itself is in
        above = op("greater_equal", (expr, const(float(low), expr.type)), NP_BOOL)
    below = op("less", (expr, const(float(high + 1), expr.type)), NP_BOOL)
    build.guard(op("logical_and", (above, below), NP_BOOL), "float does not fit the integer type")


# -- operations -------------------------------------------------------------------------------------------------------


def ufunc(build: Builder, name: str, *operands: Operand, dtype: DType | None = None, words: str = "") -> Array | Scalar:
    """A ufunc as a step of a larger rule; `words` is what warnings call it, where that is not its name."""
    result = apply_ufunc(build, name, operands, dtype=dtype, words=words)
    if not isinstance(result, Array | Scalar):
        raise PythonRaises(f"np.{name} has no loop for these types")
    return result


def arithmetic(build: Builder, name: str, left: Operand, right: Operand, *, words: str = "") -> Operand:
    """`left name right` as Python's operator does it: on Python scalars Python's, else NumPy's.

    `words` is what warnings call it, where that is not its name.
    """
    left, right = number(build, left), number(build, right)
    if isinstance(left, Scalar) and isinstance(right, Scalar) and left.type.python and right.type.python:
        result = python_binary(build, name, left, right)
    else:
        result = apply_ufunc(build, name, (left, right), operator=True, words=words)
    if isinstance(result, Never):
        raise PythonRaises(f"{name} of these operands")
    return result


def convert_array(build: Builder, array: Array, dtype: DType) -> Array:
    """The array in another element type; the very same where it has it."""
    return array if array.dtype is dtype else copy_array(build, array, dtype)


def convert_data(build: Builder, data: Array | Scalar, dtype: DType) -> Array | Scalar:
    """The same for numbers too."""
    return convert_array(build, data, dtype) if isinstance(data, Array) else numpy_scalar(data, dtype)


def empty_array(build: Builder, shape: tuple[Index, ...], dtype: DType, order: str = "C", name: str = "t") -> Array:
    """A new array of undefined contents, in C or Fortran order."""
    if order != "F" or len(shape) < 2:
        return Array(build.alloc(shape, dtype, name), dtype)
    reverse = tuple(range(len(shape)))[::-1]
    return Array(permute(build.alloc(shape[::-1], dtype, name), reverse), dtype)


def copy_array(build: Builder, array: Array, dtype: DType | None = None, order: str = "K", name: str = "") -> Array:
    """A new array with the elements of another."""
    dtype = dtype or array.dtype
    refuse_real_part(build, array.dtype, dtype)
    name = name or array.view.container.partition(".")[0]
    if order == "K":
        target = new_array(build, array.shape, dtype, name, [array.view], copied_order)
    else:
        target = empty_array(build, array.shape, dtype, order, name)
    initialise(build, target, array)
    return target


def generate(
    build: Builder,
    target: View,
    body: Body,
    inputs: Sequence[tuple[View, DType]] = (),
    *,
    warn: int = -1,
) -> None:
    """Fill a new array point by point; inputs have its shape."""
    params = coordinates(build, target.shape)
    elements = [build.value("x", ScalarType(dtype)) for _, dtype in inputs]
    node = Elementwise(
        output=target,
        params=params,
        inputs=tuple((element, view) for element, (view, _) in zip(elements, inputs, strict=True)),
        expr=body([index(param) for param in params], elements),
        warn=warn,
        id=build.new_id(),
        span=build.span,
    )
    build.emit(node)


def map_array(build: Builder, array: Array, dtype: DType, body: Callable[[Expr], Expr], name: str = "t") -> Array:
    """A new array with `body` applied to every element."""
    return map_elements(build, (array,), array.shape, dtype, lambda args: body(args[0]), name=name)


def steady(build: Builder, expr: Expr) -> Expr:
    """An expression that may stand inside a node: a constant, a polynomial or a named value."""
    return expr if isinstance(expr, Const | Index | Value) else build.let(expr)


def condition(name: str, left: Expr, right: Expr) -> Expr:
    """A comparison of two expressions of one type."""
    return op(name, (left, right), NP_BOOL)


# -- nested sequences -------------------------------------------------------------------------------------------------


def from_nested(build: Builder, operand: Tuple, dtype: DType | None = None) -> Array:
    """`np.array` of a nested tuple or list of numbers and arrays."""
    items = [as_data(build, item) if not isinstance(item, Tuple) else item for item in operand.items]
    if not items:
        dtype = dtype or DType.FLOAT64
        return Array(build.alloc((const_index(0),), dtype, "x"), dtype)
    shape, leaves = _leaves(build, operand, ())
    parts = [leaf for _, leaf in leaves]
    if not parts:
        dtype = dtype or DType.FLOAT64
    if all(isinstance(leaf, Scalar) for leaf in parts):
        return _from_scalars(build, shape, leaves, dtype or strong_dtype(build, parts))
    arrays = [as_array(build, item) for item in operand.items]
    return stack_arrays(build, arrays, 0, dtype or strong_dtype(build, arrays))


def _leaves(
    build: Builder, operand: Operand, point: tuple[int, ...]
) -> tuple[tuple[int, ...], list[tuple[tuple[int, ...], Array | Scalar]]]:
    """The shape of nested sequences, and the leaf at each point."""
    if not isinstance(operand, Tuple):
        return (), [(point, as_data(build, operand))]
    shapes: set[tuple[int, ...]] = set()
    found: list[tuple[tuple[int, ...], Array | Scalar]] = []
    for number_, item in enumerate(operand.items):
        shape, leaves = _leaves(build, item, (*point, number_))
        shapes.add(shape)
        found += leaves
    if len(shapes) > 1:
        raise PythonRaises("setting an array element with a sequence")
    inner = shapes.pop() if shapes else ()
    return (len(operand.items), *inner), found


def _from_scalars(
    build: Builder,
    shape: tuple[int, ...],
    leaves: Sequence[tuple[tuple[int, ...], Array | Scalar]],
    dtype: DType,
) -> Array:
    for _, leaf in leaves:
        guard_assignable(build, leaf, dtype)
    target = Array(build.alloc(tuple(const_index(extent) for extent in shape), dtype, "x"), dtype)
    writes: list[tuple[Memlet, Expr]] = []
    for point, leaf in leaves:
        assert isinstance(leaf, Scalar)
        value = steady(build, leaf.expr)
        writes.append((target.view.at(tuple(const_index(k) for k in point)), cast(value, dtype)))
    if writes:
        write_fresh(build, writes)
    return target


def stack_arrays(build: Builder, arrays: Sequence[Array], axis: int, dtype: DType) -> Array:
    """Arrays of one shape along a new axis."""
    first = arrays[0]
    for array in arrays[1:]:
        if array.rank != first.rank:
            raise PythonRaises("all input arrays must have the same shape")
        for left, right in zip(first.shape, array.shape, strict=True):
            build.guard_equal(left, right, "all input arrays must have the same shape")
    shape = (*first.shape[:axis], const_index(len(arrays)), *first.shape[axis:])
    target = Array(build.alloc(shape, dtype, "stack"), dtype)
    for number_, array in enumerate(arrays):
        initialise(build, Array(drop_axis(target.view, axis, const_index(number_)), dtype), array)
    return target


def where_mask(build: Builder, where: Operand | bool) -> Array | None:
    """The mask given as `where`; None where it is True."""
    if where is True or (isinstance(where, Scalar) and isinstance(where.expr, Const) and where.expr.value is True):
        return None
    mask = as_array(build, where) if not isinstance(where, bool) else None
    if mask is None or mask.dtype is not DType.BOOL:
        raise PythonRaises("'where' must be an array of bools")
    return mask


def bool_expr(build: Builder, expr: Expr) -> Expr:
    """The truth of an element of any type."""
    if expr.type.dtype is DType.BOOL:
        return expr
    return cast(expr, DType.BOOL)


def index_operand(build: Builder, data: Scalar) -> Index:
    """An integer scalar as a polynomial."""
    return build.bounded(int_expr(build, data.expr))
