"""Tuples and lists repeated: `[0] * n`, `[(0, 1.5)] * n`, `[x] * n`.

in:   a tuple or list, and an int
out:  the items one by one where the int is known; numbers and tuples of numbers in a buffer where it is not

Items of other kinds, such as arrays, are one object each, many times over, and a tuple of any length is nothing that
compiled code has: then an argument that says how often is specialised by value.

before:  xs = [x, 2] * n                       after:   xs = [x, 2, x, 2, x, 2]     in a variant for n = 3
"""

from __future__ import annotations

from dataclasses import replace

from weft.frontend.context import Lowering
from weft.frontend.growing import indexed
from weft.frontend.heap import kept
from weft.frontend.known import static_int
from weft.frontend.mixed import list_of_kinds
from weft.frontend.rows import row_of, width
from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Index, const_index, op
from weft.numpy_rules.arrays import empty_array
from weft.numpy_rules.elementwise import cast, initialise
from weft.numpy_rules.reshaping import split_axis
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.values import Array, Growing, Operand, Scalar, Static, Tuple

_MOST = 128  # items that are handled one by one


def multiplied(ctx: Lowering, sequence: Tuple | Growing, times: Scalar) -> Operand | None:
    """`sequence * times`; None where that is not compiled."""
    wanted = as_index(ctx.build, times)
    if wanted is None:
        return None
    known, size = wanted.constant, len(sequence.items) if isinstance(sequence, Tuple) else 0
    if isinstance(sequence, Tuple) and (size == 0 or (known is not None and known * size <= _MOST)):
        items = tuple(kept(ctx, item) for item in sequence.items) if known != 1 else sequence.items
        return Tuple(items * (known or 0), sequence.is_list)
    if isinstance(sequence, Growing) or sequence.is_list:
        found = _in_buffer(ctx, sequence, wanted)
        if found is not None:
            return found
    if isinstance(sequence, Tuple) and known is None and _is_given(ctx, wanted):
        static_int(ctx, Scalar(wanted))  # starts again with the argument known
    return None


def _is_given(ctx: Lowering, number: Index) -> bool:
    """Whether arguments alone decide about a number."""
    return bool(number.values) and all(value in ctx.build.ledger.slot_of_value for value in number.values)


def _in_buffer(ctx: Lowering, sequence: Tuple | Growing, wanted: Index) -> Growing | None:
    """The items, one after the other as often as wanted; None where they do not lie in a buffer."""
    build = ctx.build
    times = build.bounded(wanted)
    if not build.proves_nonnegative(times):
        times = build.let_index(op("maximum", (times, const_index(0)), PY_INT), "n", low=0)
    match sequence:
        case Tuple(items=(Scalar() as item,)):
            return _of_one(ctx, row_of(item), item, times)
        case Tuple(items=(Static(value=None) as item,)):
            held = list_of_kinds((item,))
            return None if held is None else _of_one(ctx, held, Scalar(const_index(0)), times)
        case Tuple():
            held = indexed(ctx, sequence.items)
        case _:
            held = sequence
    if held is None or held.form not in ("number", "tuple", "mixed", "mixed tuple"):
        return None
    size = held.count * width(held)
    buffer = empty_array(build, (times * size,), held.buffer.dtype, name="list")
    lines = split_axis(buffer.view, 0, (times, size))
    once = replace(held.buffer.view, shape=(size,))
    initialise(build, Array(lines, buffer.dtype), Array(once, buffer.dtype))
    return replace(held, buffer=buffer, count=times * held.count)


def _of_one(ctx: Lowering, held: Growing, item: Scalar, times: Index) -> Growing:
    """One number, or None as the zero that stands for it."""
    buffer = empty_array(ctx.build, (times * width(held),), held.type.dtype, name="list")
    initialise(ctx.build, buffer, Scalar(cast(item.expr, buffer.dtype)))
    return replace(held, buffer=buffer, count=times)
