"""What a `for` loop runs over: ranges, arrays, tuples, enumerate, zip, reversed, repeat, weft.map.

in:   the operand after `in`
out:  how many times, the element at a position, and what remains after it (for a resume in the middle)

Everything is reduced to a position k that counts 0, 1, 2, ..., except a plain range, whose variable is the loop's own.
"""

from __future__ import annotations

from weft.frontend.alike import are_alike, chosen
from weft.frontend.context import Lowering
from weft.frontend.growing import item_at
from weft.frontend.heap import contents
from weft.frontend.lent import lent_item
from weft.ir.dtypes import NP_BOOL, PY_INT, DType
from weft.ir.exprs import Index, const_index, op
from weft.ir.nodes import Axis, Bundle, Constant, Pack, View
from weft.numpy_rules.indexing import drop_axis, index_view
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.values import (
    Array,
    Character,
    Dict,
    Flat,
    Growing,
    Iteration,
    Lent,
    Operand,
    Range,
    Ref,
    Scalar,
    Slice,
    Static,
    Text,
    Tuple,
)
from weft.support.loops import MapDomain

ZERO, ONE = const_index(0), const_index(1)


def is_weft_map(value: object) -> bool:
    """Whether a Python object is `weft.map`."""
    return isinstance(value, MapDomain)


def map_domain(ctx: Lowering, key: Operand) -> Operand:
    """`weft.map[a:b, c:d]`."""
    parts = key.items if isinstance(key, Tuple) else (key,)
    ranges: list[Operand] = []
    for part in parts:
        if not isinstance(part, Slice) or (isinstance(part.stop, Static) and part.stop.value is None):
            return ctx.build.leave("weft.map takes slices with an end")
        bounds = [_bound(ctx, part.start, ZERO), _bound(ctx, part.stop, ZERO), _bound(ctx, part.step, ONE)]
        ranges.append(make_range(ctx, bounds, wish="map"))
    return Iteration("map", tuple(ranges)) if isinstance(key, Tuple) else ranges[0]


def _bound(ctx: Lowering, operand: Operand, default: Index) -> Index:
    if isinstance(operand, Static) and operand.value is None:
        return default
    value = as_index(ctx.build, operand)
    if value is None:
        ctx.build.leave("an integer is required")
        return default
    return value


def range_call(ctx: Lowering, operands: list[Operand], wish: str = "") -> Operand:
    """`range(...)` or `weft.prange(...)`."""
    if not 1 <= len(operands) <= 3:
        return ctx.build.leave("range takes one to three arguments")
    values = [_bound(ctx, operand, ZERO) for operand in operands]
    if len(values) == 1:
        values = [ZERO, values[0]]
    if len(values) == 2:
        values.append(ONE)
    return make_range(ctx, values, wish)


def make_range(ctx: Lowering, values: list[Index], wish: str = "") -> Range:
    """A range whose bounds are far from the ends of int64 and whose step is not zero."""
    start, stop, step = (ctx.build.bounded(value) for value in values)
    if step.constant is None:
        ctx.build.guard(op("not_equal", (step, ZERO), NP_BOOL), "range() arg 3 must not be zero")
    elif step.constant == 0:
        ctx.build.leave("range() arg 3 must not be zero")
        step = ONE
    return Range(start, stop, step, wish)


def range_item(ctx: Lowering, item: Range, key: Operand) -> Operand:
    """`range(...)[i]`, `range(...)[i:j]` and `range(...)[::k]`."""
    count = length(ctx, item)
    line = Array(View("", (count,), (Axis(ZERO, ((0, ONE),)),)), DType.INT64)
    match key:
        case Scalar() if key.type.dtype.kind in "biu":
            view, _ = index_view(ctx.build, line, key)
            return Scalar(item.start + item.step * view.axes[0].offset)
        case Slice(start=Static(value=None), stop=Static(value=None), step=every):
            step = _bound(ctx, every, ONE)
            if step.constant is None:
                raise ctx.build.error("E109", "a step that is not known is not compiled here", "write the range itself")
            if step.constant > 0:
                return make_range(ctx, [item.start, item.start + item.step * count, item.step * step], item.wish)
            last = item.start + item.step * (count - 1)
            return make_range(ctx, [last, item.start - item.step, item.step * step], item.wish)
        case Slice(step=Static(value=None)):
            view, _ = index_view(ctx.build, line, key)
            first = item.start + item.step * view.axes[0].offset
            return make_range(ctx, [first, first + item.step * view.shape[0], item.step], item.wish)
        case _:
            raise ctx.build.error("E109", "this part of a range is not compiled", "write the range itself")


def length(ctx: Lowering, item: Operand) -> Index:
    """How many elements an iterable has."""
    match item:
        case Range(start=start, stop=stop, step=step):
            return _range_length(ctx, start, stop, step)
        case (Array() as line) | Flat(line=Array() as line) if line.rank > 0:
            return line.shape[0]
        case Text(codes=codes):
            return codes.shape[0]
        case Tuple() | Dict() | Ref() | Lent() | Growing():
            return _list_length(ctx, item)
        case Iteration(kind="map", items=items):
            total = ONE
            for part in items:
                total = total * length(ctx, part)
            return ctx.build.let_index(op("positive", (total,), PY_INT), "n", low=0)
        case Iteration(kind="zip", items=items):
            return _shortest(ctx, [length(ctx, part) for part in items])
        case Iteration(kind="pairwise", items=(inner,)):
            span = length(ctx, inner) - 1
            return ctx.build.let_index(op("maximum", (span, ZERO), PY_INT), "n", low=0)
        case Iteration(items=(inner, *_)):
            return length(ctx, inner)
        case _:
            raise ctx.build.error("E120", "this object cannot be iterated in compiled code", "loop over a range")


def _shortest(ctx: Lowering, counts: list[Index]) -> Index:
    shortest = counts[0] if counts else ZERO
    for count in counts[1:]:
        if count is not shortest:
            shortest = ctx.build.let_index(op("minimum", (shortest, count), PY_INT), "n", low=0)
    return shortest


def _list_length(ctx: Lowering, item: Tuple | Dict | Ref | Lent | Growing) -> Index:
    match item:
        case Tuple(items=items) | Dict(items=items):
            return const_index(len(items))
        case Growing(count=count):
            return count
        case Ref() | Lent():
            return length(ctx, contents(ctx, item))


def _range_length(ctx: Lowering, start: Index, stop: Index, step: Index) -> Index:
    if step.constant in (1, -1):
        span = (stop - start) * (step.constant or 1)
        if ctx.build.proves_nonnegative(span):
            return span
        return ctx.build.let_index(op("maximum", (span, ZERO), PY_INT), "n", low=0)
    known = step.constant
    if known is None:
        ctx.build.guard_nonnegative(step - 1, "range step is not positive")
    forward = known is None or known > 0
    span, stride = (stop - start, step) if forward else (start - stop, -step)
    positive = ctx.build.let_index(op("maximum", (span, ZERO), PY_INT), "n", low=0)
    return ctx.build.let_index(op("floor_divide", (positive + stride - 1, stride), PY_INT), "n", low=0)


def element(ctx: Lowering, item: Operand, position: Index) -> Operand:
    """The element at a position."""
    match item:
        case Range(start=start, step=step):
            return Scalar(start + step * position)
        case Array():
            view = drop_axis(item.view, 0, position)
            if view.rank == 0:
                return Scalar(ctx.build.read(view, (), item.dtype))
            return item.viewed(view)
        case Flat(line=Array() as line):
            return element(ctx, line, position)
        case Iteration(kind="zip", items=items):
            return Tuple(tuple(element(ctx, part, position) for part in items))
        case Iteration(kind="enumerate", items=(inner,), start=start):
            return Tuple((Scalar((start or ZERO) + position), element(ctx, inner, position)))
        case Iteration(kind="pairwise", items=(inner,)):
            return Tuple((element(ctx, inner, position), element(ctx, inner, position + 1)))
        case Iteration(kind="reversed", items=(inner,)):
            return element(ctx, inner, length(ctx, inner) - 1 - position)
        case Iteration(kind="map", items=items):
            return _map_point(ctx, items, position)
        case _:
            return _list_element(ctx, item, position)


def _list_element(ctx: Lowering, item: Operand, position: Index) -> Operand:
    match item:
        case Ref():
            return element(ctx, contents(ctx, item), position)
        case Text(codes=codes):
            return Character(ctx.build.read(drop_axis(codes.view, 0, position), (), codes.dtype))
        case Growing():
            return item_at(ctx, item, position)
        case Lent():
            return lent_item(ctx, item, position)
        case Iteration(kind="repeat", items=(_, repeated)):
            return repeated
        case Tuple(items=items) if position.constant is not None:
            return items[position.constant]
        case Tuple(items=items) if are_alike(items):
            return chosen(ctx, items, position)
        case _:
            raise ctx.build.error("E120", "this object cannot be iterated in compiled code", "loop over a range")


def _map_point(ctx: Lowering, items: tuple[Operand, ...], position: Index) -> Operand:
    coordinates: list[Operand] = []
    rest = position
    for part in reversed(items[1:]):
        count = length(ctx, part)
        within = ctx.build.let_index(op("remainder", (rest, count), PY_INT), "k", low=0)
        coordinates.append(element(ctx, part, within))
        rest = ctx.build.let_index(op("floor_divide", (rest, count), PY_INT), "k", low=0)
    coordinates.append(element(ctx, items[0], rest))
    return Tuple(tuple(reversed(coordinates)))


def remaining(ctx: Lowering, item: Operand, position: Index) -> Bundle:
    """What is left after the element at a position, as `continuation.iterate` takes it."""
    following = position + 1
    match item:
        case Range(start=start, stop=stop, step=step):
            return _pack(ctx, "range", start + step * following, stop, step)
        case Ref() | Lent() | Dict() | Static(value=str()) | Iteration(kind="keys" | "values" | "items" | "repeat"):
            return _remaining_items(ctx, item, position)
        case Array() | Tuple() | Growing() | Text():
            return _pack(ctx, "items", ctx.bundle(item), following, length(ctx, item) - following, ONE)
        case Flat(line=Array() as line):
            return remaining(ctx, line, position)
        case Iteration(kind="zip", items=items):
            return _pack(ctx, "zip", *(remaining(ctx, part, position) for part in items))
        case Iteration(kind="enumerate", items=(inner,), start=start):
            return _pack(ctx, "enumerate", (start or ZERO) + following, remaining(ctx, inner, position))
        case Iteration(kind="pairwise", items=(inner,)):
            return _pack(ctx, "pairwise", remaining(ctx, inner, position))
        case Iteration(kind="reversed", items=(inner,)):
            return _remaining_backwards(ctx, inner, following)
        case Iteration(kind="map", items=items):
            ranges = [Pack((part.start, part.stop, part.step)) for part in items if isinstance(part, Range)]
            return _pack(ctx, "map", Pack(tuple(ranges)), following)
        case _:
            raise ctx.build.error("E120", "this object cannot be iterated in compiled code", "loop over a range")


def _remaining_backwards(ctx: Lowering, inner: Operand, following: Index) -> Bundle:
    first = length(ctx, inner) - 1 - following
    if isinstance(inner, Range):
        return _pack(ctx, "range", inner.start + inner.step * first, inner.start - inner.step, -inner.step)
    return _pack(ctx, "items", ctx.bundle(inner), first, first + 1, const_index(-1))


def _remaining_items(ctx: Lowering, item: Operand, position: Index) -> Bundle:
    following = position + 1
    match item:
        case Ref():
            held = contents(ctx, item)
            if isinstance(held, Dict):
                return remaining(ctx, Iteration("keys", (item,)), position)
            return _pack(ctx, "list", ctx.bundle(item), following)
        case Lent():
            return _pack(ctx, "list", ctx.bundle(item), following)
        case Dict():
            return remaining(ctx, Iteration("keys", (item,)), position)
        case Static(value=str()):
            count = len(item.value) - following
            return _pack(ctx, "items", ctx.bundle(item), following, count, ONE)
        case Iteration(kind="repeat", items=(times, repeated)):
            return _pack(ctx, "items", Pack((ctx.bundle(repeated),)), ZERO, length(ctx, times) - following, ZERO)
        case Iteration(kind=kind, items=(inner,)):
            return _pack(ctx, "view", ctx.bundle(inner), Constant(ctx.constant(kind)), following)
        case _:
            raise ctx.build.error("E120", "this object cannot be iterated in compiled code", "loop over a range")


def _pack(ctx: Lowering, kind: str, *parts: Bundle) -> Bundle:
    return Pack((Constant(ctx.constant(kind)), *parts))
