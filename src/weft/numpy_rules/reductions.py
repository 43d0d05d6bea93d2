"""Reductions and running sums: sum, mean, var, max, argmax, any, cumsum...

in:   an array (or what NumPy makes one), and `axis`, `keepdims`, `dtype` known at compile time
out:  a NumPy scalar for a full reduction, else a new array

    np.mean(a, axis=0)  ->  s = Reduce add over axis 0 of a;  s / np.int64(n) in NumPy's types
"""

from __future__ import annotations

from functools import cache

import numpy as np

from weft.ir.dtypes import DType, ScalarType
from weft.ir.exprs import Expr, const_index, op
from weft.ir.neutral import neutral
from weft.ir.nodes import Reduce, Scan, View
from weft.ir.ops import SCANS
from weft.numpy_rules.arguments import (
    Flag,
    Given,
    PythonRaises,
    is_none,
    static_axes,
    static_axis,
    static_bool,
    static_dtype,
)
from weft.numpy_rules.arrays import (
    as_array,
    as_data,
    bool_expr,
    convert_array,
    copy_array,
    data_dtype,
    guard_assignable,
    known_dtype,
    map_array,
    read_scalar,
    refuse_real_part,
    ufunc,
    where_mask,
)
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.choosing import chosen_from
from weft.numpy_rules.elementwise import cast, map_elements, new_array, scalar_expr, store
from weft.numpy_rules.indexing import drop_axis, insert_axis
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.reshaping import flat_array
from weft.numpy_rules.values import Array, Operand, Scalar

_IDENTITIES = {"add": 0, "multiply": 1, "logical_or": 0, "logical_and": 1}
_REDUCIBLE = (*_IDENTITIES, "minimum", "maximum")
ZERO, ONE = const_index(0), const_index(1)


@cache
def _reduced_type(name: str, dtype: DType) -> np.dtype[np.generic]:
    """The type NumPy reduces in."""
    ufunc_: np.ufunc = getattr(np, name)
    return np.asarray(ufunc_.reduce(np.ones(1, dtype.numpy))).dtype


def axes_of(build: Builder, axis: Operand | int | None, rank: int) -> tuple[int, ...]:
    """The axes to reduce, counted from the front; all of them for None."""
    axes = static_axes(build, axis, rank)
    return tuple(range(rank)) if axes is None else tuple(sorted(axes))


def _output(
    build: Builder, view: View, axes: tuple[int, ...], dtype: DType, name: str, *, k_order: bool = True
) -> Array:
    """A new array for the axes that are left, ordered in memory as they are in the input."""
    rest = view
    for axis in reversed(axes):
        rest = drop_axis(rest, axis, ZERO)
    return new_array(build, rest.shape, dtype, name, [rest] if k_order else [])


def _finish(build: Builder, result: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """The result with the reduced axes put back, 1 long, if `keepdims`."""
    view = result.view
    for axis in axes if keepdims else ():
        view = insert_axis(view, axis)
    return Array(view, result.dtype)


def scalar_or_array(build: Builder, result: Array) -> Array | Scalar:
    """A 0-d result is a NumPy scalar."""
    return result if result.rank else read_scalar(build, result)


def all_of(build: Builder, tests: Array | Scalar) -> Expr:
    """Whether every one of some tests holds."""
    if isinstance(tests, Array):
        axes = tuple(range(tests.rank))
        tests = read_scalar(build, reduce_array(build, "logical_and", tests, axes, DType.BOOL))
    return tests.expr


def guard_all(build: Builder, tests: Array | Scalar, reason: str) -> None:
    """Assume that every one of some tests holds."""
    build.guard(all_of(build, tests), reason)


def guard_not_empty(build: Builder, view: View, axes: tuple[int, ...], reason: str) -> None:
    """Assume that there is something to reduce."""
    for axis in axes:
        build.guard_nonnegative(view.shape[axis] - 1, reason)


def reduce_array(  # noqa: PLR0913 - all that a node of the graph says
    build: Builder,
    name: str,
    array: Array,
    axes: tuple[int, ...],
    dtype: DType,
    *,
    keepdims: bool = False,
    initial: Expr | None = None,
    words: str = "reduce",
) -> Array:
    """The Reduce node: an array without the axes, or with 1-long ones; `words` is what warnings call it."""
    refuse_real_part(build, array.dtype, dtype)
    if initial is None and name in _IDENTITIES:
        initial = cast(const_index(_IDENTITIES[name]), dtype)
    if initial is None:
        guard_not_empty(build, array.view, axes, "zero-size array to a reduction which has no identity")
    if not axes:
        return copy_array(build, array, dtype)
    kept = axes
    source = chosen_from(build, array) if name in _REDUCIBLE else None
    if source is not None:  # what the mask leaves out changes nothing: its elements need not be collected
        unseen = Scalar(neutral(name, ScalarType(source.array.dtype)))
        array = _kept(build, source.mask, source.array, unseen)
        axes = tuple(range(array.rank))
    result = _output(build, array.view, axes, dtype, name[:3])
    warn = build.warn_site(words) if dtype.kind in "fc" and name in ("add", "multiply") else -1
    node = Reduce(
        op=name,
        output=result.view,
        input=array.view,
        axes=axes,
        initial=initial,
        warn=warn,
        id=build.new_id(),
        span=build.span,
    )
    build.emit(node)
    return _finish(build, result, kept, keepdims)


def _kept(build: Builder, mask: Array, array: Array, other: Scalar | Array) -> Array:
    """The elements where the mask is true, another number elsewhere."""
    type_ = ScalarType(array.dtype)
    return map_elements(
        build,
        (mask, array, other),
        array.shape,
        array.dtype,
        lambda args: op("select", (args[0], args[1], cast(args[2], array.dtype)), type_),
        name="kept",
    )


def reduce_with(
    build: Builder,
    name: str,
    a: Operand,
    axis: Operand | int | None,
    dtype: Given = None,
    keepdims: Flag = False,
    initial: Given = None,
) -> Array | Scalar:
    """`np.<name>.reduce(a, axis, dtype, keepdims=keepdims, initial=initial)`."""
    if name not in _REDUCIBLE:
        raise build.error("E240", f"np.{name}.reduce is not compiled", "write the loop")
    array = as_array(build, a)
    axes = axes_of(build, axis, array.rank)
    keep = static_bool(build, keepdims, "keepdims")
    target = static_dtype(build, dtype) or known_dtype(build, _reduced_type(name, array.dtype))
    if name in ("minimum", "maximum") and target.kind == "c":
        raise build.error("E240", f"np.{name}.reduce of complex numbers is not compiled", "reduce a real part")
    if name.startswith("logical"):
        target = DType.BOOL
    if is_none(initial):
        return scalar_or_array(build, reduce_array(build, name, array, axes, target, keepdims=keep))
    return _with_initial(build, name, array, axes, target, keep, initial)


def _only_where(build: Builder, name: str, a: Operand, where: Flag, initial: Given = None) -> Operand:
    """The operand of a reduction with what `where` leaves out replaced by a number that changes nothing."""
    mask = where_mask(build, where)
    if mask is None:
        return a
    array = as_array(build, a)
    unseen: Array | Scalar = Scalar(const_index(_IDENTITIES.get(name, 0)))
    if name not in _IDENTITIES:
        if initial is None or is_none(initial):
            raise PythonRaises("to use a where mask one has to specify 'initial'")
        unseen = as_data(build, initial)
        guard_assignable(build, unseen, array.dtype)
    if mask.rank > array.rank or (isinstance(unseen, Array) and unseen.rank > 0):
        raise PythonRaises("the mask has more axes than the array, or initial is none number")
    return _kept(build, mask, array, unseen)


def _with_initial(
    build: Builder, name: str, array: Array, axes: tuple[int, ...], dtype: DType, keep: bool, initial: Given
) -> Array | Scalar:
    """The initial value takes part once; it is also what an empty minimum gives."""
    assert initial is not None
    first = as_data(build, initial)
    if isinstance(first, Array) and first.rank > 0:
        raise PythonRaises("initial must be a scalar")
    guard_assignable(build, first, dtype)
    start = Scalar(build.let(cast(scalar_expr(build, first), dtype), "init"))
    empty = None if name in _IDENTITIES else start.expr
    result = reduce_array(build, name, array, axes, dtype, keepdims=keep, initial=empty)
    return ufunc(build, name, scalar_or_array(build, result), start)


def deliver(build: Builder, result: Array | Scalar, out: Given) -> Operand:
    """The result, or `out` with the result in it."""
    if out is None or is_none(out):
        return result
    if not isinstance(out, Array):
        raise PythonRaises("output must be an array")
    rank = result.rank if isinstance(result, Array) else 0
    if out.rank != rank:
        raise PythonRaises("output parameter for reduction has the wrong number of dimensions")
    if isinstance(result, Array):
        for extent, wanted in zip(result.shape, out.shape, strict=True):
            build.guard_equal(extent, wanted, "output has another shape")
    if not np.can_cast(data_dtype(result).numpy, out.dtype.numpy, "same_kind"):
        raise PythonRaises("the result cannot be cast to the output")
    store(build, out, result)
    return out


# -- sums, products, extremes -----------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.sum",
    "ndarray.sum",
    "scalar.sum",
    samples=(
        "sum(f8[3, 4])",
        "sum(f4[3, 4, 2], axis=1)",
        "sum(i1[3, 4], axis=(0, -1), keepdims=True)",
        "sum(b1[6])",
        "sum(u1[3, 4], 0)",
        "sum(f8[5], dtype=np.float32)",
        "sum(f8[5], initial=2.0)",
        "sum(f8[3, 4], axis=0, where=b1[3, 4])",
        "sum(i4[3, 4], where=b1[4])",
        "sum(3)",
    ),
)
def lower_sum(  # noqa: PLR0913, PLR0917 - the signature is NumPy's
    build: Builder,
    a: Operand,
    axis: Given = None,
    dtype: Given = None,
    out: Given = None,
    keepdims: Flag = False,
    initial: Given = None,
    where: Flag = True,
) -> Operand:
    """Small integers sum up in 64 bits."""
    a = _only_where(build, "add", a, where, initial)
    return deliver(build, reduce_with(build, "add", a, axis, dtype, keepdims, initial), out)


@numpy_rule(
    "numpy.prod",
    "ndarray.prod",
    samples=(
        "prod(f8[3, 4])",
        "prod(i2[3, 4], axis=0)",
        "prod(b1[3], keepdims=True)",
        "prod(f8[3, 4], 1, where=b1[3, 4])",
    ),
)
def lower_prod(  # noqa: PLR0913, PLR0917 - the signature is NumPy's
    build: Builder,
    a: Operand,
    axis: Given = None,
    dtype: Given = None,
    out: Given = None,
    keepdims: Flag = False,
    initial: Given = None,
    where: Flag = True,
) -> Operand:
    """Small integers multiply in 64 bits."""
    a = _only_where(build, "multiply", a, where, initial)
    return deliver(build, reduce_with(build, "multiply", a, axis, dtype, keepdims, initial), out)


@numpy_rule(
    "numpy.max",
    "numpy.amax",
    "ndarray.max",
    samples=(
        "max(f8[3, 4])",
        "max(f4[3, 4], axis=-1, keepdims=True)",
        "max(i4[3, 4], 0)",
        "max(f8[4], initial=9.5)",
        "max(f8[3, 4], 1, initial=-1.0, where=b1[3, 4])",
    ),
)
def lower_max(
    build: Builder,
    a: Operand,
    axis: Given = None,
    out: Given = None,
    keepdims: Flag = False,
    initial: Given = None,
    where: Flag = True,
) -> Operand:
    """NaN wins; an empty maximum raises."""
    a = _only_where(build, "maximum", a, where, initial)
    return deliver(build, reduce_with(build, "maximum", a, axis, None, keepdims, initial), out)


@numpy_rule(
    "numpy.min",
    "numpy.amin",
    "ndarray.min",
    samples=("min(f8[3, 4])", "min(u1[3, 4], axis=1)", "min(f4[3, 4], axis=(0, 1))"),
)
def lower_min(
    build: Builder,
    a: Operand,
    axis: Given = None,
    out: Given = None,
    keepdims: Flag = False,
    initial: Given = None,
    where: Flag = True,
) -> Operand:
    """NaN wins; an empty minimum raises."""
    a = _only_where(build, "minimum", a, where, initial)
    return deliver(build, reduce_with(build, "minimum", a, axis, None, keepdims, initial), out)


@numpy_rule("numpy.ptp", samples=("ptp(f8[3, 4])", "ptp(i4[3, 4], axis=1)"))
def lower_ptp(build: Builder, a: Operand, axis: Given = None, out: Given = None, keepdims: Flag = False) -> Operand:
    """Maximum less minimum."""
    array = as_array(build, a)
    high = reduce_with(build, "maximum", array, axis, None, keepdims)
    low = reduce_with(build, "minimum", array, axis, None, keepdims)
    return deliver(build, ufunc(build, "subtract", high, low), out)


@numpy_rule(
    "numpy.any",
    "ndarray.any",
    samples=("any(b1[3, 4])", "any(f8[3, 4], axis=0)", "any(i4[0])", "any(f8[3, 4], where=b1[3, 4])"),
)
def lower_any(
    build: Builder,
    a: Operand,
    axis: Given = None,
    out: Given = None,
    keepdims: Flag = False,
    *,
    where: Flag = True,
) -> Operand:
    """Whether some element is true."""
    a = _only_where(build, "logical_or", a, where)
    return deliver(build, reduce_with(build, "logical_or", a, axis, None, keepdims), out)


@numpy_rule("numpy.all", "ndarray.all", samples=("all(b1[3, 4])", "all(f8[3, 4], axis=1, keepdims=True)"))
def lower_all(
    build: Builder,
    a: Operand,
    axis: Given = None,
    out: Given = None,
    keepdims: Flag = False,
    *,
    where: Flag = True,
) -> Operand:
    """Whether every element is true."""
    a = _only_where(build, "logical_and", a, where)
    return deliver(build, reduce_with(build, "logical_and", a, axis, None, keepdims), out)


@numpy_rule("numpy.count_nonzero", samples=("count_nonzero(f8[3, 4])", "count_nonzero(b1[3, 4], axis=0)"))
def lower_count_nonzero(build: Builder, a: Operand, axis: Given = None, *, keepdims: Flag = False) -> Operand:
    """How many elements are true."""
    array = as_array(build, a)
    if array.dtype is not DType.BOOL:
        array = map_array(build, array, DType.BOOL, lambda x: bool_expr(build, x), "nz")
    return reduce_with(build, "add", array, axis, None, keepdims)


# -- positions --------------------------------------------------------------------------------------------------------


@numpy_rule("numpy.argmax", "ndarray.argmax", samples=("argmax(f8[3, 4])", "argmax(i4[3, 4], axis=0)"))
def lower_argmax(
    build: Builder, a: Operand, axis: Given = None, out: Given = None, *, keepdims: Flag = False
) -> Operand:
    """The first position of the largest element."""
    return deliver(build, _position(build, "argmax", a, axis, keepdims), out)


@numpy_rule("numpy.argmin", "ndarray.argmin", samples=("argmin(f8[3, 4])", "argmin(f4[3, 4], axis=1, keepdims=True)"))
def lower_argmin(
    build: Builder, a: Operand, axis: Given = None, out: Given = None, *, keepdims: Flag = False
) -> Operand:
    """The first position of the smallest element."""
    return deliver(build, _position(build, "argmin", a, axis, keepdims), out)


def _position(build: Builder, name: str, a: Operand, axis: Given, keepdims: Flag) -> Array | Scalar:
    array = as_array(build, a)
    keep = static_bool(build, keepdims, "keepdims")
    if array.dtype.kind == "c":
        raise build.error("E240", f"np.{name} of complex numbers is not compiled", "use a real part or the modulus")
    rank = array.rank
    if is_none(axis):
        array, axes = flat_array(build, array), (0,)
    else:
        axes = (static_axis(build, axis, rank),)
    guard_not_empty(build, array.view, axes, f"attempt to get {name} of an empty sequence")
    result = _output(build, array.view, axes, DType.INT64, name, k_order=False)
    node = Reduce(
        op=name, output=result.view, input=array.view, axes=axes, initial=None, id=build.new_id(), span=build.span
    )
    build.emit(node)
    back = tuple(range(rank)) if is_none(axis) else axes
    return scalar_or_array(build, _finish(build, result, back, keep))


# -- running sums -----------------------------------------------------------------------------------------------------


def accumulate(build: Builder, name: str, a: Operand, axis: Operand | int | None, dtype: Given = None) -> Array:
    """`np.<name>.accumulate(a, axis, dtype)`; axis None flattens."""
    if name not in SCANS:
        raise build.error("E240", f"np.{name}.accumulate is not compiled", "write the loop")
    array = as_array(build, a)
    target = static_dtype(build, dtype) or known_dtype(build, _reduced_type(name, array.dtype))
    if name in ("minimum", "maximum") and target.kind == "c":
        raise build.error("E240", f"np.{name}.accumulate of complex numbers is not compiled", "take a real part")
    if isinstance(axis, int):
        position = axis if array.rank else static_axis(build, axis, array.rank)
    elif is_none(axis):
        array, position = flat_array(build, array), 0
    else:
        position = static_axis(build, axis, array.rank)
    source = convert_array(build, array, target)
    result = new_array(build, source.shape, target, "scan", [source.view])
    sums = name in ("add", "multiply")
    warn = build.warn_site("accumulate") if sums and target.kind in "fc" else -1
    node = Scan(
        op=name,
        output=result.view,
        input=source.view,
        axis=position,
        warn=warn,
        id=build.new_id(),
        span=build.span,
    )
    build.emit(node)
    return result


@numpy_rule(
    "numpy.cumsum",
    "ndarray.cumsum",
    samples=("cumsum(f8[3, 4])", "cumsum(i1[3, 4], axis=0)", "cumsum(f4[5], dtype=np.float64)"),
)
def lower_cumsum(build: Builder, a: Operand, axis: Given = None, dtype: Given = None, out: Given = None) -> Operand:
    """Running sums along an axis, or of the flattened array."""
    return deliver(build, accumulate(build, "add", a, axis, dtype), out)


@numpy_rule("numpy.cumprod", "ndarray.cumprod", samples=("cumprod(f8[3, 4])", "cumprod(i4[3, 4], axis=-1)"))
def lower_cumprod(build: Builder, a: Operand, axis: Given = None, dtype: Given = None, out: Given = None) -> Operand:
    """Running products along an axis, or of the flattened array."""
    return deliver(build, accumulate(build, "multiply", a, axis, dtype), out)
