"""Reading and writing through a selection: `a[idx]`, `a[mask] = v`, `np.add.at(a, idx, v)`.

in:   what `selections.select` gives, with all positions checked
out:  a new array with the elements; or the elements written, one after the other, so that the last one wins

Reading is a map: a position is a number like any other. Writing is a loop, since positions may repeat; it is as if all
values and positions were read first, so those that may share memory with the array are copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from weft.ir.dtypes import ScalarType
from weft.ir.exprs import Expr, Index, const_index, index
from weft.ir.nodes import Alloc, Layout, Map, Region, Storage, Tasklet, View
from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.arrays import copy_array, empty_array, generate, read_scalar, steady
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.choosing import chosen_by
from weft.numpy_rules.elementwise import (
    broadcast_to,
    cast,
    cast_warns,
    coordinates,
    initialise,
    narrowed,
    new_array,
    permute,
    refuse_readonly,
    store_where,
)
from weft.numpy_rules.indexing import drop_axis
from weft.numpy_rules.masks import count_true, elements_at, elements_where, put_where
from weft.numpy_rules.memory_order import copied_order, iteration_order
from weft.numpy_rules.reshaping import product
from weft.numpy_rules.selections import Basic, Selected, Selection, positions_at, select
from weft.numpy_rules.values import Array, Masked, Operand, Scalar, Tuple
from weft.numpy_rules.walking import Point, for_each

ZERO, ONE = const_index(0), const_index(1)
Combine = Callable[[Expr, Expr], Expr]
"""What is written, from what was there and the value."""


# ---- reading --------------------------------------------------------------------------------------------------------


def read_item(build: Builder, array: Array, key: Operand) -> Operand:
    """`array[key]`: a number, a view, or a new array."""
    positions = key.items[0] if isinstance(key, Tuple) and len(key.items) == 1 and not key.is_list else key
    found = elements_at(build, array, positions) if isinstance(positions, Array) else None
    if found is not None:
        return found
    try:
        return read_selected(build, select(build, array, key))
    except PythonRaises as raised:
        return build.leave(raised.reason)


def read_selected(build: Builder, selected: Selected) -> Array | Scalar:
    """The elements of a selection."""
    match selected:
        case Basic(array=array, scalar=True):
            return read_scalar(build, array)
        case Basic(array=array, copies=copies):
            return copy_array(build, array) if copies else array
        case Masked(array=array, mask=mask):
            return elements_where(build, array, mask)
        case Selection():
            return gather(build, selected)


def gather(build: Builder, selection: Selection, *, c_order: bool = False) -> Array:
    """A new array, in memory as `a[idx]` has it: the axes of the positions first, then the others as they lie."""
    array = selection.array
    target = empty_array(build, selection.result_shape, array.dtype) if c_order else _new_result(build, selection)
    if len(selection.picks) == 1 and selection.picks[0].places and selection.picks[0].axis == array.rank - 1 > 0:
        _gather_few(build, selection, target)
        return target
    params = coordinates(build, target.shape)
    point = tuple(index(param) for param in params)
    where, inside = selection.parts(point)
    with build.region() as scope:
        source = selection.inner(positions_at(build, selection, where)).at(inside)
        element = build.value("x", ScalarType(array.dtype))
        writes = ((target.view.at(point), element),)
        build.emit(Tasklet(reads=((element, source),), writes=writes, id=build.new_id(), span=build.span))
    build.emit(
        Map(
            params=params,
            ranges=tuple((ZERO, extent) for extent in target.shape),
            body=build.close(scope),
            id=build.new_id(),
            span=build.span,
        )
    )
    return target


def _gather_few(build: Builder, selection: Selection, target: Array) -> None:
    """A few known elements of each row, written one by one: a loop over so few would cost more than they do."""
    *lead, width = selection.array.shape
    params = coordinates(build, tuple(lead))
    row = tuple(index(param) for param in params)
    outer, inner = row[: selection.place], row[selection.place :]
    found = [const_index(place) if place >= 0 else width + place for place in selection.picks[0].places]
    elements = [build.value("x", ScalarType(target.dtype)) for _ in found]
    body = Tasklet(
        reads=tuple((x, selection.array.view.at((*row, at))) for x, at in zip(elements, found, strict=True)),
        writes=tuple((target.view.at((*outer, const_index(k), *inner)), x) for k, x in enumerate(elements)),
        id=build.new_id(),
        span=build.span,
    )
    ranges = tuple((ZERO, extent) for extent in lead)
    build.emit(Map(params=params, ranges=ranges, body=Region((body,)), id=build.new_id(), span=build.span))


def _new_result(build: Builder, selection: Selection) -> Array:
    count = len(selection.shape)
    whole = selection.inner((ZERO,) * len(selection.picks))
    first = iteration_order(build, [pick.positions.view for pick in selection.picks], count)
    if first != tuple(range(count)) and not _is_single(build, whole):
        first = tuple(range(count))
    rest = copied_order(build, [whole], whole.rank)
    order = (*first, *(count + axis for axis in rest))
    shape = (*selection.shape, *whole.shape)
    base = build.alloc(tuple(shape[axis] for axis in order), selection.array.dtype, "x")
    view = permute(base, tuple(order.index(axis) for axis in range(len(order))))
    place = selection.place
    axes = (*range(count, count + place), *range(count), *range(count + place, len(shape)))
    return Array(permute(view, axes), selection.array.dtype)


# ---- writing --------------------------------------------------------------------------------------------------------


def write_selected(build: Builder, selected: Masked | Selection, value: Array | Scalar, words: str = "cast") -> None:
    """`array[key] = value`, cast as NumPy does in a store; `words`: what warnings of the cast are about."""
    array = selected.array
    refuse_readonly(build, array)
    source = chosen_alike(build, selected, value)
    if source is not None and not cast_warns(source.array.dtype, array.dtype):
        store_where(build, array, source.mask, source.array)
        return
    if isinstance(value, Array):
        if value.dtype is not array.dtype:
            converted = new_array(build, value.shape, array.dtype, "x", [value.view], copied_order)
            initialise(build, converted, value, words)
            value = converted
        if value.rank == 0:
            value = read_scalar(build, value)
    if isinstance(value, Scalar):
        value = Scalar(steady(build, cast(narrowed(build, value.expr, array.dtype), array.dtype)))
    if isinstance(selected, Masked):
        _write_masked(build, selected, value)
    else:
        scatter(build, selected, value)


def chosen_alike(build: Builder, selected: Selected, value: Operand) -> Masked | None:
    """What a value was chosen from, if by the mask it is now written through: `a[m] = b[m]`.

    Then there is no need to collect its elements: each goes where it comes from.
    """
    if not isinstance(selected, Masked) or not isinstance(value, Array):
        return None
    return chosen_by(build, value, selected.mask)


def _write_masked(build: Builder, selected: Masked, value: Array | Scalar) -> None:
    array, mask = selected.array, selected.mask
    if isinstance(value, Array) and value.rank == 1 and value.shape[0] is ONE:
        value = Scalar(build.read(value.view, (ZERO,), value.dtype))
    if isinstance(value, Scalar):
        store_where(build, array, mask, value)
        return
    if value.rank > 1:
        raise PythonRaises("NumPy boolean array indexing assignment requires a 0 or 1-dimensional input")
    build.guard_equal(value.shape[0], count_true(build, mask), "as many values as the mask has true elements")
    mask, value = detached(build, mask, array), detached(build, value, array)
    build.use_site()
    put_where(build, array, mask, value)


def scatter(
    build: Builder, selection: Selection, value: Array | Scalar, combine: Combine | None = None, *, warn: int = -1
) -> None:
    """Write the value, broadcast to the selection, position after position; `combine` with what is there."""
    array = selection.array
    if isinstance(value, Array):
        value = Array(_fitting(build, value.view, selection.result_shape), value.dtype)
    order = _visiting(build, selection, value)
    picks = tuple(replace(pick, positions=detached(build, pick.positions, array)) for pick in selection.picks)
    selection = Selection(array, picks, selection.shape, selection.place)
    if isinstance(value, Array):
        value = detached(build, value, array)
        if order != _visiting(build, selection, value):  # NumPy copies only what really overlaps
            raise _order_unknown(build)
    build.use_site()
    build.mark_written(array.view.container)

    def at(turn: Point) -> None:
        where: list[Index] = [ZERO] * len(turn)
        for (axis, backwards), count in zip(order, turn, strict=True):
            where[axis] = selection.shape[axis] - 1 - count if backwards else count
        target = selection.inner(positions_at(build, selection, tuple(where)))
        source = value
        if isinstance(value, Array):
            view = value.view
            for number in reversed(range(len(where))):
                view = drop_axis(view, selection.place + number, where[number])
            source = Array(view, value.dtype)
        _write_inner(build, Array(target, array.dtype), source, combine, warn)

    for_each(build, tuple(selection.shape[axis] for axis, _ in order), at)


def _write_inner(build: Builder, target: Array, value: Array | Scalar, combine: Combine | None, warn: int) -> None:
    """One element, or the whole axes of a selection at one position."""
    if target.rank:
        inputs = [(target.view, target.dtype)] if combine else []
        if isinstance(value, Array):
            inputs.append((value.view, value.dtype))

        def body(_: Sequence[Index], args: Sequence[Expr]) -> Expr:
            new = value.expr if isinstance(value, Scalar) else args[-1]
            return combine(args[0], new) if combine else new

        generate(build, target.view, body, inputs, warn=warn)
        return
    new = value.expr if isinstance(value, Scalar) else build.read(value.view, (), value.dtype)
    if combine:
        old = build.read(target.view, (), target.dtype)
        new = build.let(combine(old, new), warn=warn)
    build.emit(Tasklet(writes=((target.view.at(()), new),), id=build.new_id(), span=build.span))


def _fitting(build: Builder, view: View, shape: tuple[Index, ...]) -> View:
    """The value stretched to the selection; leading axes of length 1 beyond its rank do not matter."""
    while view.rank > len(shape):
        build.guard_equal(view.shape[0], ONE, "shapes do not match")
        view = drop_axis(view, 0, ZERO)
    return broadcast_to(build, view, shape)


# ---- in which order -------------------------------------------------------------------------------------------------


def _visiting(build: Builder, selection: Selection, value: Array | Scalar) -> list[tuple[int, bool]]:
    """The axes of the positions from slowest to fastest, and whether each is gone through backwards.

    It matters where a position repeats: NumPy follows the memory of positions and values if there is one element at
    each position, so the one it writes last is not always the last in C order.
    """
    rank = len(selection.shape)
    forward = [(axis, False) for axis in range(rank)]
    if isinstance(value, Scalar) or (rank == 1 and len(selection.picks) == 1):
        return forward
    whole = selection.inner((ZERO,) * len(selection.picks))
    lone = value.view
    for axis in reversed(range(lone.rank)):
        if not selection.place <= axis < selection.place + rank:
            lone = drop_axis(lone, axis, ZERO)
    order = _memory_order(build, [lone, *(pick.positions.view for pick in selection.picks)], rank)
    if order == forward or not _is_single(build, whole):
        return forward
    if order is None:
        raise _order_unknown(build)
    return order


def _order_unknown(build: Builder) -> Exception:
    return build.error(
        "E222",
        "which of the values for a repeated position is written last depends on strides known only at run time",
        "copy the values or the indices first",
    )


def _memory_order(build: Builder, views: Sequence[View], rank: int) -> list[tuple[int, bool]] | None:
    """Axes from slowest to fastest as NumPy's iterator orders them, with those that all go down; None if unknown."""
    if rank > 1 and any(build.container(view.container).storage is Storage.REF for view in views):
        return None
    found: list[tuple[int, bool]] = []
    for axis in iteration_order(build, views, rank):
        signs = {_direction(build, view, axis) for view in views} - {0}
        if None in signs and 1 not in signs:
            return None
        found.append((axis, signs == {-1}))
    return found


def _is_single(build: Builder, view: View) -> bool:
    """Whether a view has one element; where that is not known, it is guarded not to."""
    if all(extent is ONE for extent in view.shape):
        return True
    if not any((extent.constant or 0) > 1 for extent in view.shape):
        build.guard_nonnegative(product(view.shape) - 2, "there may be one element at each position")
    return False


def _direction(build: Builder, view: View, axis: int) -> int | None:
    """1 if an axis of a view goes up in memory, -1 if it goes down, 0 if it stands still; None if that is not known."""
    steps = [step.constant for dimension in view.axes for number, step in dimension.terms if number == axis]
    if not steps:
        return 0
    if build.container(view.container).layout is Layout.STRIDED or None in steps:
        return None
    signs = {1 if step > 0 else -1 for step in steps if step}
    return signs.pop() if len(signs) == 1 else None


# ---- overlap --------------------------------------------------------------------------------------------------------


def detached(build: Builder, array: Array, other: Array) -> Array:
    """The array, or a copy if it may share memory with another one."""
    return copy_array(build, array) if may_share(build, array.view, other.view) else array


def may_share(build: Builder, left: View, right: View) -> bool:
    """Whether two views may have memory in common."""
    names = build.reaches(left.container), build.reaches(right.container)
    if not set(names[0]).isdisjoint(names[1]):
        return True
    if any(is_new(build, name) for part in names for name in part):
        return False
    return any(build.container(name).storage is Storage.REF for part in names for name in part)


def is_new(build: Builder, name: str) -> bool:
    """Whether an array was made in this very statement: no other name can reach it yet."""
    for scope in reversed(build.scopes):
        for node in reversed(scope.nodes):
            if isinstance(node, Alloc) and node.container == name:
                return True
            if node is build.site:
                return False
    return False
