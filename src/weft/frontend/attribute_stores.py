"""Stores to attributes: of objects that came in, and the two of arrays that can be assigned.

in:   an owner, the name of an attribute, and an operand
out:  the environment with the new attribute, or with another view for the name of the array; elements written
"""

from __future__ import annotations

import ast

from weft.frontend.attributes import call_rule
from weft.frontend.branches import split
from weft.frontend.context import Lowering
from weft.frontend.heap import kept, resolved
from weft.ir.nodes import Storage
from weft.numpy_rules.flat import fill_flat
from weft.numpy_rules.reshaping import is_contiguous
from weft.numpy_rules.values import Array, Dict, Either, Instance, Made, Operand, Tuple


def store_attribute(ctx: Lowering, node: ast.Attribute, owner: Operand, name: str, operand: Operand) -> None:
    """`owner.name = operand`."""
    if isinstance(owner, Array) and name == "flat":
        split(ctx, resolved(ctx, operand), lambda item: fill_flat(ctx.build, owner, item))
        return
    if isinstance(owner, Array) and name == "shape":
        _assign_shape(ctx, node, owner, operand)
        return
    if not isinstance(owner, Instance):
        raise ctx.error(node, "E134", f"assignment to attribute '{name}' is not compiled", "assign to the elements")
    on_class = getattr(owner.cls, name, None)
    if hasattr(on_class, "__set__") or type(owner.cls).__setattr__ is not type.__setattr__:
        raise ctx.error(node, "E135", f"attribute '{name}' is a descriptor, which is not compiled")
    if owner.cls.__setattr__ is not object.__setattr__:
        raise ctx.error(node, "E136", "the class defines __setattr__, which is not compiled")
    ctx.env[ctx.inputs.need_writeback(owner, name)] = kept(ctx, operand)


def _assign_shape(ctx: Lowering, node: ast.Attribute, array: Array, shape: Operand) -> None:
    """`name.shape = shape` of an array that only this name knows: from here on it is another view of the memory.

    Not in loops, which pass on only names that are assigned themselves.
    """
    name = node.value.id if isinstance(node.value, ast.Name) else ""
    made_here = ctx.build.container(array.view.container).storage is Storage.TRANSIENT
    names = [key for activation in ctx.activations for key, operand in activation.env.items() if _holds(operand, array)]
    if ctx.loops or not made_here or names != [name] or not is_contiguous(ctx.build, array.view):
        hint = "give the reshaped array a name of its own"
        raise ctx.error(node, "E134", "assignment to the shape of this array is not compiled", hint)
    ctx.env[name] = call_rule(ctx, "ndarray.reshape", array, resolved(ctx, shape))


def _holds(operand: Operand, array: Array) -> bool:
    """Whether an operand is an array or has it among its items."""
    if isinstance(operand, Tuple | Either | Dict | Made):
        return any(_holds(item, array) for item in operand.items)
    return operand == array
