"""The Python class of an operand, and what it defines."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.dtypes import PY_BOOL, PY_COMPLEX, PY_FLOAT, PY_INT, ScalarType
from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.values import (
    Array,
    Character,
    Dict,
    Foreign,
    Instance,
    Made,
    Operand,
    Scalar,
    Static,
    Text,
    Tuple,
)

_PYTHON_CLASSES: dict[ScalarType, type[Any]] = {PY_BOOL: bool, PY_INT: int, PY_FLOAT: float, PY_COMPLEX: complex}

_OPERATORS: dict[str, str] = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%", "power": "**",
    "matmul": "@", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "bitwise_and": "&",
    "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>",
}  # fmt: skip
# One object of each class whose operators look at classes alone.
_EXAMPLES: dict[type | None, Any] = {
    bool: True, int: 1, float: 1.0, complex: 1j, str: "a", bytes: b"a", tuple: (), list: [], dict: {}, type(None): None,
}  # fmt: skip


def class_of(operand: Operand) -> type[Any] | None:
    """The Python class of an operand."""
    match operand:
        case Scalar(expr=expr):
            return _PYTHON_CLASSES[expr.type] if expr.type.python else expr.type.dtype.numpy.type
        case Array():
            return np.ndarray
        case Text() | Character():
            return str
        case Tuple():
            return operand.cls or (list if operand.is_list else tuple)
        case Dict():
            return dict
        case Made(cls=cls):
            return cls
        case Static(value=value):
            return value.__class__
        case Instance(cls=cls) | Foreign(cls=cls):
            return cls
        case _:
            return None


def require_method(operand: Operand, name: str) -> None:
    """Python raises where the class of an operand has no such method."""
    cls = class_of(operand)
    if cls is not None and not hasattr(cls, name):
        raise PythonRaises(f"type {cls.__name__} doesn't define {name} method")


def python_refuses(name: str, left: type | None, right: type | None) -> bool:
    """Whether Python raises a TypeError for operands of these classes, whatever they are."""
    if left not in _EXAMPLES or right not in _EXAMPLES or name not in _OPERATORS:
        return False
    try:
        eval(f"a {_OPERATORS[name]} b", {"a": _EXAMPLES[left], "b": _EXAMPLES[right]})  # constants all
    except TypeError:
        return True
    return False
