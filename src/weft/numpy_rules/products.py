"""Products of vectors and matrices, diagonals, traces and norms.

in:   arrays of any rank, cast to their common type first
out:  what NumPy gives: `1-d @ 1-d` is a NumPy scalar, `dot` with a number multiplies

    a @ b (n, k) and (k,)  ->  MatMul of a and the (k, 1) view of b into an (n, 1) view of the result
"""

from __future__ import annotations

from weft.ir.dtypes import DType
from weft.ir.nodes import MatMul, View
from weft.numpy_rules.arguments import Flag, Given, PythonRaises, is_none, static_axes, static_bool, static_value
from weft.numpy_rules.arrays import (
    arithmetic,
    as_array,
    as_data,
    convert_array,
    empty_array,
    known_dtype,
    numpy_scalar,
    read_scalar,
    strong_dtype,
    ufunc,
)
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import apply_ufunc, broadcast_shapes, broadcast_to, permute, resolve, store
from weft.numpy_rules.indexing import insert_axis
from weft.numpy_rules.moments import real_parts
from weft.numpy_rules.reductions import reduce_array, reduce_with, scalar_or_array
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.reshaping import flat_array, is_contiguous, product, reshaped
from weft.numpy_rules.values import Array, Operand, Scalar, Static


def _emit(build: Builder, output: View, lhs: View, rhs: View, name: str, dtype: DType) -> None:
    build.guard_equal(lhs.shape[-1], rhs.shape[-2], f"{name}: the inner extents differ")
    warn = build.warn_site(name) if dtype.kind in "fc" else -1
    build.emit(MatMul(output=output, lhs=lhs, rhs=rhs, warn=warn, id=build.new_id(), span=build.span))


def _scalar_if_0d(build: Builder, array: Array) -> Operand:
    return array if array.rank else read_scalar(build, array)


# -- matmul -----------------------------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.matmul",
    samples=(
        "matmul(f8[3, 4], f8[4, 2])",
        "matmul(f8[3, 4], f8[4])",
        "matmul(f8[4], f8[4, 2])",
        "matmul(f8[4], f8[4])",
        "matmul(f4[3, 4], i2[4, 2])",
        "matmul(i4[2, 3, 4], i4[4, 2])",
        "matmul(f8[5, 1, 3, 4], f8[2, 4, 3])",
        "matmul(b1[3, 4], b1[4, 3])",
        "matmul(c8[3, 2], f4[2])",
    ),
)
def lower_matmul(build: Builder, x1: Operand, x2: Operand, /, out: Given = None) -> Operand:
    """`x1 @ x2`."""
    left, right = as_data(build, x1), as_data(build, x2)
    if isinstance(left, Scalar) or isinstance(right, Scalar) or not left.rank or not right.rank:
        raise PythonRaises("matmul does not take scalars")
    types = resolve("matmul", (left.dtype.numpy, right.dtype.numpy), None)
    if types is None:
        raise PythonRaises("matmul has no loop for these types")
    dtype = known_dtype(build, types[-1])
    result = matrix_product(build, convert_array(build, left, dtype), convert_array(build, right, dtype))
    if out is None or is_none(out):
        return _scalar_if_0d(build, result)
    return _into(build, result, out, max(left.rank - 2, right.rank - 2, 0))


def _into(build: Builder, result: Array, out: Operand, batch: int) -> Operand:
    """The output array with the result in it; only the first `batch` axes broadcast."""
    if not isinstance(out, Array) or out.rank != result.rank:
        raise PythonRaises("output array does not match")
    if out.dtype is not result.dtype:
        raise build.error("E260", "a product into an array of another type is not compiled", "store it with out[:] =")
    for extent, wanted in zip(result.shape[batch:], out.shape[batch:], strict=True):
        build.guard_equal(extent, wanted, "output has another shape")
    broadcast_to(build, result.view, out.shape)
    store(build, out, result)
    return out


def matrix_product(build: Builder, left: Array, right: Array, name: str = "matmul") -> Array:
    """The matmul of two arrays of one type; 0-d for two vectors."""
    lhs = left.view if left.rank > 1 else insert_axis(left.view, 0)
    rhs = right.view if right.rank > 1 else insert_axis(right.view, 1)
    lead = broadcast_shapes(build, [lhs.shape[:-2], rhs.shape[:-2]])
    lhs = broadcast_to(build, lhs, (*lead, *lhs.shape[-2:]))
    rhs = broadcast_to(build, rhs, (*lead, *rhs.shape[-2:]))
    rows = lhs.shape[-2:-1] if left.rank > 1 else ()
    columns = rhs.shape[-1:] if right.rank > 1 else ()
    result = empty_array(build, (*lead, *rows, *columns), left.dtype, name="mm")
    output = result.view
    if left.rank == 1:
        output = insert_axis(output, len(lead))
    if right.rank == 1:
        output = insert_axis(output, len(lead) + 1)
    _emit(build, output, lhs, rhs, name, left.dtype)
    return result


def product_into(build: Builder, output: View, left: Array, right: Array) -> None:
    """The product of a matrix and a vector, of one type, into a view of one axis, without a warning."""
    rhs = insert_axis(right.view, 1)
    build.emit(MatMul(output=insert_axis(output, 1), lhs=left.view, rhs=rhs, id=build.new_id(), span=build.span))


# -- dot, inner, vdot, outer, tensordot -------------------------------------------------------------------------------


@numpy_rule(
    "numpy.dot",
    "ndarray.dot",
    samples=(
        "dot(f8[3, 4], f8[4, 2])",
        "dot(f8[4], f8[4])",
        "dot(f4[3], 2.0)",
        "dot(2, 3)",
        "dot(i4[2, 3, 4], f8[4])",
        "dot(f8[2, 3, 4], f8[5, 4, 2])",
        "dot(f8[4], f8[5, 4, 2])",
        "dot(f8[()], f4[3])",
    ),
)
def lower_dot(build: Builder, a: Operand, b: Operand, /, out: Given = None) -> Operand:
    """The last axis of a with the second to last of b; numbers multiply."""
    result = _dot(build, as_data(build, a), as_data(build, b))
    if out is None or is_none(out):
        return result
    if isinstance(out, Array) and not is_contiguous(build, out.view):
        raise build.error(
            "E260",
            "np.dot into an array that is not known to be C-contiguous is not compiled",
            "store it with out[:] =",
        )
    return _into(build, as_array(build, result), out, 0)


def _dot(build: Builder, left: Array | Scalar, right: Array | Scalar) -> Operand:
    if _is_number(left) or _is_number(right):
        return apply_ufunc(build, "multiply", (_strong(left), _strong(right)))
    assert isinstance(left, Array)
    assert isinstance(right, Array)
    dtype = strong_dtype(build, [left, right])
    pair = convert_array(build, left, dtype), convert_array(build, right, dtype)
    return _scalar_if_0d(build, array_dot(build, *pair))


def _is_number(data: Array | Scalar) -> bool:
    return isinstance(data, Scalar) or data.rank == 0


def _strong(data: Array | Scalar) -> Array | Scalar:
    """A Python number counts with its full type."""
    return numpy_scalar(data) if isinstance(data, Scalar) else data


def array_dot(build: Builder, left: Array, right: Array) -> Array:
    """`np.dot` of two arrays of one type and at least one axis each."""
    if right.rank <= 2:
        return _plain_dot(build, left, right)
    # result[i, m, j, n] = sum over k of left[i, m, k] * right[j, k, n]: a batch over i and j
    outer = left.shape[:-2]
    rows = left.shape[-2:-1]
    batch = right.shape[:-2]
    result = empty_array(build, (*outer, *rows, *batch, right.shape[-1]), left.dtype, name="dot")
    lhs = left.view if left.rank > 1 else insert_axis(left.view, 0)
    for _ in batch:
        lhs = insert_axis(lhs, len(outer))
    lead = (*outer, *batch)
    lhs = broadcast_to(build, lhs, (*lead, *lhs.shape[-2:]))
    rhs = broadcast_to(build, right.view, (*lead, *right.shape[-2:]))
    output = result.view if left.rank > 1 else insert_axis(result.view, 0)
    first = len(outer)
    order = (*range(first), *range(first + 1, first + 1 + len(batch)), first, output.rank - 1)
    _emit(build, permute(output, order), lhs, rhs, "dot", left.dtype)
    return result


def _plain_dot(build: Builder, left: Array, right: Array) -> Array:
    """With a vector or a matrix on the right, leading axes of the left are only rows."""
    if left.rank <= 2:
        return matrix_product(build, left, right, "dot")
    shape = (*left.shape[:-1], *right.shape[1:])
    rows = reshaped(build, left, (product(left.shape[:-1]), left.shape[-1]))
    flat = matrix_product(build, rows, right, "dot")
    return reshaped(build, flat, shape)


@numpy_rule(
    "numpy.inner",
    samples=("inner(f8[4], f8[4])", "inner(f8[3, 4], f4[2, 4])", "inner(f8[3], 2)", "inner(i4[2, 3, 4], i4[4])"),
)
def lower_inner(build: Builder, a: Operand, b: Operand, /) -> Operand:
    """The last axes of both."""
    left, right = as_data(build, a), as_data(build, b)
    if isinstance(right, Array) and right.rank > 1:
        axes = tuple(range(right.rank))
        right = Array(permute(right.view, (*axes[:-2], axes[-1], axes[-2])), right.dtype)
    return _dot(build, left, right)


@numpy_rule("numpy.vdot", samples=("vdot(f8[4], f8[4])", "vdot(c8[2, 3], c16[2, 3])", "vdot(i4[2, 3], f8[6])"))
def lower_vdot(build: Builder, a: Operand, b: Operand, /) -> Operand:
    """Both flattened, the first conjugated."""
    left, right = flat_array(build, as_array(build, a)), flat_array(build, as_array(build, b))
    if left.dtype.kind == "c":
        left = as_array(build, ufunc(build, "conjugate", left))
    return _dot(build, left, right)


@numpy_rule(
    "numpy.outer", samples=("outer(f8[3], f8[4])", "outer(i4[2, 2], f8[3])", "outer(2, f4[3])", "outer(b1[2], b1[3])")
)
def lower_outer(build: Builder, a: Operand, b: Operand, out: Given = None) -> Operand:
    """Both arguments are flattened first, as NumPy does."""
    column = flat_array(build, as_array(build, a))
    row = flat_array(build, as_array(build, b))
    parts = (Array(insert_axis(column.view, 1), column.dtype), Array(insert_axis(row.view, 0), row.dtype))
    if out is not None and not is_none(out) and not isinstance(out, Array):
        raise PythonRaises("return arrays must be of ArrayType")
    return apply_ufunc(build, "multiply", parts, out=out if isinstance(out, Array) else None)


@numpy_rule(
    "numpy.tensordot",
    samples=(
        "tensordot(f8[3, 4], f8[4, 2], axes=1)",
        "tensordot(f8[2, 3, 4], f8[4, 3, 5], axes=([1, 2], [1, 0]))",
        "tensordot(f8[2, 3], f8[2, 3])",
        "tensordot(f8[2], f8[3], 0)",
    ),
)
def lower_tensordot(build: Builder, a: Operand, b: Operand, axes: Operand | int = 2) -> Operand:
    """Sum over pairs of axes: transposed and reshaped to a matrix product."""
    left, right = as_array(build, a), as_array(build, b)
    pairs = _tensordot_axes(build, axes, left.rank, right.rank)
    rows = tuple(axis for axis in range(left.rank) if axis not in pairs[0])
    columns = tuple(axis for axis in range(right.rank) if axis not in pairs[1])
    for one, other in zip(*pairs, strict=True):
        build.guard_equal(left.shape[one], right.shape[other], "tensordot: shapes do not match")
    dtype = strong_dtype(build, [left, right])
    lhs = permute(convert_array(build, left, dtype).view, (*rows, *pairs[0]))
    rhs = permute(convert_array(build, right, dtype).view, (*pairs[1], *columns))
    inner = product(lhs.shape[len(rows) :])
    outer = lhs.shape[: len(rows)], rhs.shape[len(pairs[1]) :]
    matrix = reshaped(build, Array(lhs, dtype), (product(outer[0]), inner))
    other = reshaped(build, Array(rhs, dtype), (inner, product(outer[1])))
    return reshaped(build, matrix_product(build, matrix, other, "dot"), (*outer[0], *outer[1]))


def _tensordot_axes(
    build: Builder, axes: Operand | int, left: int, right: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    value = static_value(build, axes, "axes")
    if isinstance(value, int):
        if not 0 <= value <= min(left, right):
            raise PythonRaises("shape-mismatch for sum")
        return tuple(range(left - value, left)), tuple(range(value))
    first, second = (static_axes(build, Static(item), rank) for item, rank in zip(value, (left, right), strict=True))
    if first is None or second is None or len(first) != len(second):
        raise PythonRaises("shape-mismatch for sum")
    return first, second


# -- norms ------------------------------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.linalg.norm",
    samples=(
        "linalg.norm(f8[5])",
        "linalg.norm(f4[3, 4])",
        "linalg.norm(i4[3, 4], axis=1)",
        "linalg.norm(f8[3, 4], 1, axis=0)",
        "linalg.norm(f8[4], np.inf)",
        "linalg.norm(c8[3, 2])",
        "linalg.norm(f8[3, 4], axis=-1, keepdims=True)",
    ),
)
def lower_norm(
    build: Builder,
    x: Operand,
    ord: Given = None,
    axis: Given = None,
    keepdims: Flag = False,
) -> Operand:
    """Of vectors: 2 (also Frobenius), 1 and inf; along an axis or of everything."""
    array = as_array(build, x)
    if array.dtype.kind in "biu":
        array = convert_array(build, array, DType.FLOAT64)
    kind = static_value(build, ord, "ord")
    axes = static_axes(build, axis, array.rank)
    vector = array.rank == 1 if axes is None else len(axes) == 1
    if not (kind is None or (vector and kind in (1, 2, float("inf")))):
        raise build.error("E261", f"norms with ord={kind!r} are not compiled here", "write it with np.sum and np.abs")
    along = Static(axes) if axes is not None else None
    if kind in (1, float("inf")):
        size = ufunc(build, "absolute", array)
        return reduce_with(build, "add" if kind == 1 else "maximum", size, along, None, keepdims)
    if axes is None:
        return ufunc(build, "sqrt", _dot_with_itself(build, array, keepdims))
    conjugate = array if array.dtype.kind != "c" else ufunc(build, "conjugate", array)
    squares = real_parts(build, as_array(build, ufunc(build, "multiply", conjugate, array)))[0]
    return ufunc(build, "sqrt", reduce_with(build, "add", squares, along, None, keepdims))


def _dot_with_itself(build: Builder, array: Array, keepdims: Flag) -> Operand:
    """The sum of all squares, as NumPy makes it of the real and of the imaginary parts."""
    keep, axes, total = static_bool(build, keepdims, "keepdims"), tuple(range(array.rank)), None
    for part in real_parts(build, array):
        squares = as_array(build, ufunc(build, "square", part, words="dot"))
        found = reduce_array(build, "add", squares, axes, squares.dtype, keepdims=keep, words="dot")
        added = scalar_or_array(build, found)
        total = added if total is None else arithmetic(build, "add", total, added)
    assert total is not None
    return total
