"""Diagonals of matrices: diagonal, diag, trace, diag_indices.

in:   an array of at least two axes (diag also takes a vector)
out:  a view of the diagonal, or a new matrix with the vector on it

    np.diagonal(a)  ->  the view d[i] = a[i, i]
"""

from __future__ import annotations

from weft.ir.dtypes import PY_INT, DType
from weft.ir.exprs import Index, const_index, op
from weft.ir.nodes import Axis, View
from weft.numpy_rules.arguments import Given, PythonRaises, extent_of, integer_of, static_axis, static_int
from weft.numpy_rules.arrays import as_array, empty_array, generate
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast, initialise
from weft.numpy_rules.reductions import reduce_with
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.values import Array, Operand, Scalar, Tuple

ZERO = const_index(0)


def diagonal_view(build: Builder, view: View, offset: Index, axis1: int, axis2: int) -> View:
    """The diagonal of two axes as a new last axis."""
    down, right = _starts(build, offset)
    length = _length(build, view.shape[axis1] - down, view.shape[axis2] - right)
    rest = [axis for axis in range(view.rank) if axis not in (axis1, axis2)]
    moved = {axis: number for number, axis in enumerate(rest)}
    axes: list[Axis] = []
    for axis in view.axes:
        start = axis.offset
        steps: dict[int, Index] = {}
        for number, step in axis.terms:
            target = moved.get(number, len(rest))
            steps[target] = steps.get(target, ZERO) + step
            start = start + step * (down if number == axis1 else right if number == axis2 else ZERO)
        axes.append(Axis(start, tuple(steps.items())))
    return View(view.container, (*(view.shape[axis] for axis in rest), length), tuple(axes))


def _starts(build: Builder, offset: Index) -> tuple[Index, Index]:
    """Where the diagonal starts: rows down, columns to the right."""
    if build.proves_nonnegative(offset):
        return ZERO, offset
    if build.proves_nonnegative(-offset):
        return -offset, ZERO
    return (
        build.let_index(op("maximum", (-offset, ZERO), PY_INT), "down", low=0),
        build.let_index(op("maximum", (offset, ZERO), PY_INT), "right", low=0),
    )


def _length(build: Builder, rows: Index, columns: Index) -> Index:
    """`max(min(rows, columns), 0)`, simple where that is known."""
    if build.proves_nonnegative(columns - rows):
        shorter = rows
    elif build.proves_nonnegative(rows - columns):
        shorter = columns
    else:
        shorter = build.let_index(op("minimum", (rows, columns), PY_INT), "len")
    if build.proves_nonnegative(shorter):
        return shorter
    return build.let_index(op("maximum", (shorter, ZERO), PY_INT), "len", low=0)


@numpy_rule(
    "numpy.diagonal",
    "ndarray.diagonal",
    samples=("diagonal(f8[3, 4])", "diagonal(f8[4, 3], 1)", "diagonal(f8[2, 3, 4], -1, 1, 2)", "diagonal(f8[3, 4], 9)"),
)
def lower_diagonal(
    build: Builder, a: Operand, offset: Operand | int = 0, axis1: Operand | int = 0, axis2: Operand | int = 1
) -> Operand:
    """A view; NumPy's is read-only."""
    array = as_array(build, a)
    return Array(_diagonal(build, array, offset, axis1, axis2), array.dtype, readonly=True)


def _diagonal(build: Builder, array: Array, offset: Operand | int, axis1: Operand | int, axis2: Operand | int) -> View:
    if array.rank < 2:
        raise PythonRaises("diag requires an array of at least two dimensions")
    first, second = static_axis(build, axis1, array.rank), static_axis(build, axis2, array.rank)
    if first == second:
        raise PythonRaises("axis1 and axis2 cannot be the same")
    return diagonal_view(build, array.view, integer_of(build, offset, "offset"), first, second)


@numpy_rule("numpy.diag", samples=("diag(f8[3])", "diag(i4[3], -1)", "diag(f8[3, 4])", "diag(f8[3, 4], 1)"))
def lower_diag(build: Builder, v: Operand, k: Operand | int = 0) -> Operand:
    """A matrix of a vector, the diagonal of a matrix."""
    array = as_array(build, v)
    if array.rank == 2:
        return Array(_diagonal(build, array, k, 0, 1), array.dtype, readonly=True)
    if array.rank != 1:
        raise PythonRaises("Input must be 1- or 2-d.")
    offset = integer_of(build, k, "k")
    down, right = _starts(build, offset)
    size = array.shape[0] + down + right
    target = empty_array(build, (size, size), array.dtype, name="diag")
    initialise(build, target, Scalar(ZERO))
    line = diagonal_view(build, target.view, offset, 0, 1)
    build.guard_equal(line.shape[0], array.shape[0], "diagonal of another length")
    initialise(build, Array(line, array.dtype), array)
    return target


@numpy_rule("numpy.trace", "ndarray.trace", samples=("trace(f8[3, 4])", "trace(i1[3, 3], 1)", "trace(f8[2, 3, 4])"))
def lower_trace(
    build: Builder,
    a: Operand,
    offset: Operand | int = 0,
    axis1: Operand | int = 0,
    axis2: Operand | int = 1,
    dtype: Given = None,
) -> Operand:
    """The sum of a diagonal."""
    array = as_array(build, a)
    line = Array(_diagonal(build, array, offset, axis1, axis2), array.dtype)
    return reduce_with(build, "add", line, -1, dtype)


@numpy_rule("numpy.diag_indices", samples=("diag_indices(3)", "diag_indices(2, 3)", "diag_indices(0)"))
def lower_diag_indices(build: Builder, n: Operand, ndim: Operand | int = 2) -> Operand:
    """One array 0, 1, 2, ..., as often as there are axes."""
    size = extent_of(build, n, "n")
    line = Array(build.alloc((size,), DType.INT64, "at"), DType.INT64)
    generate(build, line.view, lambda point, _: cast(point[0], DType.INT64))
    return Tuple((line,) * static_int(build, ndim, "ndim"))


@numpy_rule("numpy.diag_indices_from", samples=("diag_indices_from(f8[3, 3])", "diag_indices_from(f8[2, 2, 2])"))
def lower_diag_indices_from(build: Builder, arr: Operand) -> Operand:
    """The same for an array whose axes have one length."""
    array = as_array(build, arr)
    if array.rank < 2:
        raise PythonRaises("input array must be at least 2-d")
    for extent in array.shape[1:]:
        build.guard_equal(extent, array.shape[0], "All dimensions of input must be of equal length")
    return lower_diag_indices(build, Scalar(array.shape[0]), array.rank)
