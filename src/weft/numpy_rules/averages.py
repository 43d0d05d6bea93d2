"""Sums with weights: average, trapezoid.

in:   an array, weights or abscissas of its shape or along one axis, and `axis` known at compile time
out:  a NumPy scalar for a full reduction, else a new array

    np.average(a, 0, w)     ->  s = sum(w), which is not 0;  sum(a * w[:, None], 0) / s
    np.trapezoid(y, dx=d)   ->  sum(d * (y[..., 1:] + y[..., :-1]) / 2.0, -1)
"""

from __future__ import annotations

import numpy as np

from weft.ir.dtypes import DType
from weft.ir.exprs import const_index, python_const
from weft.numpy_rules.arguments import Flag, Given, PythonRaises, is_none, static_axis, static_bool
from weft.numpy_rules.arrays import arithmetic, as_array, as_data, known_dtype, ufunc
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.indexing import insert_axis, narrow_axis
from weft.numpy_rules.joining import lower_diff
from weft.numpy_rules.moments import lower_mean
from weft.numpy_rules.reductions import axes_of, guard_all, guard_not_empty, reduce_array, reduce_with, scalar_or_array
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.values import Array, Operand, Scalar

ZERO, ONE = const_index(0), const_index(1)


@numpy_rule(
    "numpy.average",
    samples=(
        "average(f8[5])",
        "average(i8[4, 3], 1)",
        "average(f8[4, 3], axis=0, weights=f8[4] + 1)",
        "average(f4[4, 3], axis=-1, weights=i4[3] + 20, keepdims=True)",
        "average(c8[4, 3], weights=f4[4, 3] + 1)",
        "average(b1[2, 3, 4], axis=(0, 2), weights=f8[2, 3, 4] + 1)",
    ),
)
def lower_average(
    build: Builder, a: Operand, axis: Given = None, weights: Given = None, *, keepdims: Flag = False
) -> Operand:
    """The mean, or the sum of the products with the weights over the sum of the weights."""
    array = as_array(build, a)
    if weights is None or is_none(weights):
        guard_not_empty(build, array.view, tuple(range(array.rank)), "average of nothing")
        return lower_mean(build, array, axis, keepdims=keepdims)
    axes = axes_of(build, axis, array.rank)
    given = as_array(build, weights)
    types = [array.dtype.numpy, given.dtype.numpy, *([np.dtype("f8")] if array.dtype.kind in "biu" else [])]
    dtype = known_dtype(build, np.result_type(*types))
    return _weighted(build, array, _fitting(build, given, array, axes, axis), axes, dtype, keepdims)


def _fitting(build: Builder, weights: Array, array: Array, axes: tuple[int, ...], axis: Given) -> Array:
    """Weights of the shape of the array, or those along its one axis with the others put in, 1 long."""
    if weights.rank == array.rank:
        for extent, wanted in zip(weights.shape, array.shape, strict=True):
            build.guard_equal(extent, wanted, "the weights have another shape")
        return weights
    if weights.rank != 1 or len(axes) != 1 or is_none(axis):
        raise build.error("E240", "weights of such a shape are not compiled", "give them the shape of the array")
    build.guard_equal(weights.shape[0], array.shape[axes[0]], "the weights have another shape")
    view = weights.view
    for place in range(array.rank):
        if place != axes[0]:
            view = insert_axis(view, place)
    return weights.viewed(view)


def _weighted(
    build: Builder, array: Array, weights: Array, axes: tuple[int, ...], dtype: DType, keepdims: Flag
) -> Operand:
    """Where weights sum up to zero, Python raises."""
    keep = static_bool(build, keepdims, "keepdims")
    scale = scalar_or_array(build, reduce_array(build, "add", weights, axes, dtype, keepdims=keep))
    guard_all(build, ufunc(build, "not_equal", scale, Scalar(python_const(0.0))), "weights sum to zero")
    products = as_array(build, ufunc(build, "multiply", array, weights, dtype=dtype))
    total = scalar_or_array(build, reduce_array(build, "add", products, axes, dtype, keepdims=keep))
    return arithmetic(build, "divide", total, scale)


@numpy_rule(
    "numpy.trapezoid",
    samples=(
        "trapezoid(f8[5])",
        "trapezoid(f4[4, 3], dx=0.5, axis=0)",
        "trapezoid(f8[5], f8[5])",
        "trapezoid(i4[4, 3], f8[4], axis=0)",
        "trapezoid(c8[4, 3], f4[4, 3], axis=-2)",
        "trapezoid(b1[5], dx=v(2))",
    ),
)
def lower_trapezoid(
    build: Builder, y: Operand, x: Given = None, dx: Operand | float = 1.0, axis: Operand | int = -1
) -> Operand:
    """The sum of the areas below the lines from point to point."""
    array = as_array(build, y)
    place = static_axis(build, axis, array.rank)
    rest = array.shape[place] - 1
    build.guard_nonnegative(rest, "trapezoid of an empty axis")
    later = array.viewed(narrow_axis(array.view, place, ONE, rest, ONE))
    earlier = array.viewed(narrow_axis(array.view, place, ZERO, rest, ONE))
    width = _steps(build, dx) if x is None or is_none(x) else _differences(build, x, array, place)
    area = arithmetic(build, "multiply", width, ufunc(build, "add", later, earlier))
    return reduce_with(
        build, "add", arithmetic(build, "divide", area, Scalar(python_const(2.0))), Scalar(const_index(place))
    )


def _steps(build: Builder, dx: Operand | float) -> Scalar:
    data = Scalar(python_const(dx)) if isinstance(dx, int | float) else as_data(build, dx)
    if not isinstance(data, Scalar):
        raise build.error("E240", "an array as dx is not compiled", "give x")
    return data


def _differences(build: Builder, x: Operand, array: Array, place: int) -> Array:
    """The steps between abscissas of the shape of the array, or of its one axis."""
    points = as_array(build, x)
    if points.rank not in (1, array.rank):
        raise build.error("E240", "abscissas of such a shape are not compiled", "give them the shape of the array")
    along = place if points.rank == array.rank else 0
    wanted = array.shape if points.rank == array.rank else (array.shape[place],)
    for extent, other in zip(points.shape, wanted, strict=True):
        build.guard_equal(extent, other, "abscissas and ordinates differ in shape")
    widths = lower_diff(build, points, axis=Scalar(const_index(along)))
    if not isinstance(widths, Array):
        raise PythonRaises("abscissas without steps")
    view = widths.view
    for axis in range(array.rank) if points.rank < array.rank else ():
        if axis != place:
            view = insert_axis(view, axis)
    return widths.viewed(view)
