"""Arrays in pieces: sliding_window_view, split and its relatives.

in:   an array; window shapes and places to cut at run time, axes and the number of pieces at compile time
out:  views of the same memory

    sliding_window_view(x, 3)  ->  the view w[i, j] = x[i + j], of shape [n - 2, 3]
    np.split(x, 2)             ->  [x[:n // 2], x[n // 2:]]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Index, const_index, op
from weft.ir.nodes import Axis, View
from weft.numpy_rules.arguments import (
    Flag,
    Given,
    PythonRaises,
    shape_of,
    static_axes,
    static_axis,
    static_bool,
    static_int,
)
from weft.numpy_rules.arrays import as_array, number
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.indexing import narrow_axis, slice_range
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.values import Array, Operand, Slice, Static, Tuple

ZERO, ONE = const_index(0), const_index(1)
_MOST = 64  # pieces of one array


@numpy_rule(
    "numpy.lib.stride_tricks.sliding_window_view",
    samples=(
        "sliding_window_view(f8[6], 3)",
        "sliding_window_view(f8[4, 5], (2, 3))",
        "sliding_window_view(f8[4, 5], 2, axis=1)",
        "sliding_window_view(f8[4, 5], (2, 3), axis=(-1, 0))",
        "sliding_window_view(i4[3], 3)",
    ),
)
def lower_sliding_window_view(
    build: Builder, x: Operand, window_shape: Operand, axis: Given = None, *, writeable: Flag = False
) -> Operand:
    """New axes at the end, along which the window reaches; NumPy's is read-only."""
    array = as_array(build, x)
    if static_bool(build, writeable, "writeable"):
        raise build.error("E226", "windows that can be written to are not compiled", "leave out writeable")
    lengths = shape_of(build, window_shape)
    axes = static_axes(build, axis, array.rank)
    if axes is None:
        axes = tuple(range(array.rank))
    if len(axes) != len(lengths):
        raise PythonRaises("Must provide matching length window_shape and axis")
    view = array.view
    for number_, window in zip(axes, lengths, strict=True):
        build.guard_nonnegative(window - 1, "a window of no elements")
        build.guard_nonnegative(view.shape[number_] - window, "window shape cannot be larger than input array shape")
        view = windowed(view, number_, window)
    return Array(view, array.dtype, readonly=True)


def windowed(view: View, axis: int, window: Index) -> View:
    """The view with a last axis that goes on from each element of `axis`."""
    last = view.rank
    axes: list[Axis] = []
    for old in view.axes:
        further = tuple((last, step) for number_, step in old.terms if number_ == axis)
        axes.append(Axis(old.offset, (*old.terms, *further)))
    shape = list(view.shape)
    shape[axis] = shape[axis] - window + 1
    return View(view.container, (*shape, window), tuple(axes))


# -- split ------------------------------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.split",
    samples=("split(f8[6], 3)", "split(f8[4, 6], 2, axis=1)", "split(f8[6], [2, 4])", "split(f8[6], (1, -2))"),
)
def lower_split(build: Builder, ary: Operand, indices_or_sections: Operand, axis: Operand | int = 0) -> Operand:
    """A list of pieces of one length, or cut at the places given."""
    return _split(build, as_array(build, ary), indices_or_sections, axis)


@numpy_rule("numpy.array_split", samples=("array_split(f8[7], 3)", "array_split(f8[2, 5], 4, 1)"))
def lower_array_split(build: Builder, ary: Operand, indices_or_sections: Operand, axis: Operand | int = 0) -> Operand:
    """The same where the length need not be a multiple: the first pieces are one longer."""
    array = as_array(build, ary)
    if _cuts(indices_or_sections) is not None:
        return _split(build, array, indices_or_sections, axis)
    along, count = static_axis(build, axis, array.rank), _count(build, indices_or_sections)
    total = array.shape[along]
    size = build.let_index(op("floor_divide", (total, const_index(count)), PY_INT), "n", low=0)
    rest = build.let_index(op("remainder", (total, const_index(count)), PY_INT), "rest", low=0)
    views: list[View] = []
    start = ZERO
    for k in range(count):
        longer = build.let_index(op("minimum", (const_index(k + 1), rest), PY_INT), "longer", low=0)
        end = size * (k + 1) + longer
        views.append(narrow_axis(array.view, along, start, end - start, ONE))
        start = end
    return Tuple(tuple(array.viewed(view) for view in views), is_list=True)


@numpy_rule("numpy.vsplit", samples=("vsplit(f8[4, 3], 2)", "vsplit(f8[4, 3], [1])"))
def lower_vsplit(build: Builder, ary: Operand, indices_or_sections: Operand) -> Operand:
    """`np.split` along the first axis."""
    array = as_array(build, ary)
    if array.rank < 2:
        raise PythonRaises("vsplit only works on arrays of 2 or more dimensions")
    return _split(build, array, indices_or_sections, 0)


@numpy_rule("numpy.hsplit", samples=("hsplit(f8[3, 4], 2)", "hsplit(f8[4], 2)", "hsplit(f8[3, 4], [1, 3])"))
def lower_hsplit(build: Builder, ary: Operand, indices_or_sections: Operand) -> Operand:
    """`np.split` along the second axis, or the only one."""
    array = as_array(build, ary)
    if array.rank == 0:
        raise PythonRaises("hsplit only works on arrays of 1 or more dimensions")
    return _split(build, array, indices_or_sections, min(array.rank - 1, 1))


def _split(build: Builder, array: Array, places: Operand, axis: Operand | int) -> Tuple:
    along = static_axis(build, axis, array.rank)
    cuts = _cuts(places)
    if cuts is not None:
        ends = [Static(None), *cuts, Static(None)]
        return _pieces(build, array, along, list(pairwise(ends)))
    count = _count(build, places)
    total = array.shape[along]
    size = build.let_index(op("floor_divide", (total, const_index(count)), PY_INT), "n", low=0)
    build.guard_equal(size * count, total, "array split does not result in an equal division")
    views = [narrow_axis(array.view, along, size * k, size, ONE) for k in range(count)]
    return Tuple(tuple(array.viewed(view) for view in views), is_list=True)


def _count(build: Builder, places: Operand) -> int:
    count = static_int(build, places, "the number of pieces")
    if count < 1:
        raise PythonRaises("number sections must be larger than 0.")
    if count > _MOST:
        raise build.error("E226", "so many pieces are not compiled", "use a loop over slices")
    return count


def _cuts(places: Operand) -> Sequence[Operand] | None:
    """The places to cut at; None for a number of pieces."""
    if isinstance(places, Tuple):
        return places.items
    if isinstance(places, Static) and isinstance(places.value, tuple | list):
        return [Static(item) for item in places.value]  # type: ignore[misc]
    return None


def _pieces(build: Builder, array: Array, axis: int, ends: Sequence[tuple[Operand, Operand]]) -> Tuple:
    views: list[View] = []
    for start, stop in ends:
        piece = Slice(number(build, start), number(build, stop), Static(None))
        first, length, step = slice_range(build, piece, array.shape[axis])
        views.append(narrow_axis(array.view, axis, first, length, step))
    return Tuple(tuple(array.viewed(view) for view in views), is_list=True)
