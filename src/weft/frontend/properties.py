"""Attributes that run code: properties of objects that come from outside.

in:   an attribute in a tree, and what its names stand for
out:  whether reading it calls a function, which is then inlined like any other (`inlining`)
"""

from __future__ import annotations

import ast
import inspect
from types import FunctionType

from weft.frontend.context import Lowering
from weft.frontend.inputs import Namespace
from weft.frontend.trees import LOCAL
from weft.numpy_rules.values import Instance, Operand


def is_property(
    ctx: Lowering, node: ast.Attribute, names: Namespace, env: dict[str, Operand], local: frozenset[str]
) -> bool:
    """Whether an attribute of an object that comes from outside is computed by a property of its class."""
    name, way = way_to(node)
    if not name or name == LOCAL or (name in local and name not in env):
        return False
    owner = env.get(name) if name in local else ctx.inputs.lookup(names, name)
    if not isinstance(owner, Instance):
        return False
    return type(_stored(ctx.inputs.objects[owner.slot], way)) is property


def has_own_method(value: object, way: list[str]) -> bool:
    """Whether the attributes from an object on lead to a method written in Python, as `self.rule.update` may."""
    return isinstance(_stored(value, way), FunctionType | staticmethod)


def _stored(value: object, way: list[str]) -> object:
    """What the class of an attribute's owner has by that name, as it is stored there; no code runs."""
    for step in way[:-1]:
        value = getattr(value, "__dict__", {}).get(step)
    return inspect.getattr_static(type(value), way[-1], None)


def way_to(node: ast.expr) -> tuple[str, list[str]]:
    """Of `a.b.c` the name it begins with and the attributes that follow; "" where it begins with something else."""
    way: list[str] = []
    while isinstance(node, ast.Attribute):
        way.insert(0, node.attr)
        node = node.value
    return (node.id if isinstance(node, ast.Name) else ""), way
