"""What computing something costs, in units of one addition. Fixed numbers: nothing is timed at compile time."""

from __future__ import annotations

from typing import Final

from weft.ir.exprs import Expr, Op
from weft.ir.nodes import Tasklet

_FREE: Final = frozenset(("cast", "positive", "real", "imag", "complex", "conjugate"))
_DIVISIONS: Final = frozenset(("divide", "floor_divide", "remainder", "fmod", "sqrt", "reciprocal"))
_FUNCTIONS: Final = frozenset((
    "power", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "hypot", "logaddexp", "logaddexp2",
))  # fmt: skip


def operation_weight(name: str) -> int:
    """The cost of one operation."""
    if name in _FREE:
        return 0
    if name in _DIVISIONS:
        return 6
    return 24 if name in _FUNCTIONS else 1


def expression_weight(expr: Expr) -> int:
    """The cost of an expression; a part used twice counts once."""
    seen: set[Op] = set()

    def visit(part: Expr) -> int:
        if not isinstance(part, Op) or part in seen:
            return 0
        seen.add(part)
        return operation_weight(part.name) + sum(visit(argument) for argument in part.args)

    return visit(expr)


def tasklet_weight(tasklet: Tasklet) -> int:
    """The cost of a tasklet, its memory accesses apart."""
    return sum(expression_weight(let.expr) for let in tasklet.lets) + sum(
        expression_weight(expr) for _, expr in tasklet.writes
    )
