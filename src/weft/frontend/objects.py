"""Lists and dicts at work: items, methods, in-place operators, and the items of anything whose length is known.

in:   an object and what is done to it
out:  its new contents in the environment, and the value of the expression
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from weft.frontend.addressed import addressed, comes_in, in_memory
from weft.frontend.alike import are_alike, chosen
from weft.frontend.branches import split
from weft.frontend.context import Lowering
from weft.frontend.growing import (
    appended,
    backwards,
    copied,
    elements,
    extended,
    in_front,
    joined,
    popped,
    popped_at,
    popped_first,
    read_item,
    write_item,
)
from weft.frontend.heap import change, contents, kept, unnamed
from weft.frontend.inputs import static_operand
from weft.frontend.iteration import element, length
from weft.frontend.keys import whole_key
from weft.frontend.known import is_constant_int, static_int, string_method
from weft.frontend.lent import ask_for_numbers
from weft.frontend.list_methods import place_of, remove_number, sort_numbers, times_in
from weft.frontend.rows import as_row
from weft.frontend.texts import position_of_letter
from weft.ir.dtypes import NP_BOOL, PY_INT, ScalarType
from weft.ir.exprs import Const, Expr, Index, const_index, op
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.values import (
    Array,
    Character,
    Dict,
    Either,
    Growing,
    Iteration,
    Lent,
    Never,
    Operand,
    Range,
    Ref,
    Scalar,
    Slice,
    Static,
    Tuple,
)

MAX_UNROLLED = 64  # items of a loop that is written out
_NONE = Static(None)
_Change = tuple[Operand, Operand]


# ---- items of known number ------------------------------------------------------------------------------------------


def fixed_items(ctx: Lowering, operand: Operand, *, ranges: bool = True) -> tuple[Operand, ...] | None:
    """The items of an iterable whose length is known now; None for any other. `ranges`: those count too."""
    match operand:
        case Tuple(items=items):
            return items
        case Dict(keys=keys):
            return tuple(static_operand(key) for key in keys)
        case Ref():
            return fixed_items(ctx, contents(ctx, operand))
        case Static(value=str(text)):
            return tuple(Static(letter) for letter in text)
        case Range() if ranges:
            return _range_items(operand)
        case Iteration(kind="keys" | "values" | "items" as which, items=(inner,)):
            return _view_items(contents(ctx, inner), which)
        case Iteration(kind="zip", items=parts):
            return _zipped(ctx, parts, ranges=ranges)
        case Iteration(items=(inner, *_)):
            items = fixed_items(ctx, inner, ranges=ranges)
            return None if items is None else _arranged(operand, items)
        case _:
            return None


def _arranged(operand: Iteration, items: tuple[Operand, ...]) -> tuple[Operand, ...] | None:
    match operand:
        case Iteration(kind="reversed"):
            return items[::-1]
        case Iteration(kind="enumerate", start=start):
            first = start or const_index(0)
            return tuple(Tuple((Scalar(first + k), x)) for k, x in enumerate(items))
        case Iteration(kind="pairwise"):
            return tuple(map(Tuple, pairwise(items)))
        case _:
            return None


def _view_items(held: Operand, which: str) -> tuple[Operand, ...] | None:
    """What a view of a dict shows now."""
    if not isinstance(held, Dict):
        return None
    keys = tuple(static_operand(key) for key in held.keys)
    if which == "items":
        return tuple(Tuple(pair) for pair in zip(keys, held.items, strict=True))
    return keys if which == "keys" else held.items


def _range_items(operand: Range) -> tuple[Operand, ...] | None:
    start, stop, step = operand.start.constant, operand.stop.constant, operand.step.constant
    if start is None or stop is None or not step or len(range(start, stop, step)) > MAX_UNROLLED:
        return None
    return tuple(Scalar(const_index(value)) for value in range(start, stop, step))


def _zipped(ctx: Lowering, parts: tuple[Operand, ...], *, ranges: bool) -> tuple[Operand, ...] | None:
    """Items of known number beside arrays and ranges, which must be long enough."""
    known = [fixed_items(ctx, part, ranges=ranges) for part in parts]
    counts = [len(items) for items in known if items is not None]
    if not counts:
        return None
    count = min(counts)
    columns: list[tuple[Operand, ...]] = []
    for part, items in zip(parts, known, strict=True):
        if items is None:
            ctx.build.guard_nonnegative(length(ctx, part) - count, "zip ends early")
            columns.append(tuple(element(ctx, part, const_index(position)) for position in range(count)))
        else:
            columns.append(items[:count])
    return tuple(Tuple(row) for row in zip(*columns, strict=True))


def slice_of(ctx: Lowering, key: Slice) -> slice | None:
    """The slice with constants; None where Python raises."""
    bounds = [static_int(ctx, part) for part in (key.start, key.stop, key.step)]
    return None if bounds[2] == 0 else slice(*bounds)


# ---- reading --------------------------------------------------------------------------------------------------------


def sequence_item(ctx: Lowering, owner: Tuple, key: Operand) -> Operand:
    """`owner[key]` of a tuple or list."""
    if isinstance(key, Slice):
        line = in_memory(ctx, owner, key.start, key.stop)
        if line is not None:
            return read_item(ctx, line, key)
        cut = slice_of(ctx, key)
        if cut is None:
            return ctx.build.leave("slice step cannot be zero")
        return Tuple(owner.items[cut], owner.is_list)
    if not is_constant_int(key) and are_alike(owner.items):
        position = as_index(ctx.build, key)
        if position is not None and not comes_in(ctx, position):
            return chosen(ctx, owner.items, _wrapped(ctx, position, len(owner.items)))
    if not isinstance(key, Scalar):
        return ctx.build.leave("indices must be integers or slices")
    ask_for_numbers(ctx, owner, key)
    position = static_int(ctx, key)
    if position is None or not -len(owner.items) <= position < len(owner.items):
        return ctx.build.leave("index out of range")
    return owner.items[position]


def _wrapped(ctx: Lowering, position: Index, count: int) -> Expr:
    """A position counted from the end where it is negative, guarded to be inside."""
    build = ctx.build
    position = build.bounded(position)
    if not build.proves_nonnegative(position):
        negative = op("less", (position, const_index(0)), NP_BOOL)
        position = build.let_index(op("select", (negative, position + count, position), PY_INT), "k")
        build.guard_nonnegative(position, "list index out of range")
    build.guard_nonnegative(const_index(count - 1) - position, "list index out of range")
    return position


def dict_item(ctx: Lowering, owner: Dict, key: Operand) -> Operand:
    """`owner[key]` of a dict."""
    if isinstance(key, Character) and are_alike(owner.items):
        return chosen(ctx, owner.items, position_of_letter(ctx, owner, key))
    position = position_of(ctx, owner, key)
    return ctx.build.leave("KeyError") if position is None else owner.items[position]


def constant_key(ctx: Lowering, key: Operand) -> Any:
    """A key of a dict: a string or number known now."""
    match key:
        case Static(value=value) if isinstance(value, str | bytes) or value is None:
            return value
        case Scalar(expr=Const(value=bool() | float() | complex())):
            raise ctx.build.error("E147", "only strings and ints are compiled as keys of a dict", "use a string")
        case Scalar():
            return static_int(ctx, key)
        case _:
            raise ctx.build.error("E147", "only strings and ints are compiled as keys of a dict", "use a string")


def position_of(ctx: Lowering, owner: Dict, key: Operand) -> int | None:
    """Where a key stands in a dict."""
    wanted = constant_key(ctx, key)
    return next((n for n, known in enumerate(owner.keys) if type(known) is type(wanted) and known == wanted), None)


# ---- changing -------------------------------------------------------------------------------------------------------


def change_item(ctx: Lowering, ref: Ref, key: Operand, value: Operand) -> None:
    """`ref[key] = value`."""
    if isinstance(value, Never):
        return
    key = whole_key(ctx, key)
    addressed(ctx, ref, key, value)

    def apply(old: Operand) -> _Change:
        match old:
            case Dict(keys=keys, items=items):
                position = position_of(ctx, old, key)
                if position is None:
                    return Dict((*keys, constant_key(ctx, key)), (*items, value)), _NONE
                return Dict(keys, (*items[:position], value, *items[position + 1 :])), _NONE
            case Tuple(items=items):
                return Tuple(_with_item(ctx, items, key, value), is_list=True), _NONE
            case Growing():
                return write_item(ctx, old, key, value), _NONE
            case _:
                raise _unknown(ctx)

    change(ctx, ref, apply)


def _with_item(ctx: Lowering, items: tuple[Operand, ...], key: Operand, value: Operand) -> tuple[Operand, ...]:
    if isinstance(key, Slice):
        cut, given = slice_of(ctx, key), fixed_items(ctx, value)
        if cut is None or given is None:
            raise ctx.build.error("E148", "this assignment to a slice of a list is not compiled", "use an array")
        changed = list(items)
        try:
            changed[cut] = given
        except ValueError as problem:
            ctx.build.leave(str(problem))
        return tuple(changed)
    if not is_constant_int(key) and isinstance(value, Scalar) and are_alike((*items, value)):
        position = as_index(ctx.build, key)
        if position is not None and not comes_in(ctx, position):
            return _stored(ctx, items, _wrapped(ctx, position, len(items)), value)
    position = static_int(ctx, key)
    if position is None or not -len(items) <= position < len(items):
        ctx.build.leave("list assignment index out of range")
        return items
    changed = list(items)
    changed[position] = value
    return tuple(changed)


def _stored(ctx: Lowering, items: tuple[Operand, ...], position: Expr, value: Operand) -> tuple[Operand, ...]:
    """The items with the one at a position known at run time replaced."""
    assert isinstance(value, Scalar)
    result: list[Operand] = []
    for number, item in enumerate(items):
        assert isinstance(item, Scalar)
        test = op("equal", (position, const_index(number)), NP_BOOL)
        expr = op("select", (test, value.expr, item.expr), value.type)
        result.append(Scalar(ctx.build.let_index(expr, "s") if value.type == PY_INT else ctx.build.let(expr, "s")))
    return tuple(result)


def delete_item(ctx: Lowering, owner: Operand, key: Operand) -> None:
    """`del owner[key]`."""

    def apply(old: Operand) -> _Change:
        match old:
            case Dict(keys=keys, items=items):
                position = position_of(ctx, old, key)
                if position is None:
                    return old, ctx.build.leave("KeyError")
                return Dict(_without(keys, position), _without(items, position)), _NONE
            case Tuple(items=items) if isinstance(key, Slice):
                changed, cut = list(items), slice_of(ctx, key)
                if cut is None:
                    return old, ctx.build.leave("slice step cannot be zero")
                del changed[cut]
                return Tuple(tuple(changed), is_list=True), _NONE
            case Tuple(items=items):
                position = static_int(ctx, key)
                if position is None or not -len(items) <= position < len(items):
                    return old, ctx.build.leave("list assignment index out of range")
                return Tuple(_without(items, position % len(items)), is_list=True), _NONE
            case _:
                raise _unknown(ctx)

    if not isinstance(owner, Ref):
        raise ctx.build.error("E148", "only items of lists and dicts are deleted in compiled code")
    change(ctx, owner, apply)


def _without(items: tuple[Any, ...], position: int) -> tuple[Any, ...]:
    return (*items[:position], *items[position + 1 :])


def augment_object(ctx: Lowering, name: str, ref: Ref, value: Operand) -> Operand:
    """`ref += value` and `ref *= n`: the same object, changed."""

    def apply(old: Operand) -> _Change:
        if isinstance(old, Growing | Tuple) and name == "add":
            return _extend(ctx, old, [value])
        if not isinstance(old, Tuple):
            raise _unknown(ctx)
        if name == "multiply" and isinstance(value, Scalar) and value.type == PY_INT:
            return Tuple(old.items * (static_int(ctx, value) or 0), is_list=True), _NONE
        raise _unknown(ctx)

    change(ctx, ref, apply)
    return ref


def _kept_items(ctx: Lowering, value: Operand) -> tuple[Operand, ...]:
    """The items of an iterable, to be put into a list."""
    if isinstance(value, Array) and value.rank and value.shape[0].constant is not None:
        return tuple(element(ctx, value, const_index(k)) for k in range(value.shape[0].constant))
    items = fixed_items(ctx, value)
    if items is None:
        raise ctx.build.error("E149", "how many items this adds is not known", "fill an array instead")
    return tuple(kept(ctx, item) for item in items)


def _unknown(ctx: Lowering) -> Exception:
    return ctx.build.error("E148", "this change of a list or dict is not compiled", "make a new one, or an array")


# ---- methods --------------------------------------------------------------------------------------------------------


def call_method(
    ctx: Lowering, owner: Operand, name: str, args: list[Operand], keywords: dict[str, Operand]
) -> Operand | None:
    """A method of a list, tuple, dict or string; None where it is not compiled."""
    if keywords and not (name == "sort" and keywords.keys() == {"reverse"} and not args):
        return None
    if isinstance(owner, Static):
        return string_method(ctx, owner, name, args)
    if isinstance(owner, Ref):
        held = contents(ctx, owner)
        sample = held.items[0] if isinstance(held, Either) else held
        table = _DICT_CHANGES if isinstance(sample, Dict) else _LIST_CHANGES
        if name in table:
            apply, fewest, most = table[name]
            if not fewest <= len(args) <= most:
                return ctx.build.leave(f"{name}() takes another number of arguments")
            return change(ctx, owner, lambda old: apply(ctx, old, [*args, *keywords.values()]))
    if isinstance(owner, Tuple | Dict | Lent) and owner.slot >= 0 and name in (*_LIST_CHANGES, *_DICT_CHANGES):
        raise ctx.build.error("E148", "a list or dict of the caller's is not changed in compiled code", "copy it")
    held = contents(ctx, owner)
    if isinstance(owner, Ref) and isinstance(held, Dict) and name in ("keys", "values", "items") and not args:
        return Iteration(name, (owner,))  # it shows what is in the dict when it is looked at
    return split(ctx, held, lambda item: _reading_method(ctx, item, name, args))


def _reading_method(ctx: Lowering, owner: Operand, name: str, args: list[Operand]) -> Operand:
    match owner, name, args:
        case ((Tuple(is_list=True) | Dict()), "copy", []):
            return replace(owner, slot=-1)
        case Growing(), "copy", []:
            return copied(ctx, owner)
        case ((Tuple() | Growing()), "index" | "count", [value]):
            return (place_of if name == "index" else times_in)(ctx, owner, value)
        case Dict(), "keys" | "values" | "items", []:
            return Iteration(name, (owner,))
        case Dict(items=items), "get", [key, *default]:
            position = position_of(ctx, owner, key)
            return items[position] if position is not None else default[0] if default else _NONE
        case _:
            raise ctx.build.error("E116", f"method '{name}' is not compiled", "call it outside of the program")


def _append(ctx: Lowering, old: Operand, args: list[Operand]) -> _Change:
    (value,) = args
    if isinstance(old, Growing):
        return appended(ctx, old, as_row(unnamed(ctx, value))), _NONE
    return Tuple((*_of_list(ctx, old), kept(ctx, value)), is_list=True), _NONE


def _extend(ctx: Lowering, old: Operand, args: list[Operand]) -> _Change:
    (value,) = args
    added = contents(ctx, value)
    line = _line_of(added, old) if isinstance(old, Growing) else None
    if isinstance(old, Growing) and line is not None:
        return extended(ctx, old, line), _NONE
    whole = (
        joined(ctx, old, added) if isinstance(added, Growing) and added.form not in ("array", "list", "rows") else None
    )
    if whole is not None:
        return whole, _NONE
    if isinstance(old, Growing):
        for item in _kept_items(ctx, value):
            old = appended(ctx, old, item)
        return old, _NONE
    return Tuple((*_of_list(ctx, old), *_kept_items(ctx, value)), is_list=True), _NONE


def _line_of(added: Operand, held: Growing) -> Array | None:
    """The elements of an array or list that are numbers of the type of a list."""
    match added:
        case Array() if added.rank == 1 and held.form == "number" and held.type == ScalarType(added.dtype):
            return added
        case Growing() if added.form == held.form == "number" and added.type == held.type:
            return elements(added)
        case _:
            return None


def _insert(ctx: Lowering, old: Operand, args: list[Operand]) -> _Change:
    if isinstance(old, Growing) and is_constant_int(args[0]) and static_int(ctx, args[0]) == 0:
        return in_front(ctx, old, args[1]), _NONE
    items, (position, value) = list(_of_list(ctx, old)), args
    place = static_int(ctx, position)
    if place is None:
        return old, ctx.build.leave("an integer is required")
    items.insert(place, kept(ctx, value))
    return Tuple(tuple(items), is_list=True), _NONE


def _pop(ctx: Lowering, old: Operand, args: list[Operand]) -> _Change:
    if isinstance(old, Growing) and not args:
        return popped(ctx, old)
    if isinstance(old, Growing) and is_constant_int(args[0]) and static_int(ctx, args[0]) == 0:
        return popped_first(ctx, old)
    line = old if isinstance(old, Growing) else in_memory(ctx, old, *args)
    if line is not None and isinstance(args[0], Scalar):
        return popped_at(ctx, line, args[0])
    items = list(_of_list(ctx, old))
    position = static_int(ctx, args[0]) if args else -1
    if position is None or not -len(items) <= position < len(items):
        return old, ctx.build.leave("pop from an empty list, or index out of range")
    value = items.pop(position)
    return Tuple(tuple(items), is_list=True), value


def _clear(ctx: Lowering, old: Operand, args: list[Operand]) -> _Change:
    _of_list(ctx, old)
    return Tuple((), is_list=True), _NONE


def _reverse(ctx: Lowering, old: Operand, args: list[Operand]) -> _Change:
    if isinstance(old, Growing):
        return backwards(ctx, old), _NONE
    return Tuple(_of_list(ctx, old)[::-1], is_list=True), _NONE


def _of_list(ctx: Lowering, old: Operand) -> tuple[Operand, ...]:
    if not isinstance(old, Tuple):
        raise _unknown(ctx)
    return old.items


def _pop_key(ctx: Lowering, old: Operand, args: list[Operand]) -> _Change:
    assert isinstance(old, Dict)
    key, *default = args
    position = position_of(ctx, old, key)
    if position is None:
        return old, default[0] if default else ctx.build.leave("KeyError")
    return Dict(_without(old.keys, position), _without(old.items, position)), old.items[position]


def _set_default(ctx: Lowering, old: Operand, args: list[Operand]) -> _Change:
    assert isinstance(old, Dict)
    key, *default = args
    position = position_of(ctx, old, key)
    if position is not None:
        return old, old.items[position]
    value = kept(ctx, default[0]) if default else _NONE
    return Dict((*old.keys, constant_key(ctx, key)), (*old.items, value)), value


def _update(ctx: Lowering, old: Operand, args: list[Operand]) -> _Change:
    assert isinstance(old, Dict)
    (given,) = args
    other = contents(ctx, given)
    if not isinstance(other, Dict):
        raise _unknown(ctx)
    merged = dict(zip(old.keys, old.items, strict=True))
    merged.update(zip(other.keys, (kept(ctx, item) for item in other.items), strict=True))
    return Dict(tuple(merged), tuple(merged.values())), _NONE


# by name: what it does, and how many arguments it takes at least and at most
_Methods = dict[str, tuple[Callable[[Lowering, Operand, list[Operand]], _Change], int, int]]
_LIST_CHANGES: _Methods = {
    "append": (_append, 1, 1), "extend": (_extend, 1, 1), "insert": (_insert, 2, 2), "pop": (_pop, 0, 1),
    "remove": (remove_number, 1, 1), "sort": (sort_numbers, 0, 0), "clear": (_clear, 0, 0), "reverse": (_reverse, 0, 0),
}  # fmt: skip
_DICT_CHANGES: _Methods = {"pop": (_pop_key, 1, 2), "setdefault": (_set_default, 1, 2), "update": (_update, 1, 1)}
