"""New arrays: zeros, full, eye, array, copies and conversions.

in:   shapes and numbers known at run time; dtype and order at compile time
out:  a new array (asarray and astype without a change: the array given)

    np.zeros((n, m))  ->  an Alloc and an Elementwise that fills it, n >= 0 and m >= 0 guarded
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.ir.dtypes import DType, ScalarType
from weft.ir.exprs import Expr, Index, const_index, op
from weft.numpy_rules.arguments import (
    Flag,
    Given,
    PythonRaises,
    extent_of,
    integer_of,
    is_none,
    shape_of,
    static_bool,
    static_dtype,
    static_order,
    static_value,
)
from weft.numpy_rules.arrays import (
    as_array,
    as_data,
    common_dtype,
    condition,
    copy_array,
    data_dtype,
    empty_array,
    from_nested,
    generate,
    guard_assignable,
    refuse_real_part,
    where_mask,
)
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import broadcast_to, cast, initialise, new_array, store, store_where
from weft.numpy_rules.indexing import insert_axis
from weft.numpy_rules.memory_order import copied_order, masked_order
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.reshaping import guard_contiguity
from weft.numpy_rules.type_conversions import convert_type
from weft.numpy_rules.values import Array, Operand, Scalar, Static, Tuple

ZERO, ONE = const_index(0), const_index(1)


# -- constant contents ------------------------------------------------------------------------------------------------


def _constant(build: Builder, shape: Operand, dtype: Given, order: Operand | str, value: int | None) -> Array:
    kind = static_dtype(build, dtype) or DType.FLOAT64
    letter = static_order(build, order, "CF")
    target = empty_array(build, shape_of(build, shape), kind, letter, "x")
    if value is not None:
        initialise(build, target, Scalar(const_index(value)))
    return target


@numpy_rule("numpy.zeros", samples=("zeros(3)", "zeros((2, 3), dtype=np.float32)", "zeros((2, 3), int, 'F')"))
def lower_zeros(build: Builder, shape: Operand, dtype: Given = None, order: Operand | str = "C") -> Operand:
    """An array of zeros."""
    return _constant(build, shape, dtype, order, 0)


@numpy_rule("numpy.ones", samples=("ones(3)", "ones((2, 0, 3), dtype=bool)", "ones((2, 3), dtype='i4')"))
def lower_ones(build: Builder, shape: Operand, dtype: Given = None, order: Operand | str = "C") -> Operand:
    """An array of ones."""
    return _constant(build, shape, dtype, order, 1)


@numpy_rule("numpy.empty")
def lower_empty(build: Builder, shape: Operand, dtype: Given = None, order: Operand | str = "C") -> Operand:
    """An array of undefined contents."""
    return _constant(build, shape, dtype, order, None)


@numpy_rule("numpy.ndarray")
def lower_ndarray(build: Builder, shape: Operand, dtype: Given = None, *, order: Operand | str = "C") -> Operand:
    """The class itself, which gives an array of undefined contents: without memory to look at, as `np.empty`."""
    return _constant(build, shape, dtype, order, None)


@numpy_rule(
    "numpy.full",
    samples=(
        "full(3, 2)",
        "full((2, 3), 1.5)",
        "full((2, 3), f4[3])",
        "full(4, 2.75, dtype=np.int32)",
        "full(3, True)",
    ),
)
def lower_full(
    build: Builder, shape: Operand, fill_value: Operand, dtype: Given = None, order: Operand | str = "C"
) -> Operand:
    """The type of the value unless one is given."""
    value = as_data(build, fill_value)
    kind = static_dtype(build, dtype) or data_dtype(value)
    guard_assignable(build, value, kind)
    target = empty_array(build, shape_of(build, shape), kind, static_order(build, order, "CF"), "x")
    return _filled(build, target, value)


def _filled(build: Builder, target: Array, value: Array | Scalar) -> Array:
    if isinstance(value, Array) and value.rank > target.rank:
        raise PythonRaises("could not broadcast the fill value")
    initialise(build, target, value)
    return target


def _like(build: Builder, prototype: Operand, dtype: Given, order: Operand | str, shape: Given) -> Array:
    array = as_array(build, prototype)
    kind = static_dtype(build, dtype) or array.dtype
    letter = static_order(build, order, "CFK")
    extents = array.shape if shape is None or is_none(shape) else shape_of(build, shape)
    if letter == "K":
        return new_array(build, extents, kind, "x", [array.view], copied_order)
    return empty_array(build, extents, kind, letter, "x")


@numpy_rule("numpy.zeros_like", samples=("zeros_like(f4[2, 3])", "zeros_like(f8[2, 3], dtype=int, shape=(4,))"))
def lower_zeros_like(
    build: Builder, a: Operand, dtype: Given = None, order: Operand | str = "K", *, shape: Given = None
) -> Operand:
    """Zeros in the shape, type and memory order of another array."""
    target = _like(build, a, dtype, order, shape)
    initialise(build, target, Scalar(ZERO))
    return target


@numpy_rule("numpy.ones_like", samples=("ones_like(i4[2, 3])", "ones_like(2.5)"))
def lower_ones_like(
    build: Builder, a: Operand, dtype: Given = None, order: Operand | str = "K", *, shape: Given = None
) -> Operand:
    """Ones in the shape, type and memory order of another array."""
    target = _like(build, a, dtype, order, shape)
    initialise(build, target, Scalar(ONE))
    return target


@numpy_rule("numpy.empty_like")
def lower_empty_like(
    build: Builder, prototype: Operand, /, dtype: Given = None, order: Operand | str = "K", *, shape: Given = None
) -> Operand:
    """Undefined contents in the shape, type and memory order of another array."""
    return _like(build, prototype, dtype, order, shape)


@numpy_rule("numpy.full_like", samples=("full_like(f4[2, 3], 2)", "full_like(i4[3], 2.75)"))
def lower_full_like(
    build: Builder,
    a: Operand,
    fill_value: Operand,
    dtype: Given = None,
    order: Operand | str = "K",
    *,
    shape: Given = None,
) -> Operand:
    """One value in the shape, type and memory order of another array."""
    value = as_data(build, fill_value)
    array = as_array(build, a)
    guard_assignable(build, value, static_dtype(build, dtype) or array.dtype)
    return _filled(build, _like(build, array, dtype, order, shape), value)


# -- matrices ---------------------------------------------------------------------------------------------------------


@numpy_rule("numpy.eye", samples=("eye(3)", "eye(3, 4, k=1)", "eye(3, k=-1, dtype=np.int32)"))
def lower_eye(
    build: Builder,
    N: Operand,
    M: Given = None,
    k: Operand | int = 0,
    dtype: Given = None,
    order: Operand | str = "C",
) -> Operand:
    """Ones on a diagonal."""
    rows = extent_of(build, N)
    columns = rows if M is None or is_none(M) else extent_of(build, M)
    kind = static_dtype(build, dtype) or DType.FLOAT64
    return _diagonal_ones(build, rows, columns, integer_of(build, k, "k"), kind, static_order(build, order, "CF"))


@numpy_rule("numpy.identity", samples=("identity(3)", "identity(2, dtype=bool)"))
def lower_identity(build: Builder, n: Operand, dtype: Given = None) -> Operand:
    """Ones on the main diagonal."""
    rows = extent_of(build, n)
    return _diagonal_ones(build, rows, rows, ZERO, static_dtype(build, dtype) or DType.FLOAT64, "C")


def _diagonal_ones(build: Builder, rows: Index, columns: Index, k: Index, dtype: DType, order: str) -> Array:
    target = empty_array(build, (rows, columns), dtype, order, "eye")
    one, zero = cast(ONE, dtype), cast(ZERO, dtype)
    type_ = ScalarType(dtype)
    generate(build, target.view, lambda p, _: op("select", (condition("equal", p[1] - p[0], k), one, zero), type_))
    return target


@numpy_rule("numpy.tri", samples=("tri(3)", "tri(3, 4, 1)", "tri(3, dtype=np.int32)"))
def lower_tri(build: Builder, N: Operand, M: Given = None, k: Operand | int = 0, dtype: Given = None) -> Operand:
    """Ones on and below a diagonal."""
    rows = extent_of(build, N)
    columns = rows if M is None or is_none(M) else extent_of(build, M)
    kind = static_dtype(build, dtype) or DType.FLOAT64
    offset = integer_of(build, k, "k")
    target = empty_array(build, (rows, columns), kind, "C", "tri")
    one, zero = cast(ONE, kind), cast(ZERO, kind)
    type_ = ScalarType(kind)
    generate(
        build, target.view, lambda p, _: op("select", (condition("less_equal", p[1] - p[0], offset), one, zero), type_)
    )
    return target


@numpy_rule("numpy.tril", samples=("tril(f8[3, 4])", "tril(i4[2, 3, 3], k=-1)", "tril(f8[3])"))
def lower_tril(build: Builder, m: Operand, k: Operand | int = 0) -> Operand:
    """Zeros above a diagonal."""
    return _triangle(build, m, "less_equal", integer_of(build, k, "k"))


@numpy_rule("numpy.triu", samples=("triu(f8[3, 4])", "triu(f4[3, 3], 1)"))
def lower_triu(build: Builder, m: Operand, k: Operand | int = 0) -> Operand:
    """Zeros below a diagonal."""
    return _triangle(build, m, "greater_equal", integer_of(build, k, "k"))


def _triangle(build: Builder, m: Operand, test: str, k: Index) -> Array:
    array = as_array(build, m)
    if array.rank == 0:
        raise PythonRaises("the last axes of the array must be a matrix")
    shape = array.shape if array.rank > 1 else (array.shape[0], array.shape[0])
    target = new_array(build, shape, array.dtype, "tri", [array.view], masked_order)
    zero, type_ = cast(ZERO, array.dtype), ScalarType(array.dtype)

    def body(point: Sequence[Index], elements: Sequence[Expr]) -> Expr:
        return op("select", (condition(test, point[-1] - point[-2], k), elements[0], zero), type_)

    generate(build, target.view, body, [(broadcast_to(build, array.view, shape), array.dtype)])
    return target


# -- copies and conversions -------------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.array",
    samples=(
        "array(f4[2, 3])",
        "array([1, 2.5, 3])",
        "array([[1, 2], [3, 4]], dtype=np.float32)",
        "array(2.5)",
        "array((True, 2))",
        "array([f8[3], f8[3]])",
        "array([])",
        "array(f8[3], dtype=np.int64)",
        "array(f8[2, 3], order='F')",
    ),
)
def lower_array(
    build: Builder,
    object: Operand,
    dtype: Given = None,
    *,
    copy: Flag = True,
    order: Operand | str = "K",
    ndmin: Operand | int = 0,
) -> Operand:
    """A new array, of an array too unless `copy` says otherwise."""
    if static_value(build, ndmin, "ndmin") != 0:
        raise build.error("E251", "ndmin is not compiled", "add axes with np.newaxis")
    kind = static_dtype(build, dtype)
    letter = static_order(build, order, "CFK")
    choice = static_value(build, copy, "copy")
    if choice is False and not isinstance(object, Array):
        raise PythonRaises("unable to avoid a copy")
    if isinstance(object, Array) and not choice:
        if kind not in (None, object.dtype) or letter != "K":
            raise build.error("E251", "np.array without a copy is not compiled here", "use np.asarray")
        return object
    return _new(build, object, kind, letter)


def _new(build: Builder, operand: Operand, dtype: DType | None, order: str) -> Array:
    if isinstance(operand, Tuple):
        array = from_nested(build, operand, dtype)
        return array if order != "F" else copy_array(build, array, order="F")
    data = as_data(build, operand)
    if isinstance(data, Scalar):
        kind = dtype or data.type.dtype
        guard_assignable(build, data, kind)
        return as_array(build, Scalar(cast(data.expr, kind)))
    return copy_array(build, data, dtype, order)


@numpy_rule(
    "numpy.asarray",
    "numpy.asanyarray",
    samples=("asarray(f4[2, 3])", "asarray([1, 2])", "asarray(i4[3], dtype=float)", "asarray(1.5)"),
)
def lower_asarray(build: Builder, a: Operand, dtype: Given = None) -> Operand:
    """The array itself where it has the type already."""
    kind = static_dtype(build, dtype)
    if isinstance(a, Array) and kind in (None, a.dtype):
        return a
    return _new(build, a, kind, "K")


@numpy_rule("numpy.ascontiguousarray", samples=("ascontiguousarray([1.5, 2])", "ascontiguousarray(i4[2, 3], float)"))
def lower_ascontiguousarray(build: Builder, a: Operand, dtype: Given = None) -> Operand:
    """The array itself where it is contiguous already; whether it is must follow from what is known now."""
    kind = static_dtype(build, dtype)
    if not isinstance(a, Array) or kind not in (None, a.dtype):
        array = _new(build, a, kind, "C")
        return array if array.rank else Array(insert_axis(array.view, 0), array.dtype)
    contiguous = guard_contiguity(build, a.view) if a.rank else None
    if contiguous is not None:
        return a if contiguous else copy_array(build, a, order="C")
    raise build.error("E252", "whether this array is contiguous is known only at run time", "use np.copy or .copy()")


@numpy_rule("numpy.copy", samples=("copy(f8[2, 3])", "copy(2.5)"))
def lower_copy(build: Builder, a: Operand, order: Operand | str = "K") -> Operand:
    """A copy, in the same memory order."""
    return _new(build, a, None, static_order(build, order, "CFK"))


@numpy_rule("ndarray.copy", samples=("copy(f8[2, 3])", "copy(f8[2, 3], order='K')"))
def lower_copy_method(build: Builder, a: Operand, order: Operand | str = "C") -> Operand:
    """A copy, in C order."""
    return copy_array(build, as_array(build, a), order=static_order(build, order, "CFK"))


@numpy_rule(
    "ndarray.astype",
    samples=(
        "astype(f8[2, 3], np.float32)",
        "astype(f8[5], int)",
        "astype(i4[5], bool)",
        "astype(f4[3], np.complex64)",
    ),
)
def lower_astype(
    build: Builder, a: Operand, dtype: Operand, order: Operand | str = "K", *, copy: Flag = True
) -> Operand:
    """A new array of another type."""
    array = as_array(build, a)
    kind = static_dtype(build, dtype) or DType.FLOAT64
    refuse_real_part(build, array.dtype, kind)
    letter = static_order(build, order, "CFK")
    if kind is array.dtype and not static_bool(build, copy, "copy") and letter == "K":
        return array
    return copy_array(build, array, kind, letter)


@numpy_rule("scalar.astype")
def lower_scalar_astype(build: Builder, a: Operand, dtype: Operand) -> Operand:
    """A NumPy scalar of another type."""
    kind = static_dtype(build, dtype) or DType.FLOAT64
    return convert_type(build, a, kind)


# -- writing whole arrays ---------------------------------------------------------------------------------------------


@numpy_rule("ndarray.fill")
def lower_fill(build: Builder, a: Operand, value: Operand, /) -> Operand:
    """Write one number everywhere."""
    target, data = as_array(build, a), as_data(build, value)
    if isinstance(data, Array) and data.rank > 0:
        raise PythonRaises("setting an array element with a sequence")
    guard_assignable(build, data, target.dtype)
    store(build, target, data)
    return Static(None)


@numpy_rule("numpy.copyto")
def lower_copyto(build: Builder, dst: Operand, src: Operand, *, where: Flag = True) -> Operand:
    """Write an array or a number over another array, where its type allows and the mask is true."""
    if not isinstance(dst, Array):
        raise PythonRaises("copyto needs an array to write to")
    data = as_data(build, src)
    weak = isinstance(data, Scalar) and data.type.python
    sample = Scalar(cast(ZERO, dst.dtype))
    source = common_dtype(build, [data, sample]) if weak else data_dtype(data)
    if not np.can_cast(source.numpy, dst.dtype.numpy, "same_kind"):
        raise PythonRaises("cannot cast according to the rule 'same_kind'")
    if isinstance(data, Array) and data.rank > dst.rank:
        raise PythonRaises("could not broadcast")
    guard_assignable(build, data, dst.dtype)
    mask = where_mask(build, where)
    if mask is None:
        store(build, dst, data)
    else:
        store_where(build, dst, mask, data)
    return Static(None)
