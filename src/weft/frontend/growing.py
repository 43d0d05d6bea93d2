"""Lists whose length is known at run time only: items of one kind in memory that grows.

in:   a list that a loop appends to
out:  a buffer with room to spare, and how many items it holds

before:  for i in range(n): out.append(x)       out: Tuple, one item longer each time
after:   a buffer and a count are carried; where the buffer is full, one of twice the size takes its place

Items are numbers, of one type or of several (`weft.frontend.mixed`), tuples or lists of numbers, or arrays of one shape
(`weft.frontend.rows`). Lists stay where they are: what a name referred to would be a copy of them; only numbers are
read out of them, as in `rows[i][j]`. Of an array a copy is taken out, which nobody may write or see beside the list.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from weft.frontend.branches import choose, split
from weft.frontend.context import Lowering
from weft.frontend.heap import contents
from weft.frontend.mixed import (
    has_kinds,
    is_mixed,
    list_of_kinds,
    numbers_in_rows,
    numbers_of,
    read_mixed,
    typed_number,
    widened,
)
from weft.frontend.rows import (
    as_row,
    empty_list,
    flat_size,
    guard_row,
    item_kind,
    note_taken,
    row_of,
    same_items,
    taken_row,
    width,
    written_row,
)
from weft.ir.dtypes import NP_BOOL, DType, ScalarType
from weft.ir.exprs import Index, const_index, op
from weft.ir.nodes import Axis, View
from weft.numpy_rules.arrays import copy_array, empty_array
from weft.numpy_rules.elementwise import initialise, store
from weft.numpy_rules.indexing import drop_axis, index_view, narrow_axis
from weft.numpy_rules.reshaping import flat_array, split_axis
from weft.numpy_rules.values import Array, Either, Growing, Operand, Scalar, Slice, Static, Tuple
from weft.support.abi import NOT_COMPILED

_ROOM = 8  # elements a new buffer has at least
ZERO = const_index(0)


def common_kind(lists: Iterable[Operand]) -> Operand | None:
    """An item like all those of some lists of different lengths; None where there is no such thing."""
    found: list[Operand] = []
    lengths: set[int] = set()
    pending = list(lists)
    while pending:
        match pending.pop():
            case Tuple(items=items, is_list=True, slot=-1):  # not the caller's own, which is to stay that object
                lengths.add(len(items))
                found += map(as_row, items)
            case Growing() as held:
                lengths.add(-1)
                found.append(held)
            case Either(items=items):
                pending += items
            case _:
                return None
    kinds = {item_kind(item) for item in found}
    if len(kinds) == 1 and None not in kinds:
        return found[0] if len(lengths) > 1 else None
    return list_of_kinds(found) if len(lengths) > 1 or any(map(has_kinds, found)) else None


def materialised(ctx: Lowering, items: tuple[Operand, ...], like: Operand) -> Growing:
    """Items of one kind in a buffer of their own."""
    held = empty_list(like)
    items = tuple(_for_list(ctx, held, as_row(item)) for item in items)
    size = width(held) if is_mixed(held) else _size_of(ctx, items[0]) if items else ZERO
    room = size * len(items)
    buffer = empty_array(ctx.build, (room + _ROOM,), held.type.dtype, name="list")
    held = replace(held, buffer=buffer)
    for item in items:
        guard_row(ctx, held, item)
        held = _added(ctx, held, buffer, item)
    return held


def indexed(ctx: Lowering, items: tuple[Operand, ...], added: tuple[Operand, ...] = ()) -> Growing | None:
    """Numbers or tuples of such in a buffer, where a position known at run time finds them; None for other items.

    What is `added` fits in too.
    """
    if any(isinstance(item, Growing) for item in (*items, *added)):
        return None
    kinds = {item_kind(item) for item in (*items, *added)}
    is_loose = isinstance(items[0], Scalar) or (isinstance(items[0], Tuple) and not items[0].is_list)
    like = items[0] if len(kinds) == 1 and None not in kinds and is_loose else list_of_kinds((*items, *added))
    return None if like is None else materialised(ctx, items, like)


def in_buffer(ctx: Lowering, held: Operand, like: Operand) -> Growing:
    """A list in a buffer, whether it was so before or not."""
    if isinstance(held, Growing):
        return held if item_kind(held) == item_kind(like) else _for_kinds_of(ctx, held, (like,))
    assert isinstance(held, Tuple)
    return materialised(ctx, held.items, like)


def one_list(ctx: Lowering, held: Either) -> Operand | None:
    """A list of several possible lengths in a buffer whatever its length; None where that cannot be."""
    kind = common_kind((held,))
    return None if kind is None else split(ctx, held, lambda item: in_buffer(ctx, item, kind))


def _added(ctx: Lowering, held: Growing, buffer: Array, item: Operand) -> Growing:
    """Write behind the last item: what Python would see of the list stays as it is."""
    was_dirty = ctx.build.dirty
    row, shared = written_row(ctx, held, buffer, item)
    ctx.build.dirty = was_dirty
    return replace(held, buffer=buffer, count=held.count + 1, row=row, shared=held.shared or shared)


def elements(held: Growing) -> Array:
    """The items that are in the list, as an array whose first axis counts them."""
    if held.buffer.rank > 1:
        return held.buffer
    if held.form == "number":
        return Array(replace(held.buffer.view, shape=(held.count,)), held.buffer.dtype)
    line = replace(held.buffer.view, shape=(held.count * width(held),))
    pairs = (const_index(2),) if held.form == "rows" and held.kinds else ()
    return Array(split_axis(line, 0, (held.count, *held.row, *pairs)), held.buffer.dtype)


def as_array(ctx: Lowering, held: Growing) -> Array:
    """A new array of the items, as NumPy makes it of a list: one of floats where it is empty."""
    if is_mixed(held):
        return copy_array(ctx.build, numbers_of(ctx, held), order="C")
    if held.buffer.dtype is not DType.FLOAT64 or held.row:
        ctx.build.guard_nonnegative(held.count - 1, "an array of an empty list")
    if held.form == "rows":
        ctx.build.guard_nonnegative(held.row[0] - 1, "an array of empty lists")
        if held.kinds:
            numbers = numbers_of(ctx, numbers_in_rows(held))
            rows = split_axis(numbers.view, 0, (held.count, *held.row))
            return copy_array(ctx.build, Array(rows, numbers.dtype), order="C")
    return copy_array(ctx.build, elements(held), order="C")


def copied(ctx: Lowering, held: Growing) -> Growing:
    """Another list of the same items."""
    _check_loose(ctx, held)
    line = Array(replace(held.buffer.view, shape=(held.count * width(held),)), held.buffer.dtype)
    return replace(held, buffer=copy_array(ctx.build, line))


def item_at(ctx: Lowering, held: Growing, position: Index) -> Operand:
    """The item at a position that is known to be inside."""
    return _typed(ctx, held, position)


def _typed(ctx: Lowering, held: Growing, position: Index) -> Operand:
    if held.form == "array":
        return taken_row(ctx, Array(drop_axis(elements(held).view, 0, position), held.buffer.dtype))
    _check_loose(ctx, held)
    if is_mixed(held):
        return read_mixed(ctx, held, position)
    if held.form == "tuple":
        first = position * width(held)
        places = range(held.row[0].constant or 0)
        types = held.parts or (held.type,) * len(places)
        numbers = (_number(ctx, held, first + const_index(place), types[place]) for place in places)
        return Tuple(tuple(numbers))
    return _number(ctx, held, position, held.type)


def _check_loose(ctx: Lowering, held: Growing) -> None:
    """Items may be seen beside the list: numbers, which nobody can change."""
    if held.form in ("array", "list", "rows"):
        what = f"an {held.form}" if held.form == "array" else "a list"
        message = f"{what} in a list of any length is not taken out of it"
        raise ctx.build.error("E149", message, "use np.array(list)")


def _number(ctx: Lowering, held: Growing, place: Index, type_: ScalarType) -> Scalar:
    return typed_number(ctx.build, ctx.build.read(held.buffer.view, (place,), held.buffer.dtype), type_)


def read_item(ctx: Lowering, held: Growing, key: Operand) -> Operand:
    """`held[key]`."""
    if isinstance(_checked(ctx, key), Slice):
        return _part(ctx, held, key)
    return _typed(ctx, held, place_at(ctx, held, key))


def row_of_numbers(ctx: Lowering, held: Operand, key: Operand) -> Operand | None:
    """The numbers of the list `held[key]`, as a new one or where they lie; None where those are not in a buffer."""
    if isinstance(held, Growing) and held.form == "rows" and isinstance(key, Scalar):
        return row_at(ctx, held, key)
    if not isinstance(held, Growing) or held.form != "list" or held.buffer.rank > 1 or not isinstance(key, Scalar):
        return None
    row = read_item(ctx, replace(held, form="tuple"), key)
    return replace(row, is_list=True) if isinstance(row, Tuple) else row


def row_at(ctx: Lowering, held: Growing, key: Operand) -> Growing:
    """The list `held[key]` of a list of lists, where nobody sees that it is one: its numbers where they lie."""
    (size,) = held.row
    line = narrow_axis(held.buffer.view, 0, place_at(ctx, held, key) * width(held), width(held), const_index(1))
    return replace(numbers_in_rows(held), buffer=Array(line, held.buffer.dtype), count=size)


def _part(ctx: Lowering, held: Growing, key: Operand) -> Growing:
    if held.form != "array":
        _check_loose(ctx, held)
    view, _ = index_view(ctx.build, elements(held), key)
    items = Array(view, held.buffer.dtype)
    part = taken_row(ctx, items) if held.form == "array" else copy_array(ctx.build, items, order="C")
    shared = held.shared or held.form == "array"
    return replace(held, buffer=flat_array(ctx.build, part), count=part.shape[0], shared=shared)


def place_at(ctx: Lowering, held: Growing, key: Operand) -> Index:
    """Where the item `held[key]` stands, an int that counts from the end where it is negative."""
    line = (Axis(ZERO, ((0, const_index(1)),)),)
    counted = Array(View(held.buffer.view.container, (held.count,), line), held.buffer.dtype)
    view, _ = index_view(ctx.build, counted, _checked(ctx, key))
    return view.at(()).index[0]


def _checked(ctx: Lowering, key: Operand) -> Operand:
    if isinstance(key, Slice) or (isinstance(key, Scalar) and key.type.dtype.kind in "biu"):
        return key
    raise ctx.build.error("E109", "a list is indexed with ints and slices only")


def write_item(ctx: Lowering, held: Growing, key: Operand, value: Operand) -> Growing:
    """`held[key] = value`."""
    if isinstance(key, Slice):
        return _with_part(ctx, held, key, value)
    held = fitting(ctx, held, value)
    if held.form in ("array", "list", "rows"):
        raise ctx.build.error("E148", "this assignment to an item of a list is not compiled", "use an array")
    guard_row(ctx, held, value)
    written_row(ctx, replace(held, count=place_at(ctx, held, key)), held.buffer, value)
    return held


def _with_part(ctx: Lowering, held: Growing, key: Slice, value: Operand) -> Growing:
    """`held[key] = value` for as many numbers of the same type as there were."""
    build, given = ctx.build, contents(ctx, value)
    if isinstance(given, Tuple) and given.items and given.slot < 0:
        given = indexed(ctx, given.items)
    fits = isinstance(given, Growing) and held.form == given.form == "number" and held.type == given.type
    if not fits or not isinstance(given, Growing):
        raise build.error("E148", "this assignment to a slice of a list is not compiled", "use an array")
    numbers = copy_array(build, elements(given))  # they may be the list's own
    view, _ = index_view(build, elements(held), key)
    build.guard_equal(view.shape[0], given.count, f"{NOT_COMPILED}a slice of a list that changes its length")
    store(build, Array(view, held.buffer.dtype), numbers)
    return held


def fitting(ctx: Lowering, held: Growing, value: Operand) -> Growing:
    """The list in a buffer that such an item fits in."""
    return held if same_items(held, value) else _for_kinds_of(ctx, held, (held, value))


def _for_kinds_of(ctx: Lowering, held: Growing, items: tuple[Operand, ...]) -> Growing:
    like = list_of_kinds(items)
    if like is None:
        raise ctx.build.error("E149", "a list of any length holds items of one kind only", "fill an array instead")
    return held if like.kinds == held.kinds and like.type == held.type else widened(ctx, held, like)


def appended(ctx: Lowering, held: Growing, value: Operand) -> Growing:
    """The list with one more item."""
    held = fitting(ctx, held, value)
    value = _for_list(ctx, held, value)
    guard_row(ctx, held, value)
    build, capacity = ctx.build, held.buffer.shape[0]
    size = width(held) if is_mixed(held) else _size_of(ctx, value)
    needed = (held.count + 1) * size

    def larger() -> Operand:
        target = empty_array(build, (needed + needed + _ROOM,), held.buffer.dtype, name="list")
        used = held.count * width(held)
        initialise(build, _start(target, used), _start(held.buffer, used))
        return target

    full = op("greater", (needed, capacity), NP_BOOL)
    buffer = choose(ctx, full, larger, lambda: held.buffer, name="list")
    assert isinstance(buffer, Array)
    return _added(ctx, held, buffer, value)


def _for_list(ctx: Lowering, held: Growing, item: Operand) -> Operand:
    """An item as it lies in a list: of a list of numbers of one type, each beside its kind if the others have kinds."""
    is_other = isinstance(item, Growing) and not same_items(held, item)
    return _for_kinds_of(ctx, item, (held,)) if is_other and isinstance(item, Growing) else item


def _size_of(ctx: Lowering, value: Operand) -> Index:
    """How many elements an item of a list has."""
    if isinstance(value, Growing):
        return width(value)
    return flat_size(ctx, row_of(value).row)


def _start(line: Array, length: Index) -> Array:
    return Array(replace(line.view, shape=(length,)), line.dtype)


def extended(ctx: Lowering, held: Growing, items: Array) -> Growing:
    """The list with the elements of an array of one axis behind its own."""
    build, total = ctx.build, held.count + items.shape[0]

    def larger() -> Operand:
        target = empty_array(build, (total + total + _ROOM,), held.buffer.dtype, name="list")
        initialise(build, _start(target, held.count), _start(held.buffer, held.count))
        return target

    items = copy_array(build, items)  # they may be the list's own
    full = op("greater", (total, held.buffer.shape[0]), NP_BOOL)
    buffer = choose(ctx, full, larger, lambda: held.buffer, name="list")
    assert isinstance(buffer, Array)
    was_dirty = build.dirty
    rest = narrow_axis(_start(buffer, total).view, 0, held.count, items.shape[0], const_index(1))
    store(build, Array(rest, buffer.dtype), items)
    build.dirty = was_dirty
    return replace(held, buffer=buffer, count=total)


def joined(ctx: Lowering, left: Operand, right: Operand) -> Growing | None:
    """`left + right` of two lists of one kind of item, one of them of any length; None for any other operands."""
    like = _joint_kind(left, right)
    first, second = (in_buffer(ctx, side, like) for side in (left, right)) if like is not None else (None, None)
    if first is None or second is None or first.form in ("list", "rows"):
        return None
    build = ctx.build
    for known, extent in zip(first.row, second.row, strict=True):
        if known is not extent:
            build.guard_equal(known, extent, "arrays of different shapes in lists that are joined")
    used, added = first.count * width(first), second.count * width(first)
    buffer = empty_array(build, (used + added,), first.buffer.dtype, name="list")
    initialise(build, _start(buffer, used), _start(first.buffer, used))
    rest = narrow_axis(_start(buffer, used + added).view, 0, used, added, const_index(1))
    initialise(build, Array(rest, buffer.dtype), _start(second.buffer, added))
    if first.form == "array":
        note_taken(ctx, buffer)
    shared = first.shared or second.shared or first.form == "array"
    return replace(first, buffer=buffer, count=first.count + second.count, shared=shared)


def _joint_kind(left: Operand, right: Operand) -> Operand | None:
    """An item like those of two lists; None for other operands, or where there is no such thing."""
    found: list[Operand] = []
    for side in (left, right):
        match side:
            case Growing():
                found.append(side)
            case Tuple(items=items, is_list=True):
                found += map(as_row, items)
            case _:
                return None
    kinds = {item_kind(item) for item in found}
    return found[0] if len(kinds) == 1 and None not in kinds else list_of_kinds(found)


def without(ctx: Lowering, held: Growing, position: Index) -> Growing:
    """The list without the item at a position."""
    build, size = ctx.build, width(held)
    before, used = position * size, held.count * size
    target = empty_array(build, (used + _ROOM,), held.buffer.dtype, name="list")
    initialise(build, _start(target, before), _start(held.buffer, before))
    rest, kept = (
        Array(narrow_axis(_start(line, end).view, 0, first, used - size - before, const_index(1)), held.buffer.dtype)
        for line, end, first in ((target, used - size, before), (held.buffer, used, before + size))
    )
    initialise(build, rest, kept)
    return replace(held, buffer=target, count=held.count - 1)


def in_front(ctx: Lowering, held: Growing, value: Operand) -> Growing:
    """The list with one more item before all others."""
    held = fitting(ctx, held, value)
    _check_loose(ctx, held)
    guard_row(ctx, held, value)
    build, size = ctx.build, width(held)
    used = held.count * size
    target = empty_array(build, (used + used + size + _ROOM,), held.buffer.dtype, name="list")
    rest = narrow_axis(_start(target, used + size).view, 0, size, used, const_index(1))
    initialise(build, Array(rest, target.dtype), _start(held.buffer, used))
    _added(ctx, replace(held, count=ZERO), target, value)
    return replace(held, buffer=target, count=held.count + 1)


def backwards(ctx: Lowering, held: Growing) -> Growing:
    """The items from the last to the first."""
    return _part(ctx, held, Slice(Static(None), Static(None), Scalar(const_index(-1))))


def listed(ctx: Lowering, line: Array, type_: ScalarType) -> Growing:
    """A list of the elements of an array of one axis, as numbers of a type."""
    return Growing(copy_array(ctx.build, line, type_.dtype), line.shape[0], type_)


def popped_first(ctx: Lowering, held: Growing) -> tuple[Growing, Operand]:
    """The list without its first item, and that."""
    ctx.build.guard_nonnegative(held.count - 1, "pop from empty list")
    first = _typed(ctx, held, ZERO)
    return _part(ctx, held, Slice(Scalar(const_index(1)), Static(None), Static(None))), first


def popped_at(ctx: Lowering, held: Growing, key: Scalar) -> tuple[Growing, Operand]:
    """The list without an item, and that."""
    place = place_at(ctx, held, key)
    return without(ctx, held, place), _typed(ctx, held, place)


def popped(ctx: Lowering, held: Growing) -> tuple[Growing, Operand]:
    """The list without its last item, and that."""
    ctx.build.guard_nonnegative(held.count - 1, "pop from empty list")
    last = held.count - 1
    return replace(held, count=last), _typed(ctx, held, last)
