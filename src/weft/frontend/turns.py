"""How often a loop runs, where arguments say so: `for layer in range(model.depth)`.

in:   what a loop runs over
out:  the argument to be known while compiling, so that the loop can be written out
"""

from __future__ import annotations

import math

from weft.frontend.context import Lowering
from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Index, Value
from weft.numpy_rules.values import Iteration, Operand, Range


def argument_of_few_turns(ctx: Lowering, iterable: Operand, most: int) -> int | None:
    """The slot of a number that decides how often a loop runs; None where others do, or these are many turns."""
    inner = iterable.items[0] if isinstance(iterable, Iteration) and iterable.kind == "reversed" else iterable
    if not isinstance(inner, Range):
        return None
    ends = inner.start, inner.stop, inner.step
    slots = {value: ctx.build.ledger.slot_of_value.get(value) for end in ends for value in end.values}
    known = {value: ctx.inputs.objects[slot] for value, slot in slots.items() if slot is not None}
    if not slots or len(known) < len(slots):
        return None
    first, last, step = (sum(k * math.prod(known[v] for v in product) for product, k in end.terms) for end in ends)
    if step == 0 or len(range(first, last, step)) > most:
        return None
    return next(slot for slot in slots.values() if slot is not None)


def loop_variable(ctx: Lowering, name: str, start: Index, stop: Index, step: Index) -> Value:
    """The variable with its bounds: inside the body it lies between the ends of the range."""
    known = step.constant
    if known is None:
        return ctx.build.value(name, PY_INT)
    if known > 0:
        return Value(ctx.build.new_id(), name, PY_INT, None, None, start, stop - 1)
    return Value(ctx.build.new_id(), name, PY_INT, None, None, stop + 1, start)
