"""Methods of the classes above: `super(C, self).f(x)`, which is what `super().f(x)` was made (`parents`).

in:   a call, set apart to be inlined
out:  the function behind it, reached through the class of the object, which is checked on every call

before:  class B(A):  def f(self, x): return super(B, self).f(x) + 1
after:                def f(self, x): r = x * 2; return r + 1           with A.f(self, x): return x * 2
"""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any, cast

from weft.frontend.callees import Callee, real_function
from weft.frontend.context import Lowering
from weft.frontend.expressions import lower_expression
from weft.numpy_rules.values import Instance, Operand, Static
from weft.support.abi import ArgKind, ArgSpec, Slot, SlotKind


def find_inherited(ctx: Lowering, node: ast.Call) -> Callee | None:
    """The function that a method of `super(...)` is; None where the call is none, or is left to Python."""
    match node.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super") as name, args=[first, second], keywords=[])):
            pass
        case _:
            return None
    above = lower_expression(ctx, name)
    if not (isinstance(above, Static) and above.value is super):
        return None
    start, owner = lower_expression(ctx, first), lower_expression(ctx, second)
    if not (isinstance(start, Static) and isinstance(start.value, type) and isinstance(owner, Instance)):
        return None
    return _inherited(ctx, node, start.value, owner, node.func.attr)


def _inherited(ctx: Lowering, node: ast.Call, start: type, owner: Instance, name: str) -> Callee | None:
    """`name` of the classes after `start` among those of the object: what the next class has, if it ends that way.

    Only where `super()` looks through the very classes that the next one has; they may differ with several bases.
    """
    classes = owner.cls.__mro__
    position = classes.index(start) + 1 if start in classes else len(classes)
    if position >= len(classes) or classes[position].__mro__ != classes[position:]:
        return None
    parent = classes[position]
    stored: Any = next((vars(cls)[name] for cls in parent.__mro__ if name in vars(cls)), None)
    found = cast("Any", stored.__func__ if isinstance(stored, staticmethod) else stored)
    if getattr(found, "__weft_program__", False):
        found = found.py_func
    if not isinstance(found, FunctionType):
        return None
    home = ctx.inputs.raw(Slot(SlotKind.ATTRIBUTE, owner.slot, "__class__"), owner.cls)
    line = ctx.inputs.raw(Slot(SlotKind.ATTRIBUTE, home, "__mro__"), classes)
    ctx.inputs.args[line] = ArgSpec(ArgKind.TUPLE, length=len(classes))
    base = ctx.inputs.raw(Slot(SlotKind.ITEM, position, parent=line), parent)
    place = ctx.inputs.fixed(Slot(SlotKind.ATTRIBUTE, base, name), getattr(parent, name))
    leading: tuple[Operand, ...] = () if isinstance(stored, staticmethod) else (owner,)
    return real_function(ctx, node, found, place, (("slot", place),), leading)
