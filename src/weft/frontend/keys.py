"""What stands between brackets: choices split, lists and ranges made arrays, slices made constants.

in:   a key as the program wrote it: numbers, slices, tuples of them, lists that names refer to, ranges
out:  the same for `weft.numpy_rules.selections`, which knows numbers, slices, arrays and tuples and lists of them
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Final, TypeAlias

from weft.frontend.branches import split
from weft.frontend.context import Lowering
from weft.frontend.growing import as_array, elements
from weft.frontend.heap import resolved
from weft.frontend.iteration import length
from weft.frontend.mixed import has_kinds
from weft.ir.dtypes import DType
from weft.ir.exprs import Const, Index
from weft.numpy_rules.arrays import empty_array, generate
from weft.numpy_rules.elementwise import cast
from weft.numpy_rules.scalars import int_expr
from weft.numpy_rules.values import Either, Growing, Operand, Range, Scalar, Slice, Static, Tuple

_MOST_WAYS: Final = 512  # each of them is code

_Split: TypeAlias = Callable[[Lowering, Operand, Callable[[Operand], Operand]], Operand]


def split_key(ctx: Lowering, key: Operand, then: Callable[[Operand], Operand]) -> Operand:
    """`then(key)` for every alternative of the choices in a key; integers of several types are one integer."""
    if isinstance(key, Either):
        whole = _one_integer(ctx, key)
        return split(ctx, key, then) if whole is None else then(whole)
    return _split_items(ctx, key, then, split_key)


def whole_key(ctx: Lowering, key: Operand) -> Operand:
    """A key of a list: integers of several types are one integer."""
    whole = _one_integer(ctx, key) if isinstance(key, Either) else None
    return key if whole is None else whole


def split_all(ctx: Lowering, operand: Operand, then: Callable[[Operand], Operand]) -> Operand:
    """`then(operand)` for every alternative of a choice, and of those among the items of a tuple or list."""
    if _ways(operand) > _MOST_WAYS:
        raise ctx.build.error("E231", "this has too many items that may be of several types here", "use an array")
    if isinstance(operand, Either):
        return split(ctx, operand, then)
    return _split_items(ctx, operand, then, split_all)


def _split_items(ctx: Lowering, operand: Operand, then: Callable[[Operand], Operand], one: _Split) -> Operand:
    if not isinstance(operand, Tuple | Slice) or not _has_choice(operand):
        return then(operand)
    items = operand.items if isinstance(operand, Tuple) else (operand.start, operand.stop, operand.step)

    def rest(done: tuple[Operand, ...]) -> Operand:
        if len(done) == len(items):
            return then(replace(operand, items=done) if isinstance(operand, Tuple) else Slice(*done))
        return one(ctx, items[len(done)], lambda item: rest((*done, item)))

    return rest(())


def _ways(operand: Operand) -> int:
    """In how many ways an alternative can be taken for each choice."""
    match operand:
        case Either(items=items):
            return len(items)
        case Tuple(items=items):
            return prod(map(_ways, items))
        case Slice(start=start, stop=stop, step=step):
            return _ways(start) * _ways(stop) * _ways(step)
        case _:
            return 1


def _has_choice(operand: Operand) -> bool:
    if isinstance(operand, Tuple):
        return any(_has_choice(item) for item in operand.items)
    if isinstance(operand, Slice):
        return any(_has_choice(part) for part in (operand.start, operand.stop, operand.step))
    return isinstance(operand, Either)


def _one_integer(ctx: Lowering, either: Either) -> Scalar | None:
    """A choice of Python and NumPy integers as an index; None if there is something else among them."""
    chosen: Index | None = None
    for place, item in reversed(list(enumerate(either.items))):
        if not isinstance(item, Scalar) or item.type.dtype.kind not in "iu" or item.type.dtype is DType.UINT64:
            return None
        part = int_expr(ctx.build, item.expr)
        if chosen is not None:
            part = ctx.build.let_index(ctx.build.select_index(either.tag, place, part, chosen), "i")
        chosen = part
    return None if chosen is None else Scalar(chosen)


def plain_key(ctx: Lowering, key: Operand) -> Operand:
    """A key for an array: without identities, lists of run-time length and ranges as arrays of their elements."""
    return _plain(ctx, resolved(ctx, key))


def _plain(ctx: Lowering, key: Operand) -> Operand:
    match key:
        case Tuple(items=items, is_list=False):
            return replace(key, items=tuple(_plain(ctx, item) for item in items))
        case Growing():
            return as_array(ctx, key) if has_kinds(key) else elements(key)
        case Range(start=start, step=step):
            line = empty_array(ctx.build, (length(ctx, key),), DType.INT64, name="at")
            generate(ctx.build, line.view, lambda point, _: cast(start + step * point[0], DType.INT64))
            return line
        case _:
            return key


def kept_key(key: Operand) -> Operand:
    """A key that may be given a name: slices of constants are objects known now."""
    match key:
        case Tuple(items=items, is_list=False):
            return Tuple(tuple(kept_key(item) for item in items))
        case Slice(start=start, stop=stop, step=step):
            parts = [_constant(part) for part in (start, stop, step)]
            if all(isinstance(part, Static) for part in parts):
                return Static(slice(*(part.value for part in parts if isinstance(part, Static))))
            return key
        case _:
            return key


def _constant(part: Operand) -> Operand:
    if isinstance(part, Scalar):
        literal = part.expr.value if isinstance(part.expr, Const) else getattr(part.expr, "constant", None)
        return part if literal is None else Static(literal)
    return part
