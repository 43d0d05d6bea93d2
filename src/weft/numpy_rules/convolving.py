"""Sums of products of one array with another that is slid over it: `np.convolve`, `np.correlate`.

in:   two arrays of one axis of real numbers, the mode at compile time; what NumPy would exchange, Python does
out:  a new array

    np.convolve(x, v, "valid")  ->  sliding_window_view(x, m) @ v[::-1]
    np.convolve(x, v)           ->  the same, and at both ends that of a few elements of x with m - 1 zeros

A zero at an end adds nothing, unless a number of `v` is not finite: then Python takes over.
"""

from __future__ import annotations

from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Index, const_index, op
from weft.ir.nodes import View
from weft.numpy_rules.arguments import PythonRaises, static_value
from weft.numpy_rules.arrays import as_array, common_dtype, convert_array, empty_array, ufunc
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import initialise
from weft.numpy_rules.indexing import narrow_axis
from weft.numpy_rules.products import product_into
from weft.numpy_rules.reductions import guard_all
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.values import Array, Operand, Scalar
from weft.numpy_rules.windows import windowed

_ZERO, _ONE = const_index(0), const_index(1)


@numpy_rule(
    "numpy.convolve",
    samples=(
        "convolve(f8[9], f8[3])",
        "convolve(f8[9], f8[4], 'same')",
        "convolve(f8[9], f8[4], mode='valid')",
        "convolve(f4[9], f8[1])",
        "convolve(i8[9], i4[3], 'same')",
    ),
)
def lower_convolve(build: Builder, a: Operand, v: Operand, mode: Operand | str = "full") -> Operand:
    """The second array is slid backwards."""
    slid, fixed = _pair(build, a, v)
    extent = fixed.shape[0]
    backwards = Array(narrow_axis(fixed.view, 0, extent - 1, extent, const_index(-1)), fixed.dtype)
    return _slide(build, slid, backwards, str(static_value(build, mode, "mode")))


@numpy_rule(
    "numpy.correlate",
    samples=(
        "correlate(f8[9], f8[3])",
        "correlate(f8[9], f8[4], 'same')",
        "correlate(f8[9], f4[4], mode='full')",
        "correlate(i8[9], i8[3])",
    ),
)
def lower_correlate(build: Builder, a: Operand, v: Operand, mode: Operand | str = "valid") -> Operand:
    """The second array is slid as it is."""
    return _slide(build, *_pair(build, a, v), str(static_value(build, mode, "mode")))


def _pair(build: Builder, a: Operand, v: Operand) -> tuple[Array, Array]:
    left, right = as_array(build, a), as_array(build, v)
    dtype = common_dtype(build, (left, right))
    if left.rank != 1 or right.rank != 1 or dtype.kind not in "fiu":
        raise build.error(
            "E289", "this is compiled for arrays of one axis of real numbers only", "use NumPy's function"
        )
    build.guard_nonnegative(left.shape[0] - 1, "an array of no elements")
    build.guard_nonnegative(right.shape[0] - 1, "an array of no elements")
    return convert_array(build, left, dtype), convert_array(build, right, dtype)


def _slide(build: Builder, array: Array, weights: Array, mode: str) -> Array:
    """The sums, as far as the mode wants the ends."""
    (extent,), (width,) = array.shape, weights.shape
    match mode:
        case "valid":
            before = after = _ZERO
        case "same":
            after = build.let_index(op("floor_divide", (width - 1, const_index(2)), PY_INT), "after", low=0)
            before = width - 1 - after
        case "full":
            before = after = width - 1
        case _:
            raise PythonRaises("mode must be one of 'valid', 'same', or 'full'")
    inside = extent - width + 1
    build.guard_nonnegative(extent - width, "the second array is the longer one")
    made = empty_array(build, (before + inside + after,), array.dtype, name="slid")
    _sums(build, made, before, inside, array, weights)
    if mode != "valid":
        _guard_finite(build, weights)
        first, last = (_part(array, start, width - 1) for start in (_ZERO, inside))
        _sums(build, made, _ZERO, before, _with_zeros(build, first, before, _ZERO), weights)
        _sums(build, made, before + inside, after, _with_zeros(build, last, _ZERO, after), weights)
    return made


def _with_zeros(build: Builder, array: Array, before: Index, after: Index) -> Array:
    (extent,) = array.shape
    made = empty_array(build, (before + extent + after,), array.dtype, name="end")
    zero = Scalar(const_index(0))
    for start, length, source in ((_ZERO, before, zero), (before, extent, array), (before + extent, after, zero)):
        if length is not _ZERO:
            initialise(build, _part(made, start, length), source)
    return made


def _part(array: Array, start: Index, length: Index) -> Array:
    return Array(narrow_axis(array.view, 0, start, length, _ONE), array.dtype)


def _sums(build: Builder, made: Array, start: Index, length: Index, array: Array, weights: Array) -> None:
    """A part of the result."""
    windows = View(array.view.container, (length, weights.shape[0]), windowed(array.view, 0, weights.shape[0]).axes)
    product_into(build, _part(made, start, length).view, Array(windows, array.dtype), weights)


def _guard_finite(build: Builder, weights: Array) -> None:
    if weights.dtype.kind == "f":
        guard_all(build, ufunc(build, "isfinite", weights), "a number that is not finite, times a zero at an end")
