"""Basic indexing: integers, slices, new axes and the ellipsis.

in:   an array and the operands between the brackets
out:  a view of the same container (an element, as a NumPy scalar, when every axis is indexed by an integer)

An index that may be negative is wrapped; one that may be out of bounds is guarded. A slice whose ends are known to lie
inside the axis needs nothing; one that depends on a loop variable is clipped as Python does; any other is assumed not
to clip, under a guard, which keeps its length a polynomial.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.dtypes import NP_BOOL, PY_INT
from weft.ir.exprs import Expr, Index, const_index, op
from weft.ir.nodes import Axis, View
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.values import Array, Operand, Scalar, Slice, Static, Tuple

ZERO, ONE = const_index(0), const_index(1)


def index_view(build: Builder, array: Array, key: Operand) -> tuple[View, bool]:
    """The view `array[key]`, and whether it is a single element (a scalar when read)."""
    items = key.items if isinstance(key, Tuple) and not key.is_list else (key,)
    has_ellipsis = any(is_ellipsis(item) for item in items)
    expanded = _expand(build, array.rank, items)
    view = array.view
    for axis, operand in reversed(_positions(expanded)):
        view = _apply(build, view, axis, operand)
    view = _insert_axes(view, expanded)
    scalar = view.rank == 0 and not has_ellipsis
    return view, scalar


def is_ellipsis(item: Operand) -> bool:
    """Whether an index is `...`."""
    return isinstance(item, Static) and item.value is Ellipsis


def is_newaxis(item: Operand) -> bool:
    """Whether an index is None."""
    return isinstance(item, Static) and item.value is None


def _expand(build: Builder, rank: int, items: Sequence[Operand]) -> list[Operand | None]:
    """One entry per axis of the array and per new axis; None stands for a whole axis."""
    used = sum(not (is_ellipsis(item) or is_newaxis(item)) for item in items)
    if used > rank or sum(is_ellipsis(item) for item in items) > 1:
        build.leave("too many indices for array")
        return [None] * rank
    rest: list[Operand | None] = [None] * (rank - used)
    expanded: list[Operand | None] = []
    for item in items:
        if is_ellipsis(item):
            expanded += rest
            rest = []
        else:
            expanded.append(item)
    return expanded + rest


def _positions(expanded: Sequence[Operand | None]) -> list[tuple[int, Operand | None]]:
    """The entries that take an axis of the array, with that axis."""
    taking = [item for item in expanded if item is None or not is_newaxis(item)]
    return list(enumerate(taking))


def _insert_axes(view: View, expanded: Sequence[Operand | None]) -> View:
    """Put the new axes of `expanded` where they belong among the axes that are left."""
    result_axis = 0
    for item in expanded:
        if item is not None and is_newaxis(item):
            view = insert_axis(view, result_axis)
            result_axis += 1
        elif item is None or isinstance(item, Slice):
            result_axis += 1
    return view


def insert_axis(view: View, position: int) -> View:
    """The view with a new axis of length 1."""
    axes = tuple(
        Axis(axis.offset, tuple((number + (number >= position), step) for number, step in axis.terms))
        for axis in view.axes
    )
    return View(view.container, (*view.shape[:position], ONE, *view.shape[position:]), axes)


def drop_axis(view: View, position: int, at: Index) -> View:
    """The view at one coordinate of an axis."""
    axes: list[Axis] = []
    for axis in view.axes:
        offset = axis.offset
        terms: list[tuple[int, Index]] = []
        for number, step in axis.terms:
            if number == position:
                offset = offset + step * at
            else:
                terms.append((number - (number > position), step))
        axes.append(Axis(offset, tuple(terms)))
    return View(view.container, view.shape[:position] + view.shape[position + 1 :], tuple(axes))


def narrow_axis(view: View, position: int, start: Index, length: Index, step: Index) -> View:
    """The view with one axis restricted to `start + k * step`, k < length."""
    if view.shape[position] is ONE and length.constant is None:
        view, start = _anchored(view, position), ZERO
    axes: list[Axis] = []
    for axis in view.axes:
        offset = axis.offset
        terms: list[tuple[int, Index]] = []
        for number, old in axis.terms:
            if number == position:
                offset = offset + old * start
                terms.append((number, old * step))
            else:
                terms.append((number, old))
        axes.append(Axis(offset, tuple(terms)))
    return View(view.container, (*view.shape[:position], length, *view.shape[position + 1 :]), tuple(axes))


def _anchored(view: View, position: int) -> View:
    """The view with an axis of one element, or of none, in its memory: `a[None]` has one that stands for nothing there.

    Without it a store through a part of that axis looks like one of many elements into a single one. As the only
    coordinate is 0, any place will do.
    """
    if not view.axes or any(number == position for axis in view.axes for number, _ in axis.terms):
        return view
    first, *others = view.axes
    return View(view.container, view.shape, (Axis(first.offset, (*first.terms, (position, ONE))), *others))


def _apply(build: Builder, view: View, axis: int, item: Operand | None) -> View:
    match item:
        case None:
            return view
        case Slice():
            start, length, step = slice_range(build, item, view.shape[axis])
            return narrow_axis(view, axis, start, length, step)
        case Scalar() if item.type.dtype.kind in "iu":
            position = as_index(build, item)
            assert position is not None
            return drop_axis(view, axis, wrap_index(build, build.bounded(position), view.shape[axis]))
        case Scalar() if item.type.dtype.kind == "b":
            raise build.error("E221", "a bool as an index is not compiled here", "use an if statement")
        case Scalar():
            build.leave("only integers, slices, ellipsis, newaxis and arrays are valid indices")
            return drop_axis(view, axis, ZERO)
        case _:
            raise build.error("E220", "this kind of index is not compiled", "use numbers, slices or arrays")


def wrap_index(build: Builder, position: Index, extent: Index) -> Index:
    """The index counted from the front, guarded to be in bounds."""
    reason = "index out of bounds"
    if build.proves_nonnegative(position):
        build.guard_nonnegative(extent - 1 - position, reason)
        return position
    if build.proves_nonnegative(-position - 1):
        build.guard_nonnegative(position + extent, reason)
        return position + extent
    negative = op("less", (position, ZERO), NP_BOOL)
    wrapped = build.let_index(op("select", (negative, position + extent, position), PY_INT), "w")
    build.guard_nonnegative(wrapped, reason)
    build.guard_nonnegative(extent - 1 - wrapped, reason)
    return wrapped


def slice_range(build: Builder, item: Slice, extent: Index) -> tuple[Index, Index, Index]:
    """Start, length and step of a slice of an axis."""
    step = _part(build, item.step, ONE)
    known = step.constant
    if known == 0:
        build.leave("slice step cannot be zero")
        return ZERO, ZERO, ONE
    if known is None and not build.proves_nonnegative(step - 1):
        build.guard_nonnegative(step - 1, "slice step is not positive")
    if known is not None and known < 0:
        return _descending(build, item, extent, step)
    asked = [_asked(build, item.start), _asked(build, item.stop)]
    if known == 1 and (only := _only_element(build, asked, extent)) is not None:
        return only, ONE, step
    start = ZERO if asked[0] is None else _end(build, asked[0], extent)
    stop = extent if asked[1] is None else _end(build, asked[1], extent)
    span = span_length(build, start, stop)
    if known == 1:
        return start, span, step
    rounded = op("floor_divide", (span + step - 1, step), PY_INT)
    return start, build.let_index(rounded, "len", low=0), step


def _only_element(build: Builder, asked: Sequence[Index | None], extent: Index) -> Index | None:
    """Where `k:k + 1` begins, guarded to be inside of the axis: of one element it broadcasts, of none it would not."""
    start, stop = asked
    if start is None or stop is None or (stop - start).constant != 1 or not build.proves_nonnegative(start):
        return None
    if build.proves_nonnegative(start - extent):
        return None
    if not build.proves_nonnegative(extent - stop):
        build.guard_nonnegative(extent - stop, "slice reaches outside the axis")
    return start


def _asked(build: Builder, operand: Operand) -> Index | None:
    """An end of a slice as it is written; None where there is none."""
    if isinstance(operand, Static) and operand.value is None:
        return None
    return _part(build, operand, ZERO)


def _part(build: Builder, operand: Operand, default: Index) -> Index:
    if isinstance(operand, Static) and operand.value is None:
        return default
    value = as_index(build, operand)
    if value is None:
        build.leave("slice indices must be integers or None")
        return default
    return build.bounded(value)


def _end(build: Builder, value: Index, extent: Index) -> Index:
    """One end of an ascending slice, between 0 and the extent."""
    if build.proves_nonnegative(-value - 1):
        value = value + extent
    elif not build.proves_nonnegative(value):
        negative = op("less", (value, ZERO), NP_BOOL)
        value = build.let_index(op("select", (negative, value + extent, value), PY_INT), "w")
    below, above = build.proves_nonnegative(value), build.proves_nonnegative(extent - value)
    if below and above:
        return value
    if build.proves_nonnegative(-value):
        return ZERO
    if build.proves_nonnegative(value - extent):
        return extent
    if _may_change(build, value):
        clipped = op("minimum", (op("maximum", (value, ZERO), PY_INT), extent), PY_INT)
        return build.let_index(clipped, "end", low=0)
    build.guard_nonnegative(value, "slice reaches outside the axis")
    build.guard_nonnegative(extent - value, "slice reaches outside the axis")
    return value


def _may_change(build: Builder, value: Index) -> bool:
    """Whether the value may be another one each time: all but numbers and sizes that came in with the call."""
    return not value.values <= build.ledger.entry


def span_length(build: Builder, start: Index, stop: Index) -> Index:
    """`max(stop - start, 0)`: under a guard where it does not depend on a loop."""
    length = stop - start
    if build.proves_nonnegative(length):
        return length
    if _may_change(build, length):
        return build.let_index(op("maximum", (length, ZERO), PY_INT), "len", low=0)
    build.guard_nonnegative(length, "slice is empty or reversed")
    return length


def _descending(build: Builder, item: Slice, extent: Index, step: Index) -> tuple[Index, Index, Index]:
    """A slice with a negative step: ends clip to -1 .. extent - 1."""
    start = _descending_end(build, item.start, extent, extent - 1)
    stop = _descending_end(build, item.stop, extent, const_index(-1))
    span = start - stop
    if step.constant == -1:
        if build.proves_nonnegative(span):
            return start, span, step
        return start, build.let_index(op("maximum", (span, ZERO), PY_INT), "len", low=0), step
    stride = -step
    positive: Expr = op("maximum", (span, ZERO), PY_INT)
    rounded = op("floor_divide", (build.let_index(positive, "len", low=0) + stride - 1, stride), PY_INT)
    return start, build.let_index(rounded, "len", low=0), step


def _descending_end(build: Builder, operand: Operand, extent: Index, default: Index) -> Index:
    if isinstance(operand, Static) and operand.value is None:
        return default
    value = _part(build, operand, default)
    if not build.proves_nonnegative(value):
        negative = op("less", (value, ZERO), NP_BOOL)
        value = build.let_index(op("select", (negative, value + extent, value), PY_INT), "w")
    if build.proves_nonnegative(value + 1) and build.proves_nonnegative(extent - 1 - value):
        return value
    clipped = op("minimum", (op("maximum", (value, const_index(-1)), PY_INT), extent - 1), PY_INT)
    return build.let_index(clipped, "end", low=-1)
