"""The items of lists of any length: what they have in common, and how they lie in the buffer.

in:   a number, a tuple or list of numbers, or an array
out:  the item written behind those that are in the buffer; the shape of an item, which all of them have

Numbers of several types lie in a buffer of the type that NumPy makes an array of them in: an int among floats must be
one that a float can hold, else Python takes over. Of an array the buffer holds a copy. That is the array itself as long
as nobody writes to it any more: an array that has no name cannot be written, and of others it is checked when the whole
program is known (`check_held`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from weft.frontend.context import Lowering
from weft.frontend.mixed import EXACT, INEXACT, guard_mixed, holds, is_mixed, write_mixed
from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Index, const_index, op
from weft.ir.nodes import Alloc, NumpyCall, View
from weft.numpy_rules.arrays import copy_array
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast, store
from weft.numpy_rules.gathering import is_new
from weft.numpy_rules.guards import Held
from weft.numpy_rules.indexing import drop_axis, narrow_axis
from weft.numpy_rules.memory_order import copied_order
from weft.numpy_rules.reshaping import product, split_axis
from weft.numpy_rules.values import Array, Dict, Either, Growing, Made, Operand, Scalar, Tuple, Unbound
from weft.support.abi import NOT_COMPILED
from weft.support.spans import Span

ZERO, ONE = const_index(0), const_index(1)
_RAGGED = f"{NOT_COMPILED}arrays of different shapes in a list that grows"
_NOWHERE = View("", (), ())


class WrittenLater(Exception):  # noqa: N818  (a request to start again, not an error)
    """Arrays that were put into a list as copies are written or seen later: these lists must be left to Python."""

    def __init__(self, places: frozenset[Span | None]) -> None:
        super().__init__(places)
        self.places = places


def row_of(item: Operand) -> Growing:
    """An empty list of such items, without a buffer; what is no such item gives one of no form."""
    nowhere = Array(_NOWHERE, ScalarType(PY_INT.dtype).dtype)
    match item:
        case Growing():
            return replace(item, count=ZERO, shared=False)
        case Scalar(type=type_):
            return Growing(nowhere, ZERO, type_)
        case Tuple(items=(Scalar(), *_) as items, is_list=is_list, cls=None, slot=-1):
            return replace(_row_of_numbers(nowhere, items), form="list" if is_list else "tuple")
        case Array(shape=shape, dtype=dtype) if not item.readonly:
            return Growing(nowhere, ZERO, ScalarType(dtype), "array", shape)
        case _:
            raise TypeError("no item of a list of any length")


def _row_of_numbers(nowhere: Array, items: tuple[Operand, ...]) -> Growing:
    types = tuple(item.type for item in items if isinstance(item, Scalar))
    if len(types) < len(items):
        raise TypeError("no item of a list of any length")
    row = (const_index(len(items)),)
    if len(set(types)) == 1:
        return Growing(nowhere, ZERO, types[0], "tuple", row)
    if DType.UINT64 in {type_.dtype for type_ in types}:
        raise TypeError("no type holds these numbers")
    common = DType(np.result_type(*(type_.dtype.numpy for type_ in types)).name)
    return Growing(nowhere, ZERO, ScalarType(common), "tuple", row, parts=types)


def as_row(item: Operand) -> Operand:
    """An item of a list: for a list of numbers of any length, the list that holds nothing else; no other such list."""
    if not isinstance(item, Growing):
        return item
    fits = item.form in ("number", "mixed")
    return replace(item, count=ONE, form="rows", row=(item.count,)) if fits else Unbound()


def has_open_rows(held: Growing) -> bool:
    """Whether the shape of the items is known at run time only."""
    return held.form in ("array", "rows")


def empty_list(item: Operand) -> Growing:
    """The list of such items that is known before there are any."""
    held = row_of(item)
    return replace(held, row=(ZERO,) * len(held.row)) if has_open_rows(held) else held


def item_kind(item: Operand | None) -> tuple[object, ...] | None:
    """What all items of a list have in common; None for what cannot be one."""
    try:
        held = row_of(item) if item is not None else None
    except TypeError:
        return None
    if held is None:
        return None
    return held.type, held.form, len(held.row) if has_open_rows(held) else held.row, held.parts, held.kinds


def same_items(held: Growing, item: Operand) -> bool:
    """Whether an item is one of those."""
    if is_mixed(held):
        return holds(held, item)
    return item_kind(held) == item_kind(item)


def width(held: Growing) -> Index:
    """How many elements an item has."""
    return product(held.row) * (2 if held.form == "rows" and held.kinds else 1)


def flat_size(ctx: Lowering, row: tuple[Index, ...]) -> Index:
    """The same for a shape, as one number."""
    size = product(row)
    return size if size.constant is not None else ctx.build.let_index(op("positive", (size,), PY_INT), "size", low=0)


def guard_row(ctx: Lowering, held: Growing, item: Operand) -> None:
    """Assume that an array has the shape of those that are in the list, and that floats hold the ints among them."""
    build = ctx.build
    guard_mixed(build, held, item)
    if isinstance(item, Tuple) and held.type.dtype.kind in "fc":
        for part in item.items:
            if isinstance(part, Scalar) and part.type.dtype is DType.INT64:
                _guard_exact(build, part)
    if isinstance(item, Growing):
        _guard_same_shape(build, held, item.row)
    if not isinstance(item, Array):
        return
    if build.span in ctx.refused_lists:
        raise build.error("E149", "an array in a list is written or returned later", "append a copy of it")
    if copied_order(build, [item.view], item.rank) != tuple(range(item.rank)):
        raise build.error("E149", "a list of arrays in Fortran order is not compiled", "append x.copy(order='C')")
    _guard_same_shape(build, held, item.shape)


def _guard_same_shape(build: Builder, held: Growing, shape: tuple[Index, ...]) -> None:
    """The first item says what shape they have."""
    if held.count.constant == 0:
        return
    first = op("equal", (held.count, ZERO), NP_BOOL)
    for known, extent in zip(held.row, shape, strict=True):
        if known is not extent:
            same = op("equal", (known, extent), NP_BOOL)
            build.guard(op("logical_or", (first, same), NP_BOOL), _RAGGED)


def _guard_exact(build: Builder, number: Scalar) -> None:
    for name, bound in (("less_equal", EXACT), ("greater_equal", -EXACT)):
        build.guard(op(name, (number.expr, const_index(bound)), NP_BOOL), INEXACT)


def written_row(ctx: Lowering, held: Growing, buffer: Array, item: Operand) -> tuple[tuple[Index, ...], bool]:
    """Write an item behind the others; gives the shape of an item, and whether this one has other names."""
    build = ctx.build
    match item:
        case _ if is_mixed(held):
            write_mixed(build, held, buffer, held.count, item)
        case Scalar():
            build.write(buffer.view.at((held.count,)), cast(item.expr, buffer.dtype))
        case Tuple(items=parts):
            first = held.count * len(parts)
            for place, part in enumerate(parts):
                assert isinstance(part, Scalar)
                build.write(buffer.view.at((first + place,)), cast(part.expr, buffer.dtype))
        case Array():
            return _written_array(ctx, held, buffer, item)
        case Growing(form="rows"):
            size = width(item)
            part = narrow_axis(buffer.view, 0, held.count * size, size, ONE)
            store(build, Array(part, buffer.dtype), Array(replace(item.buffer.view, shape=(size,)), buffer.dtype))
            return item.row, False
        case _:
            raise build.error("E149", "a list of lists of any length is not compiled", "use an array of two axes")
    return held.row, False


def _written_array(ctx: Lowering, held: Growing, buffer: Array, item: Array) -> tuple[tuple[Index, ...], bool]:
    build = ctx.build
    size = flat_size(ctx, item.shape)
    line = replace(buffer.view, shape=((held.count + 1) * size,))
    rows = split_axis(line, 0, (held.count + 1, *item.shape))
    shared = not is_new(build, item.view.container) or bool(
        build.ledger.taken & set(build.reaches(item.view.container))
    )
    if shared:
        build.ledger.held.append(_held(build, item.view.container))
    store(build, Array(drop_axis(rows, 0, held.count), buffer.dtype), item)
    return item.shape, shared


def taken_row(ctx: Lowering, row: Array) -> Array:
    """An array in a list, or several: a copy, as long as nobody writes it."""
    copy = copy_array(ctx.build, row, order="C")
    note_taken(ctx, copy)
    return copy


def note_taken(ctx: Lowering, copy: Array) -> None:
    """An array stands for others in a list from here on."""
    build = ctx.build
    if build.span in ctx.refused_lists:
        raise build.error("E149", "an array in a list is taken out and written or returned later", "take a copy of it")
    build.ledger.taken.add(copy.view.container)
    build.ledger.held.append(_held(build, copy.view.container))


def note_steady(ctx: Lowering, array: Array) -> bool:
    """Whether an array may be read later than Python reads it: nobody writes it from here on, which is checked."""
    if ctx.build.span in ctx.refused_lists:
        return False
    ctx.build.ledger.held.append(_held(ctx.build, array.view.container))
    return True


def refuse_taken(ctx: Lowering, operands: Sequence[Operand]) -> None:
    """Of a list and the arrays taken out of it no two are seen at once: they would not be the same objects."""
    taken = ctx.build.ledger.taken
    arrays = [item for item in operands if isinstance(item, Array)]
    found = [array for array in arrays if taken & set(ctx.build.reaches(array.view.container))]
    lists = [item for item in operands if isinstance(item, Growing) and item.form == "array"]
    if found and len(found) + len(lists) > 1:
        raise WrittenLater(frozenset(held.span for held in ctx.build.ledger.held if held.container in taken))


def _held(build: Builder, name: str) -> Held:
    """An array with a name: one made in this turn of the loop may have been written until now, others never."""
    for scope in reversed(build.scopes):
        for node in scope.nodes:
            made = isinstance(node, Alloc) and node.container == name
            if made or (isinstance(node, NumpyCall) and any(result.target == name for result in node.results)):
                return Held(name, build.ledger.writes.get(name, 0), build.span)
        if scope.turns:
            break
    return Held(name, None, build.span)


def refuse_shared(ctx: Lowering, operand: Operand) -> None:
    """A list of copies must not be seen beside the arrays they were made of."""
    match operand:
        case Growing(shared=True):
            raise WrittenLater(frozenset(held.span for held in ctx.build.ledger.held))
        case Tuple(items=items) | Dict(items=items) | Made(items=items) | Either(items=items):
            for item in items:
                refuse_shared(ctx, item)
        case _:
            pass


def check_held(build: Builder) -> None:
    """No array that stands in a list as a copy is written afterwards."""
    for held in build.ledger.held:
        if held.writes is not None:
            written = build.ledger.writes.get(held.container, 0) != held.writes
        else:
            written = any(build.container(name).written for name in build.reaches(held.container))
        if written:
            raise WrittenLater(frozenset({held.span}))
