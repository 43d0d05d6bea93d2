"""Long lists of the caller's that loops look into: whether the turns of the loops pay for the array of all numbers.

before:  for i in range(n): s += xs[i % k]      xs is a list of any length, nothing says that n has to do with it
after:   guard(8 * n >= len(xs)); the loop reads an array of the numbers

To make the array takes as long as to look at every item once, and a turn of Python's takes longer than several such
looks. Where the guard fails, Python runs the loop; where that happens again, it does so without being asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from weft.frontend.inputs import Inputs, UnsupportedArgument
from weft.frontend.lent import is_read, unread
from weft.ir.dtypes import NP_BOOL, PY_FLOAT
from weft.ir.exprs import Expr, Index, Value, const, op
from weft.ir.nodes import Loop, Program
from weft.ir.traverse import all_nodes
from weft.numpy_rules.values import Array, Growing, Iteration, Lent, Operand, Range
from weft.support.abi import NOT_COMPILED

if TYPE_CHECKING:
    from weft.frontend.context import Lowering

_LOOKS: Final = 8.0  # that take as long as a turn of Python's
_FEW: Final = "only a few items of a list of more than 128 are read"


class NeedTurns(Exception):  # noqa: N818  (a request to start again, not an error)
    """Loops that look into a list have as many turns as they like: they must be compared with its length."""

    def __init__(self, slot: int) -> None:
        super().__init__(slot)
        self.slot = slot


def check_paid(inputs: Inputs, program: Program) -> None:
    """Refuse a program that looks at a few items of a long list, or have its loops ask whether they pay for all."""
    lent = unread(inputs, program)
    if lent is None:
        return
    loops = [node for node in all_nodes(program.body) if isinstance(node, Loop)]
    if any(is_read(lent, loop.body) for loop in loops if loop.start.values or loop.stop.values):
        raise NeedTurns(lent.slot)
    raise UnsupportedArgument(lent.slot, _FEW, "use arrays and numbers")


def turning(ctx: Lowering, iterable: Operand, var: Value, body: Callable[[], bool]) -> Callable[[], bool]:
    """The body of a loop, with its turns counted while it is lowered."""
    if not ctx.inputs.watched:
        return body

    def counted() -> bool:
        first = ctx.turning[0][0] if ctx.turning else var
        ctx.turning.append((first, _turns(iterable, first)))
        try:
            return body()
        finally:
            ctx.turning.pop()

    return counted


def _turns(iterable: Operand, first: Value) -> Expr | None:
    """How many turns there are at least, where that is known in front of all loops around."""
    match iterable:
        case Range(start=start, stop=stop, step=step) if step.constant:
            span = (stop - start) if step.constant > 0 else (start - stop)
            every = float(abs(step.constant))
        case Array(shape=(span, *_)) | Lent(held=Growing(count=span)):
            every = 1.0
        case Iteration(kind="enumerate" | "reversed", items=(inner,)):
            return _turns(inner, first)
        case _:
            return None
    if any(value.id >= first.id for value in span.values):
        return None
    turns = _float(span)
    return turns if every == 1.0 else op("divide", (turns, const(every, PY_FLOAT)), PY_FLOAT)


def guard_paid(ctx: Lowering, lent: Lent) -> None:
    """Assume that the loops around have turns enough for the list that they look into."""
    if not ctx.turning or ctx.inputs.slots[lent.slot] not in ctx.inputs.watched:
        return
    looks: Expr = const(_LOOKS, PY_FLOAT)
    for _, turns in ctx.turning:
        looks = looks if turns is None else op("multiply", (looks, turns), PY_FLOAT)
    for extent in lent.held.buffer.shape[1:]:
        looks = op("divide", (looks, _float(extent)), PY_FLOAT)
    size = _float(lent.held.buffer.shape[0])
    ctx.build.guard(op("greater_equal", (looks, size), NP_BOOL), f"{NOT_COMPILED}{_FEW}")


def _float(number: Index) -> Expr:
    """A number of items; floats cannot overflow."""
    return op("cast", (number,), PY_FLOAT)
