"""What passes over NaN: nansum, nanmean, nanvar, nanstd, nanmax, nanmin, nan_to_num.

in:   an array, and `axis`, `keepdims`, `ddof` known at compile time
out:  as the plain functions

    np.nanmean(a, axis=0)  ->  n = sum(~isnan(a), 0);  sum(select(isnan(a), 0, a), 0) / n, NaN where n is 0

Where nothing but NaN is in a slice, or too few numbers, NumPy warns in words of its own: it is called for one NaN, and
what it gives is the result of such slices. In loops and where Python must catch what is raised, Python repeats the
statement instead; that is known before anything is summed up, so that no warning comes twice. Integers go to the plain
functions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.ir.dtypes import NP_BOOL, PY_FLOAT, DType, ScalarType
from weft.ir.exprs import Expr, const, const_index, op
from weft.ir.neutral import neutral
from weft.ir.nodes import Branch, Storage, Yield
from weft.numpy_rules.arguments import Flag, Given, is_none, static_bool, static_int, static_value
from weft.numpy_rules.arrays import (
    as_array,
    as_data,
    convert_data,
    copy_array,
    map_array,
    read_scalar,
    steady,
    ufunc,
    write_fresh,
)
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.choosing import chosen_from, note_chosen_by_all
from weft.numpy_rules.elementwise import cast, initialise, map_elements, narrowed, new_array, store
from weft.numpy_rules.guards import Scope
from weft.numpy_rules.indexing import insert_axis
from weft.numpy_rules.moments import lower_mean, lower_std, lower_var
from weft.numpy_rules.reductions import (
    all_of,
    axes_of,
    guard_all,
    lower_sum,
    reduce_array,
    reduce_with,
    scalar_or_array,
)
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.typed_calls import call_numpy
from weft.numpy_rules.values import Array, Operand, Scalar

ZERO = const_index(0)
_EXTREMES = {"nanmax": "maximum", "nanmin": "minimum"}


def _replaced(build: Builder, array: Array, number: Expr) -> Array:
    """The array with a number in the place of every NaN."""

    def replace(source: Array) -> Array:
        type_ = ScalarType(source.dtype)
        return map_array(
            build, source, source.dtype, lambda x: op("select", (op("isnan", (x,), NP_BOOL), number, x), type_), "kept"
        )

    def whole(_: Array) -> Array:
        source = chosen_from(build, array)
        assert source is not None
        return replace(source.array)

    result = replace(array)
    note_chosen_by_all(build, result, [array], whole)
    return result


def _count(build: Builder, array: Array, axes: tuple[int, ...]) -> Array:
    """How many elements of each slice are no NaN."""
    present = as_array(build, ufunc(build, "logical_not", ufunc(build, "isnan", array)))
    return reduce_array(build, "add", present, axes, DType.INT64)


def _more_than(build: Builder, count: Array, least: int) -> Array | Scalar:
    return ufunc(build, "greater", scalar_or_array(build, count), Scalar(const_index(least)))


def _may_call(build: Builder) -> bool:
    """Whether NumPy may be called here: not where Python must catch what is raised, nor in loops, for their threads."""
    return not build.protected and not any(scope.turns for scope in build.scopes)


def _nothing(build: Builder, name: str, enough: Array | Scalar, dtype: DType) -> Scalar:
    """NaN, for the slices that have not enough numbers; where there are some, NumPy gives it, and warns."""
    nan = cast(const(np.nan, PY_FLOAT), dtype)
    if not _may_call(build):
        guard_all(build, enough, "a slice has too few numbers that are no NaN")
        return Scalar(nan)
    place = build.alloc((), dtype, "nan")
    write_fresh(build, [(place.at(()), nan)])
    with build.region() as then:
        build.emit(Yield(()))
    with build.region() as orelse:
        line = Array(build.alloc((const_index(1),), dtype, "nan"), dtype)
        write_fresh(build, [(line.view.at((ZERO,)), nan)])
        found = call_numpy(build, f"numpy.{name}", (line,), {})
        assert isinstance(found, Scalar)
        write_fresh(build, [(place.at(()), cast(found.expr, dtype))])
        build.emit(Yield(()))
    _branch(build, all_of(build, enough), then, orelse)
    return read_scalar(build, Array(place, dtype))


def _branch(build: Builder, condition: Expr, then: Scope, orelse: Scope) -> None:
    regions = build.close(then), build.close(orelse)
    build.emit(Branch(condition=condition, then=regions[0], orelse=regions[1], id=build.new_id(), span=build.span))


def _where_enough(build: Builder, enough: Array | Scalar, data: Array | Scalar, other: Scalar) -> Array | Scalar:
    """The data, or another number where there is not enough."""
    type_ = ScalarType(other.type.dtype)
    if isinstance(enough, Scalar) and isinstance(data, Scalar):
        return Scalar(build.let(op("select", (enough.expr, data.expr, other.expr), type_), "nan"))
    assert isinstance(data, Array)
    return map_elements(
        build, (enough, data, other), data.shape, data.dtype, lambda args: op("select", tuple(args), type_), name="nan"
    )


def _average(build: Builder, total: Array, count: Array, ddof: int = 0) -> Array | Scalar:
    """The total over the count, in the type of the total; as in NumPy under np.errstate(invalid="ignore")."""
    divisor = scalar_or_array(build, count)
    if ddof:
        divisor = ufunc(build, "subtract", divisor, Scalar(const_index(ddof)))
    modes, build.error_modes = build.error_modes, {**build.error_modes, "divide": "ignore", "invalid": "ignore"}
    try:
        return convert_data(build, ufunc(build, "divide", scalar_or_array(build, total), divisor), total.dtype)
    finally:
        build.error_modes = modes


def _with_axes(build: Builder, data: Array | Scalar, axes: tuple[int, ...]) -> Array:
    """The result with the axes put back that were reduced, 1 long."""
    array = as_array(build, data)
    view = array.view
    for axis in axes:
        view = insert_axis(view, axis)
    return array.viewed(view)


@numpy_rule(
    "numpy.nansum",
    samples=(
        "nansum(f8[5])",
        "nansum(f8[4, 3], axis=1)",
        "nansum(i4[5])",
        "nansum(c8[3, 4], axis=(0, 1), keepdims=True)",
        "nansum(f4[3, 4], 0, np.float64)",
    ),
)
def lower_nansum(
    build: Builder, a: Operand, axis: Given = None, dtype: Given = None, *, keepdims: Flag = False
) -> Operand:
    """The sum with 0 in the place of every NaN."""
    array = as_array(build, a)
    if array.dtype.kind in "fc":
        array = _replaced(build, array, cast(ZERO, array.dtype))
    return lower_sum(build, array, axis, dtype, keepdims=keepdims)


def _sum(build: Builder, array: Array, axes: tuple[int, ...]) -> Array:
    return reduce_array(build, "add", _replaced(build, array, cast(ZERO, array.dtype)), axes, array.dtype)


@numpy_rule(
    "numpy.nanmean",
    samples=(
        "nanmean(f8[5])",
        "nanmean(f4[4, 3], axis=0)",
        "nanmean(c16[4, 3], axis=1, keepdims=True)",
        "nanmean(u1[4, 3], 1)",
    ),
)
def lower_nanmean(build: Builder, a: Operand, axis: Given = None, *, keepdims: Flag = False) -> Operand:
    """The sum of the others over their count, in the type of the array."""
    array = as_array(build, a)
    if array.dtype.kind not in "fc":
        return lower_mean(build, array, axis, keepdims=keepdims)
    axes = axes_of(build, axis, array.rank)
    keep = static_bool(build, keepdims, "keepdims")
    count = _count(build, array, axes)
    enough = _more_than(build, count, 0)
    nothing = _nothing(build, "nanmean", enough, array.dtype)
    mean = _where_enough(build, enough, _average(build, _sum(build, array, axes), count), nothing)
    return _with_axes(build, mean, axes) if keep else mean


def _variance(
    build: Builder, name: str, array: Array, axis: Given, ddof: Operand | int, keepdims: Flag
) -> Array | Scalar:
    """The mean, then the sum of the squared distances to it, 0 for NaN, over the degrees of freedom."""
    axes = axes_of(build, axis, array.rank)
    removed = static_int(build, ddof, "ddof")
    if removed < 0:
        raise build.error("E240", "a negative ddof is not compiled", "leave it out")
    keep = static_bool(build, keepdims, "keepdims")
    count = _count(build, array, axes)
    enough = _more_than(build, count, removed)
    real = {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}.get(array.dtype, array.dtype)
    nothing = _nothing(build, name, enough, real)
    mean = _average(build, _sum(build, array, axes), count)
    distance = as_array(build, ufunc(build, "subtract", array, _with_axes(build, mean, axes)))
    squares = _squares(build, _numbers(build, array, distance))
    total = reduce_array(build, "add", squares, axes, squares.dtype)
    variance = _where_enough(build, enough, _average(build, total, count, removed), nothing)
    return _with_axes(build, variance, axes) if keep else variance


def _numbers(build: Builder, array: Array, distance: Array) -> Array:
    """The distances, 0 where the array has a NaN."""
    type_ = ScalarType(array.dtype)

    def body(args: Sequence[Expr]) -> Expr:
        return op("select", (op("isnan", (args[0],), NP_BOOL), cast(ZERO, array.dtype), args[1]), type_)

    return map_elements(build, (array, distance), array.shape, array.dtype, body, name="kept")


def _squares(build: Builder, array: Array) -> Array:
    """`|x|**2` of every element, by a product as NumPy has it."""
    if array.dtype.kind != "c":
        return as_array(build, ufunc(build, "multiply", array, array))
    product = as_array(build, ufunc(build, "multiply", array, ufunc(build, "conjugate", array)))
    dtype = DType.FLOAT32 if array.dtype is DType.COMPLEX64 else DType.FLOAT64
    return map_array(build, product, dtype, lambda x: op("real", (x,), ScalarType(dtype)), "sq")


@numpy_rule(
    "numpy.nanvar",
    samples=("nanvar(f8[5])", "nanvar(f4[4, 3], axis=0, ddof=1)", "nanvar(c8[4, 3], axis=1)", "nanvar(i4[4, 3], 0)"),
)
def lower_nanvar(
    build: Builder, a: Operand, axis: Given = None, *, ddof: Operand | int = 0, keepdims: Flag = False
) -> Operand:
    """Two-pass, as NumPy."""
    array = as_array(build, a)
    if array.dtype.kind not in "fc":
        return lower_var(build, array, axis, ddof=ddof, keepdims=keepdims)
    return _variance(build, "nanvar", array, axis, ddof, keepdims)


@numpy_rule(
    "numpy.nanstd",
    samples=("nanstd(f8[4, 3], axis=0)", "nanstd(f8[5], ddof=1)", "nanstd(f4[4, 3], axis=(0, 1), keepdims=True)"),
)
def lower_nanstd(
    build: Builder, a: Operand, axis: Given = None, *, ddof: Operand | int = 0, keepdims: Flag = False
) -> Operand:
    """The square root of the variance."""
    array = as_array(build, a)
    if array.dtype.kind not in "fc":
        return lower_std(build, array, axis, ddof=ddof, keepdims=keepdims)
    return ufunc(build, "sqrt", _variance(build, "nanstd", array, axis, ddof, keepdims))


# -- extremes ---------------------------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.nanmax",
    samples=("nanmax(f8[5])", "nanmax(f4[4, 3], axis=0)", "nanmax(i4[4, 3], 1)", "nanmax(f8[4, 3], keepdims=True)"),
)
def lower_nanmax(build: Builder, a: Operand, axis: Given = None, *, keepdims: Flag = False) -> Operand:
    """NaN loses."""
    return _extreme(build, "nanmax", a, axis, keepdims)


@numpy_rule(
    "numpy.nanmin",
    samples=("nanmin(f8[5])", "nanmin(f4[4, 3], axis=1, keepdims=True)", "nanmin(b1[4, 3], 0)"),
)
def lower_nanmin(build: Builder, a: Operand, axis: Given = None, *, keepdims: Flag = False) -> Operand:
    """NaN loses."""
    return _extreme(build, "nanmin", a, axis, keepdims)


def _extreme(build: Builder, name: str, a: Operand, axis: Given, keepdims: Flag) -> Operand:
    """An infinity that loses against every number stands for NaN; as a result it may be one, or a number."""
    array = as_array(build, a)
    if array.dtype.kind != "f":
        return reduce_with(build, _EXTREMES[name], array, axis, None, keepdims)
    axes = axes_of(build, axis, array.rank)
    least = neutral(_EXTREMES[name], ScalarType(array.dtype))
    found = reduce_array(build, _EXTREMES[name], _replaced(build, array, least), axes, array.dtype)
    extreme = scalar_or_array(build, found)
    seen = ufunc(build, "not_equal", extreme, Scalar(least))
    if _may_call(build) and isinstance(a, Array) and build.container(a.view.container).storage is Storage.ARGUMENT:
        enough = _looked_at_again(build, array, axes, seen)
        extreme = _where_enough(build, enough, extreme, _nothing(build, name, enough, array.dtype))
    else:  # what is computed here need not be kept for a second look
        guard_all(build, seen, "a slice may have nothing but NaN")
    return _with_axes(build, extreme, axes) if static_bool(build, keepdims, "keepdims") else extreme


def _looked_at_again(build: Builder, array: Array, axes: tuple[int, ...], seen: Array | Scalar) -> Array | Scalar:
    """Which slices have a number: all of them if that is seen already, else those where one is found."""
    result = Array(build.alloc((), DType.BOOL, "enough"), DType.BOOL)
    if isinstance(seen, Array):
        result = new_array(build, seen.shape, DType.BOOL, "enough", [seen.view])
    with build.region() as then:
        initialise(build, result, Scalar(const(True, NP_BOOL)))
        build.emit(Yield(()))
    with build.region() as orelse:
        present = as_array(build, ufunc(build, "logical_not", ufunc(build, "isnan", array)))
        initialise(build, result, reduce_array(build, "logical_or", present, axes, DType.BOOL))
        build.emit(Yield(()))
    _branch(build, all_of(build, seen), then, orelse)
    return scalar_or_array(build, result)


# -- numbers in their place -------------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.nan_to_num",
    samples=(
        "nan_to_num(f8[5])",
        "nan_to_num(c8[4, 3], nan=1.0)",
        "nan_to_num(i8[5])",
        "nan_to_num(f4[4, 3], posinf=v(2.5), neginf=-1)",
        "nan_to_num(v(2.5))",
    ),
)
def lower_nan_to_num(
    build: Builder,
    x: Operand,
    copy: Flag = True,
    nan: Given = None,
    posinf: Given = None,
    neginf: Given = None,
) -> Operand:
    """Numbers in the place of NaN and of the infinite ones, by default the largest; in a new array, or there."""
    copies = static_value(build, copy, "copy")
    in_place = copies is not True
    if in_place and not (copies is False and isinstance(x, Array) and x.rank):
        raise build.error("E251", "np.nan_to_num without a copy is compiled for arrays only", "assign the result")
    array = as_array(build, x)
    if in_place and array.dtype.kind not in "fc":
        return x
    if array.dtype.kind in "fc":
        real = {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}.get(array.dtype, array.dtype)
        most = float(np.finfo(real.value).max)
        numbers = [
            _replacement(build, given, standard, real)
            for given, standard in zip((nan, posinf, neginf), (0.0, most, -most), strict=True)
        ]
        result = _cleaned(build, array, real, numbers)
        if in_place:
            store(build, array, result)
            return x
    else:
        result = copy_array(build, array)
    return scalar_or_array(build, result)


def _replacement(build: Builder, given: Given, standard: float, dtype: DType) -> Expr:
    """A number to write to an array of floats, the standard one for None."""
    if given is None or (is_none(given) and standard):
        return const(standard, ScalarType(dtype))
    data = as_data(build, given)
    if not isinstance(data, Scalar) or data.type.dtype.kind == "c":
        raise build.error("E240", "only real numbers in the place of NaN are compiled", "use np.where")
    return cast(steady(build, narrowed(build, data.expr, dtype)), dtype)


def _cleaned(build: Builder, array: Array, dtype: DType, numbers: Sequence[Expr]) -> Array:
    """The array with other numbers for NaN, infinity and minus infinity, in the real and the imaginary parts."""
    type_ = ScalarType(dtype)
    infinite = [const(sign * np.inf, type_) for sign in (1, -1)]

    def clean(x: Expr) -> Expr:
        result = x
        for number, infinity in zip(numbers[1:], infinite, strict=True):
            result = op("select", (op("equal", (x, infinity), NP_BOOL), number, result), type_)
        return op("select", (op("isnan", (x,), NP_BOOL), numbers[0], result), type_)

    def body(x: Expr) -> Expr:
        if array.dtype is dtype:
            return clean(x)
        parts = [clean(op(part, (x,), type_)) for part in ("real", "imag")]
        return op("complex", parts, ScalarType(array.dtype))

    return map_array(build, array, array.dtype, body, "x")
