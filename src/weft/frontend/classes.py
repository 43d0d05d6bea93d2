"""Classes whose objects are what their fields say: named tuples and dataclasses.

in:   a class the program reads from or calls
out:  the fields of its objects, where making one and reading a field runs no code of the user's

    class Point(NamedTuple): x: float; y: float = 0.0      -> ("x", "y")
    @dataclass class Grid: a: np.ndarray; n: int = 1       -> ("a", "n")
"""

from __future__ import annotations

import dataclasses
import inspect
from types import FunctionType, MemberDescriptorType
from typing import Any, cast

# What a named tuple may not define for itself: the compiler takes it for the tuple it is.
_TUPLE_METHODS = (
    "__getattribute__", "__getitem__", "__iter__", "__len__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__",
    "__ge__", "__add__", "__mul__", "__rmul__", "__contains__", "__hash__",
)  # fmt: skip
_ARRAY_METHODS = ("__array__", "__array_interface__", "__array_ufunc__", "__array_function__", "__bool__", "__index__")


def named_fields(cls: Any) -> tuple[str, ...] | None:
    """The fields of a named tuple that is nothing but that; None for any other class."""
    found = cast("object", getattr(cls, "_fields", None))
    if cls.__class__ is not type or tuple not in cls.__mro__ or not isinstance(found, tuple):
        return None
    fields = cast("tuple[str, ...]", found)
    if any(getattr(cls, name) is not getattr(tuple, name) for name in _TUPLE_METHODS):
        return None
    if any(hasattr(cls, name) for name in (*_ARRAY_METHODS, "__getattr__")):
        return None
    readers = [inspect.getattr_static(cls, name, None) for name in fields]
    plain = all(type(reader).__name__ == "_tuplegetter" for reader in readers)
    return fields if plain else None


def makes_plainly(cls: type) -> bool:
    """Whether calling a named tuple only makes it: `__new__` is the one that `collections.namedtuple` wrote."""
    new: object = getattr(cls, "__new__", None)
    if cls.__init__ is not object.__init__ or not isinstance(new, FunctionType):
        return False
    return str(new.__globals__.get("__name__", "")).startswith("namedtuple_")


def made_fields(cls: Any) -> tuple[str, ...] | None:
    """The fields of a dataclass that its call takes in order and only stores; None for any other class."""
    if not dataclasses.is_dataclass(cls) or type(cls) is not type:
        return None
    init: object = cls.__init__
    if not isinstance(init, FunctionType) or init.__code__.co_filename != "<string>" or hasattr(cls, "__post_init__"):
        return None
    if cls.__new__ is not object.__new__ or cls.__getattribute__ is not object.__getattribute__:
        return None
    parameters: Any = getattr(cls, "__dataclass_params__")  # noqa: B009 - pyright does not know it
    if not parameters.frozen and cls.__setattr__ is not object.__setattr__:
        return None
    fields = dataclasses.fields(cls)
    plain = all(field.init and not field.kw_only and _is_stored(cls, field.name) for field in fields)
    taken = init.__code__.co_varnames[1 : init.__code__.co_argcount]
    return taken if plain and taken == tuple(field.name for field in fields) else None


def _is_stored(cls: type, name: str) -> bool:
    """Whether an assignment to the attribute goes to the object, and a read comes from it."""
    on_class: object = inspect.getattr_static(cls, name, None)
    return isinstance(on_class, MemberDescriptorType) or not hasattr(type(on_class), "__set__")
