"""Ints and strings that are known while compiling, and methods of such strings."""

from __future__ import annotations

from typing import Any

from weft.frontend.context import Lowering
from weft.frontend.inputs import static_operand
from weft.ir.exprs import Const
from weft.numpy_rules.builder import NeedStatic
from weft.numpy_rules.values import Operand, Scalar, Static, Tuple


def static_int(ctx: Lowering, operand: Operand) -> int | None:
    """A constant int, or None for None; arguments are then specialised by value."""
    if isinstance(operand, Static) and operand.value is None:
        return None
    if isinstance(operand, Scalar):
        constant = getattr(operand.expr, "constant", None)
        if isinstance(operand.expr, Const) and isinstance(operand.expr.value, bool):
            return int(operand.expr.value)
        if isinstance(constant, int):
            return constant
        for value in getattr(operand.expr, "values", ()):
            slot = ctx.build.ledger.slot_of_value.get(value)
            if slot is not None:
                raise NeedStatic(slot)
    raise ctx.build.error("E110", "this must be a constant", "pass it as an argument or write the number")


def is_constant_int(operand: Operand) -> bool:
    """Whether an operand is an int known now."""
    return isinstance(operand, Scalar) and isinstance(getattr(operand.expr, "constant", None), int)


def string_method(ctx: Lowering, owner: Static, name: str, args: list[Operand]) -> Operand | None:
    """A method of a string that is known, with arguments that are."""
    if not isinstance(owner.value, str) or name.startswith("_"):
        return None
    values: list[Any] = []
    for arg in args:
        known, value = constant_of(ctx, arg)
        if not known:
            return None
        values.append(value)
    try:
        result: Any = getattr(owner.value, name)(*values)
    except Exception as problem:  # noqa: BLE001  (whatever Python raises, it will raise again)
        return ctx.build.leave(f"{type(problem).__name__}: {problem}")
    if isinstance(result, tuple | list):
        return Tuple(tuple(static_operand(part) for part in result), is_list=isinstance(result, list))  # type: ignore[reportUnknownVariableType]
    return static_operand(result) if isinstance(result, str | bool | int) else None


def constant_of(ctx: Lowering, operand: Operand) -> tuple[bool, Any]:
    """Whether a string, number or tuple of them is known now, and its value."""
    match operand:
        case Static(value=value) if value is None or isinstance(value, str | bytes):
            return True, value
        case Tuple(items=items, is_list=False):
            parts = [constant_of(ctx, item) for item in items]
            return all(known for known, _ in parts), tuple(value for _, value in parts)
        case Scalar(expr=Const(value=value)) if operand.type.python:
            return True, value
        case Scalar() if is_constant_int(operand):
            return True, static_int(ctx, operand)
        case _:
            return False, None
