"""Attributes: of arrays and scalars by rule, of objects as slots, of modules and classes as what they are."""

from __future__ import annotations

import inspect
from types import MemberDescriptorType

import numpy as np

from weft.frontend.branches import bound
from weft.frontend.context import Lowering
from weft.ir.dtypes import ScalarType
from weft.numpy_rules.classes import class_of
from weft.numpy_rules.registry import rule_named
from weft.numpy_rules.values import (
    Array,
    Dict,
    Instance,
    Iteration,
    Lent,
    Made,
    Method,
    Never,
    Operand,
    Range,
    Ref,
    Scalar,
    Slice,
    Static,
    Tuple,
)


def attribute(ctx: Lowering, owner: Operand, name: str) -> Operand:
    """`owner.name`."""
    match owner:
        case Array():
            return _array_attribute(ctx, owner, name, "ndarray", np.ndarray)
        case Scalar():
            return _array_attribute(ctx, owner, name, "scalar", type_of(owner.type))
        case Static(value=np.ufunc()):
            return Method(owner, name)
        case Static() if not isinstance(owner.value, str):
            found = ctx.inputs.attribute(owner, name)
            if found is not None:
                return found
            return ctx.build.leave(f"no attribute '{name}'")
        case Instance():
            return _instance_attribute(ctx, owner, name)
        case Never():
            return owner
        case Tuple() | Made() | Range() | Slice() if name in (parts := _parts(owner)):
            return parts[name]
        case Tuple() | Dict() | Ref() | Lent() | Range() | Iteration() | Static(value=str()):
            return Method(owner, name)
        case _:
            cls = class_of(owner)
            what = "this object" if cls is None else f"a {cls.__name__}"
            raise ctx.build.error("E111", f"attribute '{name}' of {what} is not compiled")


def _parts(owner: Tuple | Made | Range | Slice) -> dict[str, Operand]:
    """What an object shows of its own parts, by name."""
    match owner:
        case Tuple(cls=None):
            return {}
        case Tuple(cls=cls, items=items):
            return dict(zip(getattr(cls, "_fields", ()), items, strict=True))
        case Made(fields=fields, items=items):
            return dict(zip(fields, items, strict=True))
        case Range(start=start, stop=stop, step=step):
            return {"start": Scalar(start), "stop": Scalar(stop), "step": Scalar(step)}
        case Slice(start=start, stop=stop, step=step):
            return {"start": start, "stop": stop, "step": step}


def type_of(type_: ScalarType) -> type:
    """The Python or NumPy class of a scalar type."""
    example: object = type_.dtype.numpy.type(0).item()
    return type(example) if type_.python else type_.dtype.numpy.type


def _array_attribute(ctx: Lowering, owner: Operand, name: str, family: str, cls: type) -> Operand:
    if not hasattr(cls, name):
        return ctx.build.leave(f"no attribute '{name}'")
    if callable(getattr(cls, name)):
        return Method(owner, name)
    if rule_named(f"{family}.{name}") is None:
        raise ctx.build.error("E112", f"attribute '{name}' of an {family} is not compiled")
    return call_rule(ctx, f"{family}.{name}", owner)


def _instance_attribute(ctx: Lowering, owner: Instance, name: str) -> Operand:
    key = f"@{owner.slot}.{name}"
    if key in ctx.env:
        return bound(ctx, ctx.env[key])
    on_class = getattr(owner.cls, name, None)
    if callable(on_class):
        return Method(owner, name)
    if not _is_plain(ctx.inputs.objects[owner.slot], owner.cls, name):
        raise ctx.build.error(
            "E113", f"attribute '{name}' is not a plain attribute of the object", "pass it as an argument"
        )
    operand = ctx.inputs.instance_attribute(owner, name)
    for activation in ctx.activations:
        activation.env.setdefault(key, operand)
    return operand


def _is_plain(instance: object, cls: type, name: str) -> bool:
    """Whether reading an attribute runs no code: it stands in the object, or as a plain value in the class."""
    if type(cls).__getattribute__ is not type.__getattribute__ or cls.__getattribute__ is not object.__getattribute__:
        return False
    on_class: object = inspect.getattr_static(cls, name, None)
    if isinstance(on_class, MemberDescriptorType):  # from __slots__
        return True
    kind = on_class.__class__
    if hasattr(kind, "__set__"):
        return False
    return name in getattr(instance, "__dict__", {}) or (on_class is not None and not hasattr(kind, "__get__"))


def call_rule(ctx: Lowering, name: str, *operands: Operand) -> Operand:
    """Apply a rule by name."""
    entry = rule_named(name)
    if entry is None:
        raise ctx.build.error("E114", f"{name} is not compiled")
    return entry.lower(ctx.build, *operands)
