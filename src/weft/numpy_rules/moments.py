"""Means and variances: mean, var, std.

in:   an array, and `axis`, `keepdims`, `dtype`, `ddof` known at compile time
out:  a NumPy scalar for a full reduction, else a new array

    np.mean(a, axis=0)  ->  s = Reduce add over axis 0 of a;  s / np.int64(n), back in the type of s
"""

from __future__ import annotations

from weft.ir.dtypes import DType, ScalarType
from weft.ir.exprs import Index, const_index, op
from weft.numpy_rules.arguments import Flag, Given, static_bool, static_dtype, static_int
from weft.numpy_rules.arrays import as_array, convert_data, map_array, ufunc
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast
from weft.numpy_rules.reductions import axes_of, deliver, guard_not_empty, reduce_array, scalar_or_array
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.values import Array, Operand, Scalar

ONE = const_index(1)


def _count(build: Builder, array: Array, axes: tuple[int, ...]) -> Index:
    """How many elements go into each result; empty ones are left to Python, which warns."""
    guard_not_empty(build, array.view, axes, "mean of an empty slice")
    total = ONE
    for axis in axes:
        total = total * array.shape[axis]
    return total


def _numpy_int(count: Index) -> Scalar:
    return Scalar(cast(count, DType.INT64))


def _mean(
    build: Builder, array: Array, axes: tuple[int, ...], dtype: DType | None, *, keepdims: bool
) -> Array | Scalar:
    """The sum over the count: divided as NumPy's types say, then back in the type of the sum.

    The count is looked at after the sum, which gives no warning if it is empty: where a mask chooses the elements, it
    is a sum over the same mask, and nothing stands between the two.
    """
    target = dtype or (DType.FLOAT64 if array.dtype.kind in "biu" else array.dtype)
    total = scalar_or_array(build, reduce_array(build, "add", array, axes, target, keepdims=keepdims))
    count = _count(build, array, axes)
    return convert_data(build, ufunc(build, "divide", total, _numpy_int(count)), target)


@numpy_rule(
    "numpy.mean",
    "ndarray.mean",
    samples=(
        "mean(f8[3, 4])",
        "mean(f4[3, 4], axis=0)",
        "mean(i4[3, 4], axis=1, keepdims=True)",
        "mean(f4[5], dtype=np.float64)",
        "mean(c8[3, 2], axis=0)",
        "mean(b1[5])",
    ),
)
def lower_mean(
    build: Builder, a: Operand, axis: Given = None, dtype: Given = None, out: Given = None, keepdims: Flag = False
) -> Operand:
    """Integers are averaged in float64, float32 in float32."""
    array = as_array(build, a)
    axes = axes_of(build, axis, array.rank)
    keep = static_bool(build, keepdims, "keepdims")
    return deliver(build, _mean(build, array, axes, static_dtype(build, dtype), keepdims=keep), out)


def _variance(
    build: Builder, a: Operand, axis: Given, dtype: Given, ddof: Operand | int, keepdims: Flag
) -> Array | Scalar:
    """Two passes: the mean, then the mean of the squared distances to it."""
    array = as_array(build, a)
    axes = axes_of(build, axis, array.rank)
    keep = static_bool(build, keepdims, "keepdims")
    removed = static_int(build, ddof, "ddof")
    wanted = static_dtype(build, dtype)
    target = wanted or (DType.FLOAT64 if array.dtype.kind in "biu" else array.dtype)
    mean = _mean(build, array, axes, target, keepdims=True)
    squares = _squared_modulus(build, as_array(build, ufunc(build, "subtract", array, mean)))
    count = _count(build, array, axes) - removed
    build.guard_nonnegative(count - 1, "degrees of freedom <= 0")
    if wanted is None:
        target = DType.FLOAT64 if array.dtype.kind in "biu" else squares.dtype
    total = scalar_or_array(build, reduce_array(build, "add", squares, axes, target, keepdims=keep))
    return convert_data(build, ufunc(build, "divide", total, _numpy_int(count)), target)


def _squared_modulus(build: Builder, array: Array) -> Array:
    """`|x|**2` of every element."""
    squares = [ufunc(build, "square", part) for part in real_parts(build, array)]
    return as_array(build, squares[0] if len(squares) == 1 else ufunc(build, "add", *squares))


def real_parts(build: Builder, array: Array) -> list[Array]:
    """The real and the imaginary parts; of an array of real numbers it alone."""
    if array.dtype.kind != "c":
        return [array]
    dtype = DType.FLOAT32 if array.dtype is DType.COMPLEX64 else DType.FLOAT64
    type_ = ScalarType(dtype)
    return [
        map_array(build, array, dtype, lambda x, name=name: op(name, (x,), type_), name) for name in ("real", "imag")
    ]


@numpy_rule(
    "numpy.var",
    "ndarray.var",
    samples=("var(f8[3, 4])", "var(f4[3, 4], axis=0, ddof=1)", "var(i4[3, 4], axis=1, keepdims=True)", "var(c16[5])"),
)
def lower_var(
    build: Builder,
    a: Operand,
    axis: Given = None,
    dtype: Given = None,
    out: Given = None,
    ddof: Operand | int = 0,
    keepdims: Flag = False,
) -> Operand:
    """Two-pass, as NumPy."""
    return deliver(build, _variance(build, a, axis, dtype, ddof, keepdims), out)


@numpy_rule(
    "numpy.std",
    "ndarray.std",
    samples=("std(f8[3, 4])", "std(f4[3, 4], axis=0)", "std(u1[3, 4], axis=1, ddof=1)"),
)
def lower_std(
    build: Builder,
    a: Operand,
    axis: Given = None,
    dtype: Given = None,
    out: Given = None,
    ddof: Operand | int = 0,
    keepdims: Flag = False,
) -> Operand:
    """The square root of the variance."""
    return deliver(build, ufunc(build, "sqrt", _variance(build, a, axis, dtype, ddof, keepdims)), out)
