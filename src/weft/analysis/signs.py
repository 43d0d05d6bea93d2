"""Which floats are never negative, because of how they are computed: sums of squares, say.

in:   an expression, and what its values are defined as
out:  whether every value of it is 0.0, -0.0, positive or NaN
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weft.ir.exprs import Const, Expr, Index, Op, Value

_MOST_STEPS: Final = 60  # in a look at one expression
_ALWAYS: Final = frozenset(("absolute", "fabs", "square", "exp", "exp2", "sqrt", "cosh"))
_IF_ALL: Final = frozenset(("add", "multiply", "minimum", "cast", "positive", "cbrt"))
_IF_ONE: Final = frozenset(("maximum",))


def is_never_negative(expr: Expr, lets: Mapping[Value, Expr]) -> bool:
    """Whether a real number is never less than 0."""
    return _Look(lets).at(expr)


class _Look:
    def __init__(self, lets: Mapping[Value, Expr]) -> None:
        self.lets = lets
        self.steps = 0

    def defined(self, expr: Expr) -> Expr:
        while isinstance(expr, Value) and expr in self.lets:
            expr = self.lets[expr]
        return expr

    def at(self, expr: Expr) -> bool:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            return False
        expr = self.defined(expr)
        match expr:
            case Const(value=value):
                return not isinstance(value, complex) and value >= 0
            case Index():
                return expr.constant is not None and expr.constant >= 0
            case Value():
                return expr.low is not None and expr.low >= 0
            case Op() if expr.type.dtype.kind == "f" and not any(arg.type.dtype.kind == "c" for arg in expr.args):
                return self.result(expr)
            case _:
                return False

    def result(self, expr: Op) -> bool:
        if expr.name in _ALWAYS:
            return True
        if expr.name in _IF_ALL:
            return self.is_square(expr) or all(map(self.at, expr.args))
        if expr.name in _IF_ONE:
            return any(map(self.at, expr.args))
        if expr.name == "select":
            return all(map(self.at, expr.args[1:]))
        known = self.positive(expr.args[-1])
        if expr.name == "power" and known is not None:
            return known % 2 == 0 or self.at(expr.args[0])
        if expr.name == "divide" and known is not None:
            return self.at(expr.args[0])
        return False

    def positive(self, expr: Expr) -> float | None:
        """A constant, if it is positive."""
        expr = self.defined(expr)
        value = expr.value if isinstance(expr, Const) else 0.0
        return float(value) if not isinstance(value, complex) and value > 0 else None

    def is_square(self, expr: Op) -> bool:
        return expr.name == "multiply" and self.plain(expr.args[0]) == self.plain(expr.args[1])

    def plain(self, expr: Expr) -> Expr:
        """A value under its first name."""
        while isinstance(expr, Value) and isinstance(self.lets.get(expr), Value):
            expr = self.lets[expr]
        return expr
