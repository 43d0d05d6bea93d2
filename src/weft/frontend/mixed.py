"""Lists of any length whose items are numbers of several types, or None: each item beside the number of its kind.

in:   a list of numbers of one type that is given a number of another
out:  a buffer with two elements per item: the number, and which of the kinds it is

before:  dist = [inf] * n; dist[0] = 0; dist[v] = dist[u] + w      a buffer of floats, and what does not fit in it
after:   0.0 2 | inf 1 | 0.5 0 | ...                                kinds: float64, float, int

An item that is read is a choice of all kinds. The numbers lie in the type that NumPy makes an array of them in: an int
among floats must be one that a float can hold, else Python takes over.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import TypeAlias

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
from weft.numpy_rules.indexing import drop_axis
from weft.numpy_rules.reshaping import split_axis
from weft.numpy_rules.type_conversions import python_cast
from weft.numpy_rules.values import Array, Either, Growing, Operand, Scalar, Static
from weft.support.abi import NOT_COMPILED

Kind: TypeAlias = ScalarType | None  # the type of a number, or the object None
INEXACT = f"{NOT_COMPILED}ints beyond those a float holds in a list that grows"
EXACT = 2**53  # floats hold all ints up to here
_ROOM = 8  # elements a new buffer has at least
_PAIR = const_index(2)
_NOWHERE = Array(View("", (), ()), DType.INT64)


# ---- kinds ----------------------------------------------------------------------------------------------------------


def kinds_of(item: Operand) -> frozenset[Kind]:
    """What a number, or an item of a list of numbers, may be; nothing for any other operand."""
    match item:
        case Scalar(type=type_) | Growing(type=type_, form="number"):
            return frozenset({type_})
        case Static(value=None):
            return frozenset({None})
        case Growing(parts=parts, form="mixed"):
            return frozenset(parts)
        case Either(items=items):
            found = [kinds_of(part) for part in items]
            return frozenset[Kind]().union(*found) if all(found) else frozenset()
        case _:
            return frozenset()


def list_of_kinds(items: Iterable[Operand]) -> Growing | None:
    """An empty list, without a buffer, that holds all these items; None where there is no such thing."""
    found = [kinds_of(item) for item in items]
    kinds = frozenset[Kind]().union(*found)
    if not kinds or not all(found) or len(kinds) > MAX_ALTERNATIVES:
        return None
    dtypes = {kind.dtype for kind in kinds if kind is not None}
    if DType.UINT64 in dtypes and len(dtypes) > 1:
        return None  # no type holds these numbers
    common = DType(np.result_type(*(dtype.numpy for dtype in dtypes)).name) if dtypes else DType.INT64
    type_ = ScalarType(DType.INT8 if common is DType.BOOL else common)
    return Growing(_NOWHERE, const_index(0), type_, "mixed", (_PAIR,), parts=tuple(sorted(kinds, key=_rank)))


def _rank(kind: Kind) -> tuple[str, bool]:
    return ("", False) if kind is None else (kind.dtype.value, kind.python)


def _columns(held: Growing) -> tuple[Array, Array]:
    """The numbers and their kinds."""
    line = replace(held.buffer.view, shape=(held.count * 2,))
    pairs = split_axis(line, 0, (held.count, _PAIR))
    numbers, tags = (Array(drop_axis(pairs, 1, const_index(place)), held.buffer.dtype) for place in range(2))
    return numbers, tags


# ---- a list that is to hold more kinds ------------------------------------------------------------------------------


def widened(ctx: Lowering, held: Growing, like: Growing) -> Growing:
    """A list of numbers in a buffer for more kinds than it had."""
    build, dtype = ctx.build, like.type.dtype
    target = empty_array(build, (held.count * 2 + _ROOM,), dtype, name="list")
    result = replace(like, buffer=target, count=held.count)
    numbers, tags = _columns(result)
    if held.form == "number":
        old = Array(replace(held.buffer.view, shape=(held.count,)), held.buffer.dtype)
        initialise(build, tags, Scalar(const_index(like.parts.index(held.type))))
    else:
        old, old_tags = _columns(held)
        places = [like.parts.index(kind) for kind in held.parts]
        inputs = ((old_tags.view, old_tags.dtype),)
        generate(build, tags.view, lambda _, tag: _renumbered(tag[0], places, dtype), inputs)
    _guard_all_exact(ctx, old, dtype)
    initialise(build, numbers, old)
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
    if held.form != "mixed" or held.type.dtype.kind not in "fc":
        return
    tag = item.tag if isinstance(item, Either) else None
    for number, part in enumerate(_alternatives(item)):
        if not isinstance(part, Scalar) or part.type.dtype is not DType.INT64:
            continue
        for name, bound in (("less_equal", EXACT), ("greater_equal", -EXACT)):
            test = op(name, (part.expr, const_index(bound)), NP_BOOL)
            if tag is not None:
                other = op("not_equal", (tag, const_index(number)), NP_BOOL)
                test = op("logical_or", (other, test), NP_BOOL)
            build.guard(test, INEXACT)


def _alternatives(item: Operand) -> tuple[Operand, ...]:
    return item.items if isinstance(item, Either) else (item,)


def write_mixed(build: Builder, held: Growing, buffer: Array, position: Index, item: Operand) -> None:
    """Write an item and its kind."""
    type_ = ScalarType(buffer.dtype)
    parts = _alternatives(item)
    pairs = [(_number(part, buffer.dtype), _tag(held, part, buffer.dtype)) for part in parts]
    number, tag = pairs[-1]
    for place, (other, its_tag) in reversed(list(enumerate(pairs[:-1]))):
        assert isinstance(item, Either)
        test = op("equal", (item.tag, const_index(place)), NP_BOOL)
        number, tag = (op("select", (test, *pair), type_) for pair in ((other, number), (its_tag, tag)))
    build.write(buffer.view.at((position * 2,)), number)
    build.write(buffer.view.at((position * 2 + 1,)), tag)


def _number(part: Operand, dtype: DType) -> Expr:
    return cast(part.expr if isinstance(part, Scalar) else const_index(0), dtype)


def _tag(held: Growing, part: Operand, dtype: DType) -> Expr:
    kind = part.type if isinstance(part, Scalar) else None
    return cast(const_index(held.parts.index(kind)), dtype)


def read_mixed(ctx: Lowering, held: Growing, position: Index) -> Operand:
    """The item at a position: one of all kinds."""
    build, dtype = ctx.build, held.buffer.dtype
    number, place = (build.read(held.buffer.view, (position * 2 + offset,), dtype) for offset in range(2))
    last = len(held.parts) - 1
    tag = build.let_index(op("cast", (_real(place),), PY_INT), "tag", low=0, high=last)
    items = tuple(_as_kind(ctx, number, tag, place, kind) for place, kind in enumerate(held.parts))
    return Either(tag, items) if last else items[0]


def _as_kind(ctx: Lowering, number: Expr, tag: Index, place: int, kind: Kind) -> Operand:
    if kind is None:
        return Static(None)
    if number.type.dtype is not kind.dtype:  # it may be of another kind, and too large for this one
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
    build = ctx.build
    fitting = [place for place, kind in enumerate(held.parts) if kind is not None and kind.dtype is held.type.dtype]
    if None in held.parts or not fitting:
        raise build.error("E149", "an array of a list of items of these kinds is not compiled", "fill an array instead")
    numbers, tags = _columns(held)
    if len(fitting) == len(held.parts):
        build.guard_nonnegative(held.count - 1, "an array of an empty list")
        return numbers

    def fits(tag: Expr) -> Expr:
        number = op("cast", (_real(tag),), PY_INT)
        tests = [op("equal", (number, const_index(place)), NP_BOOL) for place in fitting]
        return reduce(lambda left, right: op("logical_or", (left, right), NP_BOOL), tests)

    found = call_rule(ctx, "numpy.any", map_array(build, tags, DType.BOOL, fits))
    _guard_found(ctx, found, "an array of numbers of fewer kinds")
    return numbers
