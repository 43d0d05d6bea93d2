"""Lists of any length whose items are numbers of several types, or None, or tuples of such: each with its kind.

in:   a list of numbers of one type that is given a number of another
out:  a buffer with two elements per number: itself, and which of the kinds it is

before:  dist = [inf] * n; dist[0] = 0; dist[v] = dist[u] + w      a buffer of floats, and what does not fit in it
after:   0.0 2 | inf 1 | 0.5 0 | ...                                kinds: float64, float, int
         0.0 7 1 0 | 0.5 3 0 0 | ...                                the same for tuples, the numbers first

An item that is read is a choice of all kinds. The numbers lie in the type that NumPy makes an array of them in: an int
among floats must be one that a float can hold, else Python takes over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Literal, TypeAlias

import numpy as np

from weft.frontend.attributes import call_rule
from weft.frontend.context import Lowering
from weft.frontend.joins import MAX_ALTERNATIVES
from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Index, const_index, op
from weft.ir.nodes import View
from weft.numpy_rules.arrays import empty_array, generate, map_array
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast, initialise
from weft.numpy_rules.indexing import drop_axis, narrow_axis
from weft.numpy_rules.reshaping import split_axis
from weft.numpy_rules.type_conversions import python_cast
from weft.numpy_rules.values import Array, Either, Growing, Operand, Scalar, Static, Tuple
from weft.support.abi import NOT_COMPILED

Kind: TypeAlias = ScalarType | None  # the type of a number, or the object None
INEXACT = f"{NOT_COMPILED}ints beyond those a float holds in a list that grows"
EXACT = 2**53  # floats hold all ints up to here
_ROOM = 8  # elements a new buffer has at least
_NOWHERE = Array(View("", (), ()), DType.INT64)


# ---- kinds ----------------------------------------------------------------------------------------------------------


def is_mixed(operand: Operand) -> bool:
    """Whether this is a list of any length of numbers of several types, or of tuples of such."""
    return isinstance(operand, Growing) and operand.form in ("mixed", "mixed tuple")


def has_kinds(operand: Operand) -> bool:
    """Whether this is a list of any length in which each number lies beside its kind."""
    return isinstance(operand, Growing) and bool(operand.kinds)


def kinds_of(item: Operand) -> frozenset[Kind]:
    """What a number, or an item of a list of numbers, may be; nothing for any other operand."""
    match item:
        case Scalar(type=type_) | Growing(type=type_, form="number"):
            return frozenset({type_})
        case Static(value=None):
            return frozenset({None})
        case Growing(kinds=(kinds,), form="mixed"):
            return frozenset(kinds)
        case Either(items=items):
            found = [kinds_of(part) for part in items]
            return frozenset[Kind]().union(*found) if all(found) else frozenset()
        case _:
            return frozenset()


def columns_of(item: Operand) -> tuple[frozenset[Kind], ...] | None:
    """What the places of a tuple of numbers, or of the tuples in a list, may be; None for any other operand."""
    match item:
        case Tuple(items=(_, *_) as items, is_list=False, cls=None, slot=-1):
            found = tuple(frozenset[Kind]() if isinstance(item, Growing) else kinds_of(item) for item in items)
            return found if all(found) else None
        case Growing(kinds=kinds, form="mixed tuple"):
            return tuple(map(frozenset, kinds))
        case Growing(type=type_, parts=parts, row=(width,), form="tuple"):
            return tuple(frozenset({part}) for part in parts or (type_,) * (width.constant or 0))
        case _:
            return None


def numbers_in_rows(held: Growing) -> Growing:
    """The numbers of all lists in a list of lists, as one list."""
    form, row = ("mixed", (const_index(2),)) if held.kinds else ("number", ())
    return replace(held, count=held.count * held.row[0], form=form, row=row)


def list_of_kinds(items: Sequence[Operand]) -> Growing | None:
    """An empty list, without a buffer, that holds all these items; None where there is no such thing."""
    tables = [item for item in items if isinstance(item, Growing) and item.form == "rows"]
    if tables:
        line = list_of_kinds([numbers_in_rows(table) for table in tables]) if len(tables) == len(items) else None
        return None if line is None else replace(line, form="rows", row=(const_index(0),))
    tuples = [columns_of(item) for item in items]
    if items and None not in tuples:
        widths = {len(columns) for columns in tuples if columns is not None}
        columns = [frozenset[Kind]().union(*column) for column in zip(*filter(None, tuples), strict=False)]
        return _of_columns(columns, "mixed tuple") if len(widths) == 1 else None
    found = [kinds_of(item) for item in items]
    return _of_columns([frozenset[Kind]().union(*found)], "mixed") if found and all(found) else None


def _of_columns(columns: list[frozenset[Kind]], form: Literal["mixed", "mixed tuple"]) -> Growing | None:
    dtypes = {kind.dtype for kinds in columns for kind in kinds if kind is not None}
    if any(len(kinds) > MAX_ALTERNATIVES for kinds in columns) or (DType.UINT64 in dtypes and len(dtypes) > 1):
        return None  # too many, or no type holds them
    common = DType(np.result_type(*(dtype.numpy for dtype in dtypes)).name) if dtypes else DType.INT64
    type_ = ScalarType(DType.INT8 if common is DType.BOOL else common)
    kinds = tuple(tuple(sorted(column, key=_rank)) for column in columns)
    return Growing(_NOWHERE, const_index(0), type_, form, (const_index(2 * len(columns)),), kinds=kinds)


def _rank(kind: Kind) -> tuple[str, bool]:
    return ("", False) if kind is None else (kind.dtype.value, kind.python)


def holds(held: Growing, item: Operand) -> bool:
    """Whether an item is one of those in a list."""
    found = columns_of(item) if held.form == "mixed tuple" else (kinds_of(item),)
    if found is None or not all(found) or len(found) != len(held.kinds):
        return False
    return all(kinds <= frozenset(known) for kinds, known in zip(found, held.kinds, strict=True))


def _columns(held: Growing) -> list[Array]:
    """The numbers of each place of the items, then, if they are mixed, their kinds."""
    width = held.row[0] if held.row else const_index(1)
    line = replace(held.buffer.view, shape=(held.count * width,))
    rows = split_axis(line, 0, (held.count, width))
    places = range(width.constant or 0)
    return [Array(drop_axis(rows, 1, const_index(place)), held.buffer.dtype) for place in places]


# ---- a list that is to hold more kinds ------------------------------------------------------------------------------


def widened(ctx: Lowering, held: Growing, like: Growing) -> Growing:
    """A list of numbers, or of tuples, in a buffer for more kinds than it had."""
    if held.form == "rows":
        line = widened(ctx, numbers_in_rows(held), replace(like, form="mixed", row=(const_index(2),)))
        return replace(line, form="rows", count=held.count, row=held.row)
    build, dtype = ctx.build, like.type.dtype
    target = empty_array(build, (held.count * (like.row[0].constant or 0) + _ROOM,), dtype, name="list")
    result = replace(like, buffer=target, count=held.count)
    old, new, count = _columns(held), _columns(result), len(like.kinds)
    known = held.kinds or [tuple(kinds) for kinds in columns_of(held) or (kinds_of(held),)]
    for place, kinds in enumerate(known):
        tags, places = new[count + place], [like.kinds[place].index(kind) for kind in kinds]
        if held.kinds:
            inputs = ((old[count + place].view, held.buffer.dtype),)
            generate(build, tags.view, lambda _, tag, places=places: _renumbered(tag[0], places, dtype), inputs)
        else:
            initialise(build, tags, Scalar(const_index(places[0])))
        _guard_all_exact(ctx, old[place], dtype)
        initialise(build, new[place], old[place])
    return result


def _renumbered(tag: Expr, places: list[int], dtype: DType) -> Expr:
    old = op("cast", (_real(tag),), PY_INT)
    result: Expr = cast(const_index(places[-1]), dtype)
    for number, place in reversed(list(enumerate(places[:-1]))):
        test = op("equal", (old, const_index(number)), NP_BOOL)
        result = op("select", (test, cast(const_index(place), dtype), result), ScalarType(dtype))
    return result


def _guard_all_exact(ctx: Lowering, numbers: Array, dtype: DType) -> None:
    """Ints that become floats are ones that a float can hold."""
    if numbers.dtype is not DType.INT64 or dtype.kind not in "fc":
        return
    fits = map_array(ctx.build, numbers, DType.BOOL, _fits)
    _guard_found(ctx, call_rule(ctx, "numpy.all", fits), INEXACT)


def _fits(number: Expr) -> Expr:
    low, high = (cast(const_index(bound), DType.INT64) for bound in (-EXACT, EXACT))
    above = op("greater_equal", (number, low), NP_BOOL)
    return op("logical_and", (above, op("less_equal", (number, high), NP_BOOL)), NP_BOOL)


def _guard_found(ctx: Lowering, found: Operand, words: str) -> None:
    assert isinstance(found, Scalar)
    ctx.build.guard(found.expr, words)


# ---- items ----------------------------------------------------------------------------------------------------------


def guard_mixed(build: Builder, held: Growing, item: Operand) -> None:
    """Assume that floats hold the ints among them."""
    if not held.kinds or held.type.dtype.kind not in "fc":
        return
    for field in _fields(held, item):
        tag = field.tag if isinstance(field, Either) else None
        for number, part in enumerate(_alternatives(field)):
            if isinstance(part, Scalar) and part.type.dtype is DType.INT64:
                _guard_exact(build, part, None if tag is None else op("not_equal", (tag, const_index(number)), NP_BOOL))


def _guard_exact(build: Builder, number: Scalar, other: Expr | None) -> None:
    for name, bound in (("less_equal", EXACT), ("greater_equal", -EXACT)):
        test = op(name, (number.expr, const_index(bound)), NP_BOOL)
        build.guard(test if other is None else op("logical_or", (other, test), NP_BOOL), INEXACT)


def _fields(held: Growing, item: Operand) -> tuple[Operand, ...]:
    return item.items if held.form == "mixed tuple" and isinstance(item, Tuple) else (item,)


def _alternatives(item: Operand) -> tuple[Operand, ...]:
    return item.items if isinstance(item, Either) else (item,)


def write_mixed(build: Builder, held: Growing, buffer: Array, position: Index, item: Operand) -> None:
    """Write an item and its kind."""
    width = len(held.kinds)
    first = position * (2 * width)
    pairs = [
        _number_and_tag(field, kinds, buffer) for field, kinds in zip(_fields(held, item), held.kinds, strict=True)
    ]
    for place, (number, tag) in enumerate(pairs):
        build.write(buffer.view.at((first + place,)), number)
        build.write(buffer.view.at((first + (width + place),)), tag)


def _number_and_tag(item: Operand, kinds: tuple[Kind, ...], buffer: Array) -> tuple[Expr, Expr]:
    dtype = buffer.dtype
    pairs = [(_number(part, dtype), _tag(part, kinds, dtype)) for part in _alternatives(item)]
    number, tag = pairs[-1]
    for place, (other, its_tag) in reversed(list(enumerate(pairs[:-1]))):
        assert isinstance(item, Either)
        test = op("equal", (item.tag, const_index(place)), NP_BOOL)
        number = op("select", (test, other, number), ScalarType(dtype))
        tag = op("select", (test, its_tag, tag), ScalarType(dtype))
    return number, tag


def _number(part: Operand, dtype: DType) -> Expr:
    return cast(part.expr if isinstance(part, Scalar) else const_index(0), dtype)


def _tag(part: Operand, kinds: tuple[Kind, ...], dtype: DType) -> Expr:
    return cast(const_index(kinds.index(part.type if isinstance(part, Scalar) else None)), dtype)


def read_mixed(ctx: Lowering, held: Growing, position: Index) -> Operand:
    """The item at a position: one of all kinds, or a tuple of such."""
    width = len(held.kinds)
    first = position * (2 * width)
    fields = [
        _read_one(ctx, held.buffer, (first + place, first + (width + place)), kinds)
        for place, kinds in enumerate(held.kinds)
    ]
    return Tuple(tuple(fields)) if held.form == "mixed tuple" else fields[0]


def _read_one(ctx: Lowering, buffer: Array, places: tuple[Index, Index], kinds: tuple[Kind, ...]) -> Operand:
    build, last = ctx.build, len(kinds) - 1
    number = build.read(buffer.view, places[:1], buffer.dtype)
    if not last:
        return _as_kind(ctx, number, None, 0, kinds[0])
    tag = op("cast", (_real(build.read(buffer.view, places[1:], buffer.dtype)),), PY_INT)
    which = build.let_index(tag, "tag", low=0, high=last)
    return Either(which, tuple(_as_kind(ctx, number, which, place, kind) for place, kind in enumerate(kinds)))


def _as_kind(ctx: Lowering, number: Expr, tag: Index | None, place: int, kind: Kind) -> Operand:
    if kind is None:
        return Static(None)
    if tag is not None and number.type.dtype is not kind.dtype:  # it may be of another kind, and too large for this one
        test = op("equal", (tag, const_index(place)), NP_BOOL)
        nothing = cast(const_index(0), number.type.dtype)
        number = op("select", (test, number, nothing), number.type)
    return typed_number(ctx.build, number, kind, exact=number.type.dtype.kind in "fc")


def typed_number(build: Builder, number: Expr, type_: ScalarType, *, exact: bool = False) -> Scalar:
    """An element of a buffer as a number of a type; `exact`: if it is an int, a float holds it."""
    if type_.dtype.kind != "c":
        number = _real(number)
    number = cast(number, type_.dtype)
    if type_ == PY_INT:
        low, high = (-EXACT, EXACT) if exact else (None, None)
        return Scalar(build.let_index(op("cast", (number,), PY_INT), "x", low=low, high=high))
    return Scalar(python_cast(number, type_) if type_.python else number)


def _real(number: Expr) -> Expr:
    dtype = number.type.dtype
    if dtype.kind != "c":
        return number
    return op("real", (number,), ScalarType(DType.FLOAT32 if dtype.itemsize == 8 else DType.FLOAT64))


def numbers_of(ctx: Lowering, held: Growing) -> Array:
    """The numbers as NumPy makes an array of them: one of them at least must have the type of it."""
    build, width = ctx.build, len(held.kinds)
    fitting = [
        [place for place, kind in enumerate(kinds) if kind is not None and kind.dtype is held.type.dtype]
        for kinds in held.kinds
    ]
    if any(None in kinds for kinds in held.kinds) or not any(fitting):
        raise build.error("E149", "an array of a list of items of these kinds is not compiled", "fill an array instead")
    columns = _columns(held)
    if any(len(places) == len(kinds) for places, kinds in zip(fitting, held.kinds, strict=True)):
        build.guard_nonnegative(held.count - 1, "an array of an empty list")
    else:
        found = [_any_of(ctx, columns[width + place], places) for place, places in enumerate(fitting) if places]
        any_found = reduce(lambda left, right: op("logical_or", (left, right), NP_BOOL), found)
        build.guard(any_found, "an array of numbers of fewer kinds")
    return columns[0] if held.form == "mixed" else _first_columns(held, width)


def _any_of(ctx: Lowering, tags: Array, places: list[int]) -> Expr:
    """Whether a number of a column is of one of these kinds."""

    def fits(tag: Expr) -> Expr:
        number = op("cast", (_real(tag),), PY_INT)
        tests = [op("equal", (number, const_index(place)), NP_BOOL) for place in places]
        return reduce(lambda left, right: op("logical_or", (left, right), NP_BOOL), tests)

    found = call_rule(ctx, "numpy.any", map_array(ctx.build, tags, DType.BOOL, fits))
    assert isinstance(found, Scalar)
    return found.expr


def _first_columns(held: Growing, width: int) -> Array:
    """The numbers of tuples, without their kinds."""
    rows = split_axis(
        replace(held.buffer.view, shape=(held.count * (2 * width),)), 0, (held.count, const_index(2 * width))
    )
    return Array(narrow_axis(rows, 1, const_index(0), const_index(width), const_index(1)), held.buffer.dtype)
