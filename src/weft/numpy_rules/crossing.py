"""Products of vectors in space: `np.cross`.

in:   two arrays of vectors with three components each; where there are two, Python takes over
out:  a new array of vectors

    np.cross(a, b)  ->  c[..., 0:1] = a[..., 1:2] * b[..., 2:3] - a[..., 2:3] * b[..., 1:2];  ...
"""

from __future__ import annotations

from weft.ir.dtypes import DType
from weft.ir.exprs import const_index
from weft.numpy_rules.arguments import Given, PythonRaises, is_none, static_axis
from weft.numpy_rules.arrays import as_array, empty_array, ufunc
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import broadcast_shapes, initialise, permute
from weft.numpy_rules.indexing import narrow_axis
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.values import Array, Operand

_ONE, _THREE = const_index(1), const_index(3)


@numpy_rule(
    "numpy.cross",
    samples=(
        "cross(f8[4, 3], f8[4, 3])",
        "cross(i8[3], i8[3])",
        "cross(f4[3], f8[5, 3])",
        "cross(c16[2, 1, 3], f8[4, 3])",
        "cross(u1[4, 3], i2[3])",
        "cross(f8[3, 4], f8[3, 4], axis=0)",
        "cross(f8[3, 4], f8[4, 3], axisa=0, axisc=0)",
        "cross(f8[0, 3], f8[3])",
    ),
)
def lower_cross(
    build: Builder,
    a: Operand,
    b: Operand,
    axisa: Operand | int = -1,
    axisb: Operand | int = -1,
    axisc: Operand | int = -1,
    axis: Given = None,
) -> Operand:
    """Every vector of one with every vector of the other, broadcast."""
    if axis is not None and not is_none(axis):
        axisa = axisb = axisc = axis
    left, right = _vectors(build, as_array(build, a), axisa), _vectors(build, as_array(build, b), axisb)
    if left.dtype is DType.BOOL and right.dtype is DType.BOOL:
        raise PythonRaises("numpy boolean subtract, the `-` operator, is not supported")
    heads = (left.shape[:-1], right.shape[:-1])
    shape = (*broadcast_shapes(build, heads), _THREE)
    parts = [as_array(build, _component(build, left, right, number)) for number in range(3)]
    result = empty_array(build, shape, parts[0].dtype, name="cross")
    for number, part in enumerate(parts):
        initialise(build, _at(result, number), part)
    return _moved(result, static_axis(build, axisc, len(shape)))


def _vectors(build: Builder, array: Array, axis: Operand | int) -> Array:
    """The array with its components along the last axis."""
    if not array.rank:
        raise PythonRaises("At least one array has zero dimension")
    place = static_axis(build, axis, array.rank)
    order = (*(n for n in range(array.rank) if n != place), place)
    moved = Array(permute(array.view, order), array.dtype)
    build.guard_equal(moved.shape[-1], _THREE, "np.cross of vectors that have no three components")
    return moved


def _component(build: Builder, left: Array, right: Array, number: int) -> Operand:
    second, third = (number + 1) % 3, (number + 2) % 3
    plus = ufunc(build, "multiply", _at(left, second), _at(right, third))
    return ufunc(build, "subtract", plus, ufunc(build, "multiply", _at(left, third), _at(right, second)))


def _at(array: Array, number: int) -> Array:
    return Array(narrow_axis(array.view, array.rank - 1, const_index(number), _ONE, _ONE), array.dtype)


def _moved(array: Array, place: int) -> Array:
    order = list(range(array.rank - 1))
    order.insert(place, array.rank - 1)
    return array.viewed(permute(array.view, tuple(order)))
