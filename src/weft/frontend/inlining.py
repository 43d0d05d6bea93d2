"""Inlining of everything written in Python: functions, methods, properties.

in:   a call, or an attribute, that stands alone in its statement (the normaliser saw to that)
out:  its body, lowered in place as an activation of its own, so that every statement in it can be resumed at

A function with one `return` at its end becomes straight code; any other is the body of a loop that runs once, and each
`return` leaves that loop.
"""

from __future__ import annotations

import ast
import inspect
from types import FunctionType
from typing import Any

from weft.frontend.attributes import attribute
from weft.frontend.callees import (
    Callee,
    activate,
    bind_arguments,
    find_callee,
    is_keyed,
    is_python_function,
    real_function,
)
from weft.frontend.calls import call_arguments, local_value, lower_call
from weft.frontend.context import Activation, LoopFrame, Lowering
from weft.frontend.cutting import is_local_name
from weft.frontend.draws import drawn_from, lower_draw
from weft.frontend.expressions import lower_expression
from weft.frontend.heap import is_object, kept
from weft.frontend.inherited import find_inherited
from weft.frontend.liveness import statement_at
from weft.frontend.normalise_expressions import place_of_property
from weft.ir.nodes import Carry, Region, While
from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.values import Instance, Never, Operand, Static
from weft.support.abi import Slot, SlotKind
from weft.support.errors import CompileError

_MAX_DEPTH = 16
RESULT = "@return"


def find_getter(ctx: Lowering, node: ast.Call, owner: Instance, name: str) -> Callee | None:
    """The function behind an attribute that is a property; None where it is something else."""
    stored: Any = inspect.getattr_static(owner.cls, name, None)
    if type(stored) is not property or not isinstance(stored.fget, FunctionType):
        return None
    home = ctx.inputs.raw(Slot(SlotKind.ATTRIBUTE, owner.slot, "__class__"), owner.cls)
    place = ctx.inputs.fixed(Slot(SlotKind.ATTRIBUTE, home, name), stored)
    getter = ctx.inputs.fixed(Slot(SlotKind.ATTRIBUTE, place, "fget"), stored.fget)
    return real_function(ctx, node, stored.fget, getter, (("slot", getter),), (owner,))


def is_inlined_call(ctx: Lowering, node: ast.expr) -> bool:
    """Whether an expression is a call, or a property, that was set apart to be inlined."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, ast.Load) and place_of_property(node) in ctx.activation.inlined
    return isinstance(node, ast.Call) and (node.lineno, node.col_offset) in ctx.activation.inlined


def lower_inlined(ctx: Lowering, node: ast.Call | ast.Attribute) -> Operand:
    """The call of a Python function, lowered in place."""
    if isinstance(node, ast.Attribute):
        return _property(ctx, node)
    if is_local_name(node):
        return local_value(ctx, node)
    with ctx.at(node):
        inherited = find_inherited(ctx, node)
        if inherited is not None:
            return _called(ctx, node, inherited, *call_arguments(ctx, node))
        operand = lower_expression(ctx, node.func)
        drawn = drawn_from(ctx.inputs, operand)
        if drawn is not None:
            return lower_draw(ctx, drawn, *call_arguments(ctx, node))
        if isinstance(operand, Static) and not (is_python_function(operand.value) or is_keyed(node, operand.value)):
            return lower_call(ctx, node)
        callee = find_callee(ctx, node, operand)
        if callee is None:
            return lower_call(ctx, node)
        return _called(ctx, node, callee, *call_arguments(ctx, node))


def _property(ctx: Lowering, node: ast.Attribute) -> Operand:
    """An attribute that is computed by a property of the object's class."""
    with ctx.at(node):
        owner = lower_expression(ctx, node.value)
        call = ast.copy_location(ast.Call(node, [], []), node)
        callee = find_getter(ctx, call, owner, node.attr) if isinstance(owner, Instance) else None
        return attribute(ctx, owner, node.attr) if callee is None else _called(ctx, call, callee, [], {})


def _called(
    ctx: Lowering, node: ast.Call, callee: Callee, args: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    if any(isinstance(arg, Never) for arg in (*args, *keywords.values())):
        return Never()
    if len(ctx.activations) >= _MAX_DEPTH or any(
        _place(a.tree) == _place(callee.tree) and a.filename == callee.filename for a in ctx.activations
    ):
        raise ctx.error(node, "E153", "recursive calls are not compiled", "use a loop")
    try:
        env = bind_arguments(ctx, node, callee, [*callee.leading, *args], keywords)
    except PythonRaises as raised:
        return ctx.build.leave(raised.reason)
    try:
        return _inline(ctx, callee, env)
    except CompileError as problem:
        if type(problem) is not CompileError or callee.steps[0][0] != "stand-in":
            raise
        raise ctx.error(node, problem.code, problem.message, problem.hint) from None  # in the user's own text


def _place(tree: ast.FunctionDef | ast.Lambda) -> tuple[int, int]:
    return tree.lineno, tree.col_offset


def _inline(ctx: Lowering, callee: Callee, env: dict[str, Operand]) -> Operand:
    caller = ctx.activation
    given = {name: kept(ctx, operand) for name, operand in env.items()}
    attributes = {key: operand for key, operand in caller.env.items() if _travels(key)}
    activation = activate(ctx, callee, {**given, **attributes})
    caller.waiting = caller.after[caller.path] - _targets(caller)
    caller.frame = ctx.frame(caller, caller.waiting)
    ctx.activations.append(activation)
    try:
        result = _straight(ctx, activation) if _is_straight(activation.tree) else _looped(ctx, activation)
    finally:
        ctx.activations.pop()
        caller.frame = None
    for key, operand in activation.env.items():
        if _travels(key):
            caller.env[key] = operand
    ctx.build.dirty = True
    return result


def _travels(key: str) -> bool:
    """Whether a key stands for something all calls see: an attribute, or what is in a list or dict."""
    return is_object(key) or (key.startswith("@") and key[1].isdigit())


def _targets(caller: Activation) -> frozenset[str]:
    """The name a call statement binds."""
    match statement_at(caller.tree, caller.path):
        case ast.Assign(targets=[ast.Name(id=name)]):
            return frozenset((name,))
        case _:
            return frozenset()


def _is_straight(tree: ast.FunctionDef) -> bool:
    returns = [node for node in ast.walk(tree) if isinstance(node, ast.Return)]
    return not returns or (len(returns) == 1 and returns[0] is tree.body[-1])


def _straight(ctx: Lowering, activation: Activation) -> Operand:
    from weft.frontend.statements import lower_block

    falls = lower_block(ctx, activation.tree.body, ())
    if falls:
        return Static(None)
    return Never() if activation.returned is None else activation.returned


def _looped(ctx: Lowering, activation: Activation) -> Operand:
    from weft.frontend.loops import emit_exit, lower_carried
    from weft.frontend.statements import lower_block

    build = ctx.build
    activation.env[RESULT] = Never()

    def body() -> bool:
        if lower_block(ctx, activation.tree.body, ()):
            activation.env[RESULT] = Static(None)
            emit_exit(ctx, ctx.loops[-1], is_break=True)
        return False

    def make(carries: tuple[Carry, ...], region: Region) -> None:
        build.emit(While(carries=carries, body=region, id=build.new_id(), span=build.span))

    names = [RESULT, *sorted(key for key in activation.env if _travels(key))]
    lower_carried(ctx, names, body, make, LoopFrame({}, activation, is_call=True))
    return activation.env[RESULT]


def leave_call(ctx: Lowering, operand: Operand) -> None:
    """A return statement of an inlined function."""
    from weft.frontend.loops import emit_exit

    activation = ctx.activation
    frame: LoopFrame | None = next((f for f in reversed(ctx.loops) if f.is_call and f.activation is activation), None)
    if frame is None:
        activation.returned = operand
        return
    activation.env[RESULT] = operand
    emit_exit(ctx, frame, is_break=True)
