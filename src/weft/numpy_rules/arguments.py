"""Arguments that must be known at compile time, and the readings of the others.

in:   an operand of a rule, or the rule's own default as it stands in the signature
out:  a Python object (axis, flag, dtype, string...), or an index polynomial (an extent)

An argument of the program that reaches such a place is specialised by value: `NeedStatic` asks the driver for it.
"""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

import numpy as np

from weft.analysis.ranges import index_bounds
from weft.ir.dtypes import DType, dtype_of
from weft.ir.exprs import Const, Expr, Index, const_index, values_in
from weft.numpy_rules.builder import Builder, NeedStatic
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.values import Array, Operand, Scalar, Static, Tuple
from weft.support.abi import MAX_EXTENT

Given: TypeAlias = Operand | None
"""A parameter whose default is None."""
Flag: TypeAlias = Operand | bool
"""A parameter that is True or False."""


class PythonRaises(Exception):  # noqa: N818  (a way out of a rule, not an error)
    """NumPy or Python raises here, or does what Weft leaves to it: Python repeats the statement."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def is_none(operand: Operand | None) -> bool:
    """Whether an argument is None, given or by default."""
    return operand is None or (isinstance(operand, Static) and operand.value is None)


def static_value(build: Builder, operand: object, what: str) -> Any:
    """The Python object an operand stands for; tuples and lists item by item."""
    match operand:
        case Static(value=value):
            return value
        case Tuple(items=items, is_list=is_list):
            values = [static_value(build, item, what) for item in items]
            return values if is_list else tuple(values)
        case Scalar(expr=expr):
            return _literal(build, expr, what)
        case None | bool() | int() | float() | str() | type():  # the default of a rule's parameter
            return operand
        case _:
            raise _not_static(build, what)


def _literal(build: Builder, expr: Expr, what: str) -> Any:
    if isinstance(expr, Const):
        return expr.value if expr.type.python else expr.type.dtype.numpy.type(expr.value)
    if isinstance(expr, Index) and expr.constant is not None:
        return expr.constant
    slots = build.ledger.slot_of_value
    values = sorted(values_in(expr), key=lambda value: value.id)
    if values and all(value in slots for value in values):
        raise NeedStatic(slots[values[0]])
    raise _not_static(build, what)


def _not_static(build: Builder, what: str) -> Exception:
    return build.error("E230", f"{what} must be known at compile time", "write a constant or pass it as an argument")


def static_int(build: Builder, operand: object, what: str) -> int:
    """An int known at compile time."""
    value = static_value(build, operand, what)
    try:
        return operator.index(value)
    except TypeError:
        raise PythonRaises(f"{what} must be an integer") from None


def static_bool(build: Builder, operand: object, what: str) -> bool:
    """A flag known at compile time."""
    return bool(static_value(build, operand, what))


def static_dtype(build: Builder, operand: object) -> DType | None:
    """An element type known at compile time; None for None."""
    value = static_value(build, operand, "a dtype")
    if value is None:
        return None
    try:
        found = np.dtype(value)
    except TypeError:
        raise PythonRaises("data type not understood") from None
    dtype = dtype_of(found)
    if dtype is None:
        raise build.error("E231", f"arrays of {found} are not compiled", "use bool, an integer, float or complex type")
    return dtype


def static_order(build: Builder, operand: object, allowed: str = "CFAK") -> str:
    """A memory order, as a capital letter."""
    value = static_value(build, operand, "order")
    letter = "K" if value is None else str(value).upper()
    if letter not in ("C", "F", "A", "K"):
        raise PythonRaises("order must be one of 'C', 'F', 'A', or 'K'")
    if letter not in allowed:
        raise build.error("E232", f"order={letter!r} is not compiled here", "leave it out")
    return letter


def normalize_axis(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < rank:
        raise PythonRaises(f"axis {axis} is out of bounds for array of dimension {rank}")
    return axis % rank


def static_axis(build: Builder, operand: object, rank: int) -> int:
    """One axis, counted from the front."""
    return normalize_axis(static_int(build, operand, "axis"), rank)


def static_axes(build: Builder, operand: object, rank: int) -> tuple[int, ...] | None:
    """One or several axes, counted from the front; None for None."""
    value = static_value(build, operand, "axis")
    if value is None:
        return None
    items: tuple[Any, ...] = tuple(value) if isinstance(value, tuple | list) else (value,)  # type: ignore[arg-type]
    if any(isinstance(item, bool) for item in items):
        raise PythonRaises("an integer is required for the axis")
    try:
        axes = tuple(normalize_axis(operator.index(item), rank) for item in items)
    except TypeError:
        raise PythonRaises("an axis must be an integer") from None
    if len(set(axes)) != len(axes):
        raise PythonRaises("duplicate value in 'axis'")
    return axes


def extent_of(build: Builder, operand: object, what: str = "an extent") -> Index:
    """A length given at run time: an int, guarded not to be negative nor too large."""
    value = integer_of(build, operand, what)
    build.guard_nonnegative(value, "negative dimensions are not allowed")
    if index_bounds(value)[1] > 4 * MAX_EXTENT:
        build.guard_nonnegative(MAX_EXTENT - value, "array is too big")
    return value


def integer_of(build: Builder, operand: object, what: str) -> Index:
    """An int given at run time, guarded to be far from the ends of int64."""
    if isinstance(operand, Array) and operand.rank == 0:
        operand = Scalar(build.read(operand.view, (), operand.dtype))
    if isinstance(operand, Scalar) and operand.type.dtype is not DType.BOOL:
        value = as_index(build, operand)
        if value is not None:
            return build.bounded(value)
    if isinstance(operand, Static):
        return build.bounded(const_index(static_int(build, operand, what)))
    if isinstance(operand, int):
        return const_index(operand)
    raise PythonRaises(f"{what} must be an integer")


def shape_of(build: Builder, operand: Operand) -> tuple[Index, ...]:
    """A shape given at run time: one int or a tuple of ints."""
    items: tuple[object, ...] = (operand,)
    if isinstance(operand, Tuple):
        items = operand.items
    elif isinstance(operand, Static) and isinstance(operand.value, tuple | list):
        items = tuple(Static(item) for item in operand.value)  # type: ignore[misc]
    elif isinstance(operand, Array) and operand.rank > 0:
        raise build.error("E233", "an array as a shape is not compiled", "write a tuple of ints")
    return tuple(extent_of(build, item) for item in items)
