"""Complex numbers that are known to be imaginary: `1j * angle`, `-2j * np.pi * k / n`.

in:   an expression, and what the values in it were said to be; or a program, for the arrays that hold nothing else
out:  whether its real part is zero; where NumPy's formulas make it a NaN, the imaginary part is not finite either
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from weft.analysis.uses import written_by
from weft.ir.dtypes import PY_COMPLEX
from weft.ir.exprs import Const, Expr, Op, Value, const
from weft.ir.nodes import Node, Program, Storage, Tasklet
from weft.ir.traverse import all_nodes

SOME_IMAGINARY: Final = const(1j, PY_COMPLEX)  # stands for what is read of an array of imaginary numbers


def is_imaginary(expr: Expr, lets: Mapping[Value, Expr]) -> bool:
    """Whether the real part is zero for all finite operands."""
    match _meaning(expr, lets):
        case Const(value=complex() as value):
            return value.real == 0
        case Op(name="multiply", args=(left, right)):
            return (is_imaginary(left, lets) and is_real(right, lets)) or (
                is_real(left, lets) and is_imaginary(right, lets)
            )
        case Op(name="divide", args=(left, right)):
            return is_imaginary(left, lets) and is_real(right, lets)
        case Op(name="add" | "subtract", args=(left, right)):
            return is_imaginary(left, lets) and is_imaginary(right, lets)
        case Op(name="negative" | "positive", args=(operand,)):
            return is_imaginary(operand, lets)
        case Op(name="cast", args=(operand,)):  # Python's number or NumPy's, or one of another precision
            return is_imaginary(operand, lets)
        case _:
            return False


def is_real(expr: Expr, lets: Mapping[Value, Expr]) -> bool:
    """Whether a complex number was a real one just before."""
    match _meaning(expr, lets):
        case Const(value=complex() as value):
            return value.imag == 0
        case Op(name="cast", args=(operand,)):
            return operand.type.dtype.kind != "c" or is_real(operand, lets)
        case _:
            return False


def _meaning(expr: Expr, lets: Mapping[Value, Expr]) -> Expr:
    while isinstance(expr, Value) and expr in lets:
        expr = lets[expr]
    return expr


def imaginary_containers(program: Program) -> frozenset[str]:
    """The arrays of the program's own into which nothing but imaginary numbers is written, under no other name."""
    own = {name for name, x in program.containers.items() if x.storage is Storage.TRANSIENT and x.dtype.kind == "c"}
    found = own - {name for x in program.containers.values() for name in (x.base, *x.may_alias)}
    nodes = list(all_nodes(program.body))
    while found:
        refuted = {name for node in nodes for name in _written_otherwise(node, found)} & found
        if not refuted:
            break
        found -= refuted
    return frozenset(found)


def _written_otherwise(node: Node, imaginary: Collection[str]) -> Iterable[str]:
    """What a node writes that may not be imaginary, if the arrays named are."""
    if not isinstance(node, Tasklet):
        return written_by(node)
    meanings = tasklet_meanings(node, imaginary)
    return (memlet.container for memlet, expr in node.writes if memlet.conflict or not is_imaginary(expr, meanings))


def tasklet_meanings(node: Tasklet, imaginary: Collection[str]) -> dict[Value, Expr]:
    """What the values of a tasklet are said to be."""
    found: dict[Value, Expr] = {value: SOME_IMAGINARY for value, memlet in node.reads if memlet.container in imaginary}
    found.update((let.value, let.expr) for let in node.lets)
    return found
