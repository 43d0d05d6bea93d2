"""Lists whose length is known at run time only: numbers of one type in memory that grows.

in:   a list that a loop appends to
out:  a buffer with room to spare, and how many of its elements are the list's

before:  for i in range(n): out.append(x)       out: Tuple, one item longer each time
after:   a buffer and a count are carried; where the buffer is full, one of twice the size takes its place
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from weft.frontend.branches import choose
from weft.frontend.context import Lowering
from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Index, const_index, op
from weft.numpy_rules.arrays import copy_array, empty_array
from weft.numpy_rules.elementwise import cast, initialise
from weft.numpy_rules.indexing import index_view
from weft.numpy_rules.type_conversions import python_cast
from weft.numpy_rules.values import Array, Either, Growing, Operand, Scalar, Slice, Tuple

_ROOM = 8  # elements a new buffer has at least
ZERO = const_index(0)


def common_type(lists: Iterable[Operand]) -> ScalarType | None:
    """The type of all items of some lists of different lengths; None where there is no such thing."""
    found: set[ScalarType | None] = set()
    lengths: set[int] = set()
    pending = list(lists)
    while pending:
        match pending.pop():
            case Tuple(items=items, is_list=True, slot=-1):  # not the caller's own, which is to stay that object
                lengths.add(len(items))
                found |= {item.type if isinstance(item, Scalar) else None for item in items}
            case Growing(type=type_):
                lengths.add(-1)
                found.add(type_)
            case Either(items=items):
                pending += items
            case _:
                return None
    return next(iter(found)) if len(found) == 1 and len(lengths) > 1 else None


def materialised(ctx: Lowering, items: tuple[Operand, ...], type_: ScalarType) -> Growing:
    """Numbers of one type in a buffer of their own."""
    count = const_index(len(items))
    buffer = empty_array(ctx.build, (const_index(max(len(items), _ROOM)),), type_.dtype, name="list")
    for position, item in enumerate(items):
        assert isinstance(item, Scalar)
        _add(ctx, buffer, const_index(position), item)
    return Growing(buffer, count, type_)


def _write(ctx: Lowering, buffer: Array, position: Index, value: Scalar) -> None:
    ctx.build.write(buffer.view.at((position,)), cast(value.expr, buffer.dtype))


def _add(ctx: Lowering, buffer: Array, position: Index, value: Scalar) -> None:
    """Write behind the last element: what Python would see of the list stays as it is."""
    was_dirty = ctx.build.dirty
    _write(ctx, buffer, position, value)
    ctx.build.dirty = was_dirty


def elements(held: Growing) -> Array:
    """The elements that are in the list, as an array."""
    return Array(replace(held.buffer.view, shape=(held.count,)), held.buffer.dtype)


def as_array(ctx: Lowering, held: Growing) -> Array:
    """A new array of the elements, as NumPy makes it of a list: one of floats where it is empty."""
    if held.buffer.dtype is not DType.FLOAT64:
        ctx.build.guard_nonnegative(held.count - 1, "an array of an empty list")
    return copy_array(ctx.build, elements(held))


def copied(ctx: Lowering, held: Growing) -> Growing:
    """Another list of the same elements."""
    return Growing(copy_array(ctx.build, elements(held)), held.count, held.type)


def item_at(ctx: Lowering, held: Growing, position: Index) -> Scalar:
    """The element at a position that is known to be inside."""
    return _typed(ctx, held, elements(held).view.at((position,)).index[0])


def _typed(ctx: Lowering, held: Growing, position: Index) -> Scalar:
    value = ctx.build.read(held.buffer.view, (position,), held.buffer.dtype)
    if held.type == PY_INT:
        return Scalar(ctx.build.let_index(op("cast", (value,), PY_INT), "x"))
    return Scalar(python_cast(value, held.type) if held.type.python else value)


def read_item(ctx: Lowering, held: Growing, key: Operand) -> Operand:
    """`held[key]`."""
    view, scalar = index_view(ctx.build, elements(held), _checked(ctx, key))
    if scalar:
        return _typed(ctx, held, view.at(()).index[0])
    part = copy_array(ctx.build, Array(view, held.buffer.dtype))
    return Growing(part, part.shape[0], held.type)


def _checked(ctx: Lowering, key: Operand) -> Operand:
    if isinstance(key, Slice) or (isinstance(key, Scalar) and key.type.dtype.kind in "biu"):
        return key
    raise ctx.build.error("E109", "a list is indexed with ints and slices only")


def write_item(ctx: Lowering, held: Growing, key: Operand, value: Operand) -> Growing:
    """`held[key] = value`."""
    number = _fitting(ctx, held, value)
    if isinstance(key, Slice):
        raise ctx.build.error("E148", "this assignment to a slice of a list is not compiled", "use an array")
    view, _ = index_view(ctx.build, elements(held), _checked(ctx, key))
    _write(ctx, held.buffer, view.at(()).index[0], number)
    return held


def _fitting(ctx: Lowering, held: Growing, value: Operand) -> Scalar:
    if isinstance(value, Scalar) and value.type == held.type:
        return value
    raise ctx.build.error("E149", "a list of any length holds numbers of one type only", "fill an array instead")


def appended(ctx: Lowering, held: Growing, value: Operand) -> Growing:
    """The list with one more element."""
    number = _fitting(ctx, held, value)
    build, capacity = ctx.build, held.buffer.shape[0]

    def larger() -> Operand:
        target = empty_array(build, (capacity + capacity + _ROOM,), held.buffer.dtype, name="list")
        whole = Array(replace(target.view, shape=(capacity,)), target.dtype)
        initialise(build, whole, held.buffer)
        return target

    full = op("greater_equal", (held.count, capacity), NP_BOOL)
    buffer = choose(ctx, full, larger, lambda: held.buffer, name="list")
    assert isinstance(buffer, Array)
    _add(ctx, buffer, held.count, number)
    return Growing(buffer, held.count + 1, held.type)


def popped(ctx: Lowering, held: Growing) -> tuple[Growing, Operand]:
    """The list without its last element, and that."""
    ctx.build.guard_nonnegative(held.count - 1, "pop from empty list")
    last = held.count - 1
    return Growing(held.buffer, last, held.type), _typed(ctx, held, last)
