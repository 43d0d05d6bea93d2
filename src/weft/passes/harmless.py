"""Operations that are also computed where they are not asked for, of a number with which they never warn.

in:   multiply(x, y), wanted only where c holds
out:  multiply(select(c, x, 1.0), y): what it was where c holds, and elsewhere something that gives no warning
"""

from __future__ import annotations

from typing import Final

from weft.ir.exprs import Expr, Op, const, op
from weft.passes.tasklets import can_warn

# By operation: the operand to replace, and the number in its place. Whatever the others are, nothing happens.
_NEVER_WARN: Final = {
    "multiply": (0, 1.0), "add": (0, 0.0), "subtract": (0, 0.0), "divide": (1, 1.0), "sqrt": (0, 1.0),
}  # fmt: skip


def harmless(expr: Expr, condition: Expr, *, truth: bool) -> Op | None:
    """An operation that warns only where a condition is true, or false; None where it is not known how."""
    if not isinstance(expr, Op) or expr.name not in _NEVER_WARN or expr.type.dtype.kind != "f":
        return None
    place, number = _NEVER_WARN[expr.name]
    operand = expr.args[place]
    if operand.type != expr.type or not all(_is_quiet(argument) for argument in expr.args):
        return None
    instead = const(number, operand.type)
    chosen = op("select", (condition, *((operand, instead) if truth else (instead, operand))), operand.type)
    return op(expr.name, (*expr.args[:place], chosen, *expr.args[place + 1 :]), expr.type)


def _is_quiet(expr: Expr) -> bool:
    """Whether nothing in an operand warns; a conversion that keeps numbers in range does not."""
    match expr:
        case Op(name="cast", args=(operand,), type=type_) if type_.dtype.kind == "f":
            source = operand.type.dtype
            fits = source.kind in "biu" or (source.kind == "f" and source.numpy.itemsize <= type_.dtype.numpy.itemsize)
            return fits and _is_quiet(operand)
        case _:
            return not can_warn(expr)
