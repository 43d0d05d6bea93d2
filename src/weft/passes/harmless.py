"""Operations that are also computed where they are not asked for, of a number with which they never warn.

in:   multiply(x, y), wanted only where c holds
out:  multiply(select(c, x, 1.0), y): what it was where c holds, and elsewhere something that gives no warning
"""

from __future__ import annotations

from typing import Final

from weft.ir.exprs import Const, Expr, Op, const, op
from weft.passes.tasklets import can_warn

# By operation: the operand to replace, and the number in its place. Whatever the others are, nothing happens.
_INTEGERS: Final = {
    "multiply": (0, 1), "add": (0, 0), "subtract": (1, 0), "negative": (0, 0), "absolute": (0, 0),
}  # fmt: skip
_FLOATS: Final = {
    "multiply": (0, 1.0), "add": (0, 0.0), "subtract": (0, 0.0), "divide": (1, 1.0), "sqrt": (0, 1.0),
}  # fmt: skip
_FUNCTIONS: Final = {
    "power": (0, 1.0), "square": (0, 1.0), "reciprocal": (0, 1.0), "sign": (0, 1.0), "hypot": (0, 0.0),
    "log": (0, 1.0), "log2": (0, 1.0), "log10": (0, 1.0), "log1p": (0, 0.0), "exp": (0, 0.0), "exp2": (0, 0.0),
    "expm1": (0, 0.0), "sin": (0, 0.0), "cos": (0, 0.0), "tan": (0, 0.0), "sinh": (0, 0.0), "cosh": (0, 0.0),
    "arcsin": (0, 0.0), "arccos": (0, 0.0), "arccosh": (0, 1.0), "arctanh": (0, 0.0),
}  # fmt: skip


_MOST_HALVES: Final = 8  # twice the exponent of a power that is a few products and roots


def harmless(expr: Expr, condition: Expr, *, truth: bool, functions: bool = False) -> Op | None:
    """An operation that warns only where a condition is true, or false; None where it is not known how.

    With `functions` also one that costs much to compute in vain, and one of integers.
    """
    if not isinstance(expr, Op):
        return None
    floats = _FLOATS | _FUNCTIONS if functions or _is_product(expr) else _FLOATS
    kinds = {"f": floats, "i": _INTEGERS, "u": _INTEGERS} if functions else {"f": floats}
    known = kinds.get(expr.type.dtype.kind, {}).get(expr.name)
    if known is None:
        return None
    place, number = known
    operand = expr.args[place]
    if operand.type != expr.type or not all(_is_quiet(argument) for argument in expr.args):
        return None
    instead = const(number, operand.type)
    chosen = op("select", (condition, *((operand, instead) if truth else (instead, operand))), operand.type)
    return op(expr.name, (*expr.args[:place], chosen, *expr.args[place + 1 :]), expr.type)


def _is_product(expr: Op) -> bool:
    """Whether this is a square, or another power that costs no more than a few products."""
    exponent = expr.args[1].value if expr.name == "power" and isinstance(expr.args[1], Const) else None
    few = isinstance(exponent, float) and abs(2 * exponent) <= _MOST_HALVES and 2 * exponent == round(2 * exponent)
    return few or expr.name == "square"


def _is_quiet(expr: Expr) -> bool:
    """Whether nothing in an operand warns; a conversion that keeps numbers in range does not."""
    match expr:
        case Op(name="cast", args=(operand,), type=type_) if type_.dtype.kind == "f":
            source = operand.type.dtype
            fits = source.kind in "biu" or (source.kind == "f" and source.numpy.itemsize <= type_.dtype.numpy.itemsize)
            return fits and _is_quiet(operand)
        case _:
            return not can_warn(expr)
