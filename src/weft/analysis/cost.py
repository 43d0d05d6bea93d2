"""What computing something costs, in units of one addition. Fixed numbers: nothing is timed at compile time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from weft.ir.exprs import Expr, Op
from weft.ir.nodes import Branch, Elements, Loop, Map, Node, Reduce, Tasklet, While

_FREE: Final = frozenset(("cast", "positive", "real", "imag", "complex", "conjugate"))
ALONE: Final = 262144  # terms of a matrix product up to which OpenBLAS uses no threads of its own
_DIVISIONS: Final = frozenset(("divide", "floor_divide", "remainder", "fmod", "sqrt", "reciprocal"))
_FUNCTIONS: Final = frozenset((
    "power", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "hypot", "logaddexp", "logaddexp2",
    "erf", "erfc",
))  # fmt: skip


_COMPLEX: Final = {"multiply": 6, "square": 6, "add": 2, "subtract": 2, "negative": 2, "absolute": 24}
_TRIPS: Final = 16  # of loops of which nothing is known
_WIDE: Final = 6  # additions for each access from which on the widest vectors pay


def operation_weight(name: str) -> int:
    """The cost of one operation."""
    if name in _FREE:
        return 0
    if name in _DIVISIONS:
        return 6
    return 24 if name in _FUNCTIONS else 1


def operations_in(expr: Expr) -> set[Op]:
    """The operations of an expression; a part used twice counts once."""
    seen: set[Op] = set()

    def visit(part: Expr) -> None:
        if isinstance(part, Op) and part not in seen:
            seen.add(part)
            for argument in part.args:
                visit(argument)

    visit(expr)
    return seen


def expression_weight(expr: Expr) -> int:
    """The cost of an expression."""
    return sum(operation_weight(part.name) for part in operations_in(expr))


def tasklet_weight(tasklet: Tasklet) -> int:
    """The cost of a tasklet, its memory accesses apart."""
    return sum(expression_weight(let.expr) for let in tasklet.lets) + sum(
        expression_weight(expr) for _, expr in tasklet.writes
    )


def computes_functions(nodes: Iterable[Node]) -> bool:
    """Whether tasklets compute functions of real numbers, which in vectors cost a fraction of what they cost alone."""
    exprs = (
        expr
        for node in nodes
        if isinstance(node, Tasklet)
        for expr in (*(let.expr for let in node.lets), *(expr for _, expr in node.writes))
    )
    return any(
        part.name in _FUNCTIONS and part.type.dtype.kind == "f" for expr in exprs for part in operations_in(expr)
    )


def pays_wide(nodes: Iterable[Node]) -> bool:
    """Whether what is computed outweighs what is moved so far that the widest vectors are faster.

    Otherwise they are not: most of their accesses cross a line of the cache, and divisions take as long. Of maps one
    behind the other it is enough that one of them is faster.
    """
    nodes = list(nodes)
    if len(nodes) > 1 and any(isinstance(node, Map) and pays_wide(node.body.nodes) for node in nodes):
        return True
    arithmetic, accesses = _arithmetic_and_accesses(nodes)
    return arithmetic >= _WIDE * accesses and arithmetic > 0


def _arithmetic_and_accesses(nodes: Iterable[Node]) -> tuple[int, int]:
    arithmetic = accesses = 0
    for node in nodes:
        found, times = (0, 0), 1
        match node:
            case Tasklet():
                found = _undivided_weight(node), len(node.reads) + len(node.writes)
            case Map(body=body):
                found, times = _arithmetic_and_accesses(body.nodes), _TRIPS
            case Loop(body=body) | While(body=body):
                found, times = _arithmetic_and_accesses(body.nodes), _TRIPS
            case Branch(then=then, orelse=orelse):
                found = _arithmetic_and_accesses((*then.nodes, *orelse.nodes))
            case Reduce(input=Elements(body=body)):
                found, times = _arithmetic_and_accesses(body), _TRIPS
            case Reduce():
                found = 1, 1
            case _:
                continue
        arithmetic, accesses = arithmetic + times * found[0], accesses + times * found[1]
    return arithmetic, accesses


def _undivided_weight(tasklet: Tasklet) -> int:
    """What wide vectors make faster."""
    exprs = [*(let.expr for let in tasklet.lets), *(expr for _, expr in tasklet.writes)]
    parts = {part for expr in exprs for part in operations_in(expr) if part.name not in _DIVISIONS}
    return sum(_weight(part) for part in parts)


def _weight(part: Op) -> int:
    """The cost of an operation by its operands."""
    is_complex = any(argument.type.dtype.kind == "c" for argument in part.args)
    return _COMPLEX.get(part.name, 1) if is_complex else operation_weight(part.name)
