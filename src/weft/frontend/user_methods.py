"""Which attributes are functions of the user's: methods of objects, and not of arrays, numbers, lists or strings."""

from __future__ import annotations

from functools import lru_cache
from types import FunctionType

import numpy as np

from weft.frontend.context import Lowering
from weft.frontend.draws import is_drawing_function
from weft.frontend.properties import has_own_method
from weft.numpy_rules.registry import rule_for
from weft.numpy_rules.values import Instance, Operand, Static, Tuple
from weft.support.loops import prange
from weft.support.stand_ins import places_in_order, stand_in


def is_python_function(value: object) -> bool:
    """Whether a Python object is a function of the user's, decorated or not, or has one of Weft's for it."""
    if getattr(value, "__weft_program__", False) or stand_in(value) is not None:
        return True
    if value is prange or value is places_in_order:
        return False
    return isinstance(value, FunctionType) and rule_for(value) is None and not _is_numpy(value)


def is_method_at_end(ctx: Lowering, owner: Operand | None, way: list[str]) -> bool:
    """Whether an attribute of an attribute is a function of the user's."""
    if isinstance(owner, Instance) and is_known_method(way[-1]):
        return has_own_method(ctx.inputs.objects[owner.slot], way)
    if not isinstance(owner, Static):
        return (owner is None or isinstance(owner, Instance)) and not is_known_method(way[-1])
    value = owner.value
    for name in way:
        value = getattr(value, name, None)
    return is_drawing_function(value)


def is_user_method(owner: Operand | None, name: str) -> bool:
    """Whether an attribute is a function; None: of an object that is not known yet."""
    match owner:
        case None:
            return not is_known_method(name)
        case Instance():
            return True
        case Tuple(cls=cls, slot=slot) if cls is not None and slot >= 0 and name[:1] != "_":
            return callable(getattr(cls, name, None)) and name not in ("count", "index")
        case Static(value=value):
            found = getattr(value, name, None)
            return is_python_function(found) or is_drawing_function(found)
        case _:
            return False


@lru_cache(maxsize=512)
def is_known_method(name: str) -> bool:
    """Whether arrays, numbers, lists, dicts or strings have a method of that name: it is none of the user's."""
    return any(hasattr(cls, name) for cls in (np.ndarray, np.ufunc, np.generic, list, dict, str))


def _is_numpy(function: FunctionType) -> bool:
    return (function.__module__ or "").partition(".")[0] in ("numpy", "scipy")
