"""Lists of known length that are indexed with what is known at run time only: in memory, where an address finds items.

in:   a list of numbers, and a position that is no constant
out:  the same list in a buffer, if it has too many items to compare the position with each, or of several types

before:  counts = [0] * 100; counts[k] += 1        @L7: Tuple of 100 numbers
after:                                             @L7: a buffer (`weft.frontend.growing`)

A loop of few turns is written out instead: then all positions are known.
"""

from __future__ import annotations

from weft.frontend.alike import are_alike
from weft.frontend.context import Lowering
from weft.frontend.growing import indexed, materialised
from weft.frontend.heap import contents, counted, key_of
from weft.frontend.known import is_constant_int
from weft.frontend.rows import as_row, item_kind
from weft.ir.exprs import Index
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.values import Growing, Operand, Ref, Scalar, Tuple


def addressed(ctx: Lowering, owner: Operand, key: Operand, *added: Operand) -> Operand:
    """What is in a list as `owner[key]` finds it best, with room for the kinds of items that are `added`."""
    held = contents(ctx, owner)
    if not isinstance(owner, Ref) or not isinstance(key, Scalar) or is_constant_int(key) or ctx.short_loops:
        return held
    if not isinstance(held, Tuple) or not held.items or _is_compared(held.items, added):
        return held
    position = as_index(ctx.build, key)
    if position is None or comes_in(ctx, position):
        return held
    buffered = indexed(ctx, held.items, added)
    if buffered is None:
        return held
    if len(ctx.build.scopes) == ctx.activation.depth:  # else it is there in an arm of an expression only
        ctx.env[key_of(owner)] = buffered
    return buffered


def addressed_rows(ctx: Lowering, owner: Operand, key: Operand) -> Operand:
    """The same for `owner[key]` in `owner[key][j]`: a list of lists that have no other names, as one buffer."""
    held = contents(ctx, owner)
    if not isinstance(owner, Ref) or not isinstance(key, Scalar) or is_constant_int(key):
        return held
    if not isinstance(held, Tuple) or not held.items or owner.number in ctx.locked:
        return held
    position = as_index(ctx.build, key)
    if position is None or comes_in(ctx, position) or len(ctx.build.scopes) != ctx.activation.depth:
        return held
    activation = ctx.activation
    live = activation.before[activation.path] | activation.after[activation.path]
    used = counted(ctx, activation, ctx.env, live)
    if any(not isinstance(item, Ref) or used[item.number] != 1 for item in held.items):
        return held
    rows = tuple(contents(ctx, item) for item in held.items)
    kinds = {item_kind(as_row(row)) for row in rows}
    if len(kinds) > 1 or None in kinds or (ctx.short_loops and isinstance(rows[0], Tuple)):
        return held
    buffered = materialised(ctx, rows, as_row(rows[0]))
    ctx.env[key_of(owner)] = buffered
    return buffered


def in_memory(ctx: Lowering, held: Operand, *positions: Operand) -> Growing | None:
    """The items of a list of known length in memory, where a position is known at run time only; else None."""
    found = [as_index(ctx.build, place) for place in positions if isinstance(place, Scalar)]
    if not isinstance(held, Tuple) or not held.is_list or not held.items or ctx.short_loops:
        return None
    if not any(place is not None and place.constant is None and not comes_in(ctx, place) for place in found):
        return None
    return indexed(ctx, held.items)


def _is_compared(items: tuple[Operand, ...], added: tuple[Operand, ...]) -> bool:
    """Whether the position is compared with those of all items: there are few, and what is written is a number."""
    return are_alike((*items, *added)) and not any(isinstance(item, Tuple) for item in added)


def comes_in(ctx: Lowering, position: Index) -> bool:
    """Whether an index is an argument of the call: then it is better known."""
    return len(position.values) == 1 and all(value in ctx.build.ledger.slot_of_value for value in position.values)
