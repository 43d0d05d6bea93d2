"""The typing rules of scalar operations: what `ops.py` says in words, as a check.

in:   an expression
out:  None, or what is wrong with it (its own operands only: the verifier walks into them)
"""

from __future__ import annotations

from weft.ir.dtypes import DType
from weft.ir.exprs import Const, Expr, Index, Op, Value
from weft.ir.ops import OPS
from weft.ir.text import BOOLEAN_OPS

_FLOAT_OF = {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}
_VALUE_KINDS = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float), "c": (int, float, complex)}


def fault_in(expr: Expr) -> str | None:
    """What is wrong with the top of an expression."""
    match expr:
        case Const():
            return _const_fault(expr)
        case Index():
            wrong = next((value for value in expr.values if value.type.dtype.kind not in "iu"), None)
            return wrong and f"{wrong.text} of type {wrong.type.text} stands in an index"
        case Op():
            return _op_fault(expr)
        case Value():
            return None


def _const_fault(constant: Const) -> str | None:
    dtype, value = constant.type.dtype, constant.value
    if type(value) not in _VALUE_KINDS[dtype.kind]:
        return f"the literal {value!r} is no {dtype.value}"
    if isinstance(value, int) and dtype.kind in "iu":
        low, high = dtype.bounds
        if not low <= value <= high:
            return f"the literal {value} does not fit {dtype.value}"
    return None


def _op_fault(expr: Op) -> str | None:
    info = OPS.get(expr.name)
    if info is None:
        return f"there is no operation `{expr.name}`"
    if len(expr.args) != info.arity:
        return f"`{expr.name}` takes {info.arity} operands, not {len(expr.args)}"
    if expr.name == "cast":
        return None
    if expr.name == "select":
        return _select_fault(expr)
    operand = expr.args[0].type.dtype
    if any(arg.type.dtype is not operand for arg in expr.args):
        return f"the operands of `{expr.name}` have different types: {_types(expr)}"
    if expr.name.endswith("_overflows") and operand is not DType.INT64:
        return f"`{expr.name}` is about int64, not {operand.value}"
    result = expr.type.dtype
    if result not in _results(expr.name, operand):
        return f"`{expr.name}` of {_types(expr)} does not give {result.value}"
    return None


def _select_fault(expr: Op) -> str | None:
    condition, *sides = expr.args
    if condition.type.dtype is not DType.BOOL:
        return f"the condition of `select` is {condition.type.text}, not bool"
    if any(side.type.dtype is not expr.type.dtype for side in sides):
        return f"`select` of {_types(expr)} does not give {expr.type.text}"
    return None


def _results(name: str, operand: DType) -> tuple[DType, ...]:
    """The element types the result may have."""
    if name in BOOLEAN_OPS:
        return (DType.BOOL,)
    if name == "complex":
        return tuple(dtype for dtype, part in _FLOAT_OF.items() if part is operand)
    if name in ("real", "imag", "absolute"):
        return (_FLOAT_OF.get(operand, operand),)
    if name == "divide" and operand.kind in "iub":
        return (DType.FLOAT64,)
    return (operand,)


def _types(expr: Op) -> str:
    return ", ".join(arg.type.text for arg in expr.args)
