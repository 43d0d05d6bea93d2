"""The number that a reduction does not see: x + -0.0 is x for every x, and NaN wins against the infinite ones."""

from __future__ import annotations

from weft.ir.dtypes import ScalarType
from weft.ir.exprs import Expr, const, python_const


def neutral(operation: str, type_: ScalarType) -> Expr:
    """What changes nothing among numbers of a type."""
    value = _complex_or_real(operation, type_)
    return python_const(value) if type_.python else const(value, type_)


def _complex_or_real(operation: str, type_: ScalarType) -> complex:
    kind = type_.dtype.kind
    if kind == "c":
        return complex(-0.0, -0.0) if operation in ("add", "subtract") else complex(operation != "logical_or")
    number = _real(operation, type_)
    return {"b": bool, "f": float}.get(kind, int)(number)


def _real(operation: str, type_: ScalarType) -> float:
    floating = type_.dtype.kind == "f"
    if operation in ("add", "subtract"):
        return -0.0 if floating else 0
    if operation in ("multiply", "logical_and", "logical_or"):
        return int(operation != "logical_or")
    if floating:
        return float("inf") if operation == "minimum" else -float("inf")
    least, most = type_.dtype.bounds
    return most if operation == "minimum" else least
