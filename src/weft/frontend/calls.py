"""Calls: rules for NumPy, Python and methods; inlining of everything written in Python.

A call of a Python function stands alone in its statement (the normaliser saw to that). Its body is lowered in place, as
an activation of its own, so that every statement in it can be resumed at. A function with one `return` at its end
becomes straight code; any other is the body of a loop that runs once, and each `return` leaves that loop.
"""

from __future__ import annotations

import ast
import difflib
import inspect
from dataclasses import dataclass
from types import FunctionType
from typing import Any, cast

import numpy as np

from weft.frontend.branches import choose, split
from weft.frontend.context import Activation, LoopFrame, Lowering
from weft.frontend.expressions import binary, condition, lower_expression
from weft.frontend.inputs import Namespace
from weft.frontend.iteration import length, range_call
from weft.frontend.liveness import flow, local_names, names_read, parameters
from weft.frontend.normalise import normalise
from weft.frontend.source import SourceUnavailable, read_function
from weft.frontend.split import split_stores
from weft.ir.exprs import index, python_const
from weft.ir.nodes import Carry, Region, While
from weft.numpy_rules.registry import RuleEntry, all_rules, rule_for, rule_named
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.values import (
    Array,
    Function,
    Instance,
    Iteration,
    Method,
    Never,
    Operand,
    Range,
    Scalar,
    Static,
    Tuple,
)
from weft.support.abi import FunctionRef, Slot, SlotKind
from weft.support.loops import prange

_MAX_DEPTH = 16
RESULT = "@return"


def lower_call(ctx: Lowering, node: ast.Call) -> Operand:
    """A call in an expression."""
    callee = lower_expression(ctx, node.func)
    args, keywords = _arguments(ctx, node)
    return split(ctx, callee, lambda item: _call(ctx, node, item, args, keywords))


def _arguments(ctx: Lowering, node: ast.Call) -> tuple[list[Operand], dict[str, Operand]]:
    args: list[Operand] = []
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            inner = lower_expression(ctx, arg.value)
            if not isinstance(inner, Tuple):
                raise ctx.error(arg, "E150", "only tuples of known length can be unpacked into a call")
            args += inner.items
        else:
            args.append(lower_expression(ctx, arg))
    keywords: dict[str, Operand] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ctx.error(keyword.value, "E151", "'**' in a call is not compiled", "write the keywords out")
        keywords[keyword.arg] = lower_expression(ctx, keyword.value)
    return args, keywords


def _call(ctx: Lowering, node: ast.Call, callee: Operand, args: list[Operand], keywords: dict[str, Operand]) -> Operand:
    if any(isinstance(arg, Never) for arg in (callee, *args, *keywords.values())):
        return Never()
    match callee:
        case Static(value=value):
            return _call_static(ctx, node, value, args, keywords)
        case Method(owner=owner, name=name):
            return split(ctx, owner, lambda item: _call_method(ctx, node, item, name, args, keywords))
        case Function() | Instance():
            raise ctx.error(node, "E152", "this call is not compiled here", "give its result a name of its own first")
        case _:
            return ctx.build.leave("object is not callable")


def _call_static(
    ctx: Lowering, node: ast.Call, target: Any, args: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    special = _iteration_call(ctx, target, args, keywords)
    if special is not None:
        return special
    entry = rule_for(target)
    if entry is not None:
        return apply_rule(ctx, node, entry, args, keywords)
    if isinstance(target, FunctionType) or getattr(target, "__weft_program__", False):
        raise ctx.error(node, "E152", "this call is not compiled here", "give its result a name of its own first")
    name = _full_name(target)
    near = difflib.get_close_matches(name, all_rules(), 1, 0.8)
    hint = f"did you mean {near[0]}?" if near and near[0] != name else "call it outside of the program"
    raise ctx.error(node.func, "E114", f"{name} is not compiled", hint)


def _full_name(target: Any) -> str:
    module = getattr(target, "__module__", None) or type(target).__module__
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None) or type(target).__name__
    return f"{'numpy' if str(module).startswith('numpy') else module}.{name}"


def _iteration_call(ctx: Lowering, target: Any, args: list[Operand], keywords: dict[str, Operand]) -> Operand | None:
    """range, prange, enumerate, zip and reversed: things to loop over."""
    if target is range:
        return range_call(ctx, args)
    if target is prange:
        return range_call(ctx, args, wish="prange")
    if target is enumerate and args:
        start = keywords.get("start", args[1] if len(args) > 1 else Scalar(index(0)))
        first = as_index(ctx.build, start)
        return ctx.build.leave("an integer is required") if first is None else Iteration("enumerate", (args[0],), first)
    if target is zip and not keywords:
        return Iteration("zip", tuple(args)) if args else Tuple(())
    if target is reversed and len(args) == 1:
        if isinstance(args[0], Tuple):
            return Tuple(args[0].items[::-1])
        return Iteration("reversed", (args[0],))
    if target is len and len(args) == 1 and isinstance(args[0], Range):
        return Scalar(length(ctx, args[0]))
    if target in (min, max) and len(args) > 1 and not keywords:
        return _extreme(ctx, "less" if target is min else "greater", args)
    return None


def _extreme(ctx: Lowering, comparison: str, args: list[Operand]) -> Operand:
    """`min` and `max` of several operands: one of them, the first among equals, whatever their types."""
    best = args[0]
    for operand in args[1:]:
        better = condition(ctx, binary(ctx, comparison, operand, best))
        best = choose(ctx, better, lambda new=operand: new, lambda old=best: old)
    return best


def apply_rule(
    ctx: Lowering, node: ast.Call, entry: RuleEntry, args: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    """Bind the operands to the rule's parameters and apply it, once per alternative of a choice."""
    signature = inspect.signature(entry.lower)
    try:
        signature.bind(ctx.build, *args, **keywords)
    except TypeError as problem:
        known = ", ".join(list(signature.parameters)[1:])
        unknown = next((name for name in keywords if name not in signature.parameters), None)
        what = f"keyword '{unknown}' is not compiled" if unknown else str(problem)
        raise ctx.error(node, "E115", f"{entry.name}: {what}", f"compiled parameters: {known}") from None

    def apply(position: int, done: list[Operand]) -> Operand:
        if position == len(values):
            return entry.lower(ctx.build, *done[: len(args)], **dict(zip(keywords, done[len(args) :], strict=True)))
        return split(ctx, values[position], lambda item: apply(position + 1, [*done, item]))

    values = [*args, *keywords.values()]
    return apply(0, [])


def _call_method(
    ctx: Lowering, node: ast.Call, owner: Operand, name: str, args: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    families: dict[type, str] = {Array: "ndarray", Scalar: "scalar", Static: "ufunc"}
    family = families.get(type(owner), "")
    entry = rule_named(f"{family}.{name}")
    if entry is None:
        known = [n.partition(".")[2] for n in all_rules() if n.startswith(f"{family}.")]
        near = difflib.get_close_matches(name, known, 1, 0.7)
        hint = f"did you mean '{near[0]}'?" if near else "call it outside of the program"
        raise ctx.error(node.func, "E116", f"method '{name}' is not compiled", hint)
    return apply_rule(ctx, node, entry, [owner, *args], keywords)


# ---- inlining -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Callee:
    """A Python function to inline: its tree, where it lives, and the operands bound before the call's own."""

    tree: ast.FunctionDef | ast.Lambda
    lines: list[str]
    filename: str
    names: Namespace
    parent: int
    steps: tuple[tuple[str | int, ...], ...]
    leading: tuple[Operand, ...] = ()
    defaults: tuple[Any, ...] = ()
    keyword_defaults: tuple[tuple[str, Any], ...] = ()


def is_inlined_call(ctx: Lowering, node: ast.expr) -> bool:
    """Whether an expression is a call that was set apart to be inlined."""
    return isinstance(node, ast.Call) and (node.lineno, node.col_offset) in ctx.activation.inlined


def is_python_function(value: object) -> bool:
    """Whether a Python object is a function of the user's, decorated or not."""
    if getattr(value, "__weft_program__", False):
        return True
    return isinstance(value, FunctionType) and rule_for(value) is None and value is not prange and not _is_numpy(value)


def _is_numpy(function: FunctionType) -> bool:
    return (function.__module__ or "").partition(".")[0] in ("numpy", "scipy")


def lower_inlined(ctx: Lowering, node: ast.Call) -> Operand:
    """The call of a Python function, lowered in place."""
    with ctx.at(node):
        operand = lower_expression(ctx, node.func)
        if isinstance(operand, Static) and not is_python_function(operand.value):
            return lower_call(ctx, node)
        callee = _callee(ctx, node, operand)
        if callee is None:
            return lower_call(ctx, node)
        args, keywords = _arguments(ctx, node)
        if any(isinstance(arg, Never) for arg in (*args, *keywords.values())):
            return Never()
        if len(ctx.activations) >= _MAX_DEPTH or any(
            a.tree.lineno == callee.tree.lineno and a.filename == callee.filename for a in ctx.activations
        ):
            raise ctx.error(node, "E153", "recursive calls are not compiled", "use a loop")
        env = _bind(ctx, node, callee, [*callee.leading, *args], keywords)
        return _inline(ctx, callee, env)


def _callee(ctx: Lowering, node: ast.Call, operand: Operand) -> Callee | None:
    match operand:
        case Function(tree=tree, home=home, defaults=evaluated):
            names = Namespace(home.names.function, home.names.slot, {**home.names.outer, **_plain(home.env)})
            steps = (("def", tree.lineno, tree.col_offset),)
            defaults = evaluated or tuple(ast.literal_eval(default) for default in tree.args.defaults)
            keyword_defaults = tuple(
                (arg.arg, _constant_default(ctx, default))
                for arg, default in zip(tree.args.kwonlyargs, tree.args.kw_defaults, strict=True)
                if default is not None
            )
            return Callee(tree, home.lines, home.filename, names, home.reference, steps, (), defaults, keyword_defaults)
        case Static(value=value, slot=slot):
            if getattr(value, "__weft_program__", False):
                function = value.py_func
                slot = ctx.inputs.raw(Slot(SlotKind.ATTRIBUTE, slot, "py_func"), function) if slot >= 0 else -1
            else:
                function = value
            return _real_function(ctx, node, function, slot, (("slot", slot),), ())
        case Method(owner=Instance() as owner, name=name):
            return _method(ctx, node, owner, name)
        case _:
            return None


def _plain(env: dict[str, Operand]) -> dict[str, Operand]:
    return {name: operand for name, operand in env.items() if not name.startswith("@")}


def _method(ctx: Lowering, node: ast.Call, owner: Instance, name: str) -> Callee:
    stored: Any = inspect.getattr_static(owner.cls, name)
    leading: tuple[Operand, ...] = () if isinstance(stored, staticmethod) else (owner,)
    found = cast("Any", stored.__func__ if isinstance(stored, staticmethod) else stored)
    if getattr(found, "__weft_program__", False):
        found = found.py_func
    if not isinstance(found, FunctionType):
        raise ctx.error(node, "E154", f"method '{name}' is not a plain function", "call it outside of the program")
    # The class is checked on every call, so the function is reached through it.
    cls = ctx.inputs.raw(Slot(SlotKind.ATTRIBUTE, owner.slot, "__class__"), owner.cls)
    slot = ctx.inputs.raw(Slot(SlotKind.ATTRIBUTE, cls, name), found)
    return _real_function(ctx, node, found, slot, (("slot", owner.slot), ("attr", name)), leading)


def _real_function(
    ctx: Lowering,
    node: ast.Call,
    function: FunctionType,
    slot: int,
    steps: tuple[tuple[str | int, ...], ...],
    leading: tuple[Operand, ...],
) -> Callee:
    if slot < 0:
        raise ctx.error(node, "E155", "a function that is not a global or an argument cannot be inlined")
    try:
        source = read_function(function)
    except SourceUnavailable as problem:
        raise ctx.error(node, "E156", f"{function.__qualname__}: {problem}", "define it in a file") from None
    refuse_kind(ctx, node, function)
    names = Namespace(function, slot, {})
    return Callee(
        source.tree, list(source.lines), source.filename, names, 0, steps, leading,
        function.__defaults__ or (), tuple((function.__kwdefaults__ or {}).items()),
    )  # fmt: skip


def refuse_kind(ctx: Lowering, node: ast.expr | ast.stmt, function: FunctionType) -> None:
    """Generators and coroutines are not compiled."""
    if function.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise ctx.error(node, "E157", f"{function.__qualname__} is a generator or coroutine", "write a loop")


def _constant_default(ctx: Lowering, node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise ctx.error(node, "E158", "only constants are compiled as defaults of a nested function") from None


def nested_function(ctx: Lowering, node: ast.FunctionDef | ast.Lambda) -> Operand:
    """A function or lambda written inside the program."""
    if isinstance(node, ast.FunctionDef) and node.decorator_list:
        raise ctx.error(node.decorator_list[0], "E159", "decorators of nested functions are not compiled")
    if any(isinstance(inner, ast.Nonlocal | ast.Global | ast.Yield | ast.YieldFrom) for inner in ast.walk(node)):
        raise ctx.error(node, "E160", "nested functions with nonlocal, global or yield are not compiled")
    if all(_is_literal(default) for default in node.args.defaults):
        return Function(node, ctx.activation)
    return Function(node, ctx.activation, tuple(lower_expression(ctx, default) for default in node.args.defaults))


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _bind(
    ctx: Lowering, node: ast.Call, callee: Callee, args: list[Operand], keywords: dict[str, Operand]
) -> dict[str, Operand]:
    """Parameters to operands, by Python's rules."""
    spec = callee.tree.args
    if spec.vararg or spec.kwarg:
        raise ctx.error(node, "E161", "functions with * or ** parameters are not inlined", "name the parameters")
    positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    env: dict[str, Operand] = dict(zip(positional, args, strict=False))
    tail = positional[len(positional) - len(callee.defaults) :] if callee.defaults else []
    defaults = {**dict(zip(tail, callee.defaults, strict=True)), **dict(callee.keyword_defaults)}
    for name, operand in keywords.items():
        if name in env or name not in parameters(callee.tree):
            raise ctx.error(node, "E162", f"'{name}' does not fit the parameters of the function called")
        env[name] = operand
    for name in parameters(callee.tree):
        if name not in env and name in defaults:
            env[name] = _default(ctx, node, defaults[name])
    if len(args) > len(positional) or any(name not in env for name in parameters(callee.tree)):
        raise ctx.error(node, "E162", "the arguments do not fit the parameters of the function called")
    return env


def _default(ctx: Lowering, node: ast.Call, value: Any) -> Operand:
    if isinstance(value, Scalar | Array | Static | Tuple):
        return value
    if type(value) in (bool, int, float, complex):
        return Scalar(python_const(value))
    if isinstance(value, np.ndarray | list | dict | set):
        raise ctx.error(node, "E163", "a mutable default argument is not compiled", "pass it explicitly")
    return Static(value)


def prepare(
    ctx: Lowering, tree: ast.FunctionDef | ast.Lambda, names: Namespace, env: dict[str, Operand]
) -> tuple[ast.FunctionDef, frozenset[tuple[int, int]]]:
    """The tree with inlined calls and stores set apart, and the places of those calls."""
    inlined = frozenset(_inlined_calls(ctx, tree, names, env))
    return split_stores(normalise(tree, inlined)), inlined


def _inlined_calls(
    ctx: Lowering, tree: ast.FunctionDef | ast.Lambda, names: Namespace, env: dict[str, Operand]
) -> list[tuple[int, int]]:
    local = local_names(tree)
    nested = _nested_names(tree)
    places: list[tuple[int, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_user_function(ctx, node.func, names, env, local, nested):
            places.append((node.lineno, node.col_offset))
    return places


def _nested_names(tree: ast.FunctionDef | ast.Lambda) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) if node is not tree:
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()):
                found.add(name)
            case _:
                pass
    return found


def _is_user_function(
    ctx: Lowering, node: ast.expr, names: Namespace, env: dict[str, Operand], local: frozenset[str], nested: set[str]
) -> bool:
    """Whether a callee is, as far as the text shows, a Python function."""
    match node:
        case ast.Lambda():
            return True
        case ast.Name(id=name):
            if name in local and name not in env:
                return name in nested
            operand = env.get(name) if name in local else ctx.inputs.lookup(names, name)
            return isinstance(operand, Function) or (isinstance(operand, Static) and is_python_function(operand.value))
        case ast.Attribute(value=ast.Name(id=owner), attr=attr):
            operand = env.get(owner) if owner in local else ctx.inputs.lookup(names, owner)
            if isinstance(operand, Instance):
                return callable(getattr(operand.cls, attr, None))
            return isinstance(operand, Static) and is_python_function(getattr(operand.value, attr, None))
        case _:
            return False


def activate(
    ctx: Lowering,
    callee: Callee,
    env: dict[str, Operand],
) -> Activation:
    """A new activation of a function, ready to be lowered."""
    tree, inlined = prepare(ctx, callee.tree, callee.names, env)
    result = flow(tree)
    reference = FunctionRef(callee.parent, callee.steps, tuple(sorted(inlined)))
    if reference not in ctx.functions:
        ctx.functions.append(reference)
    return Activation(
        reference=ctx.functions.index(reference),
        tree=tree,
        lines=callee.lines,
        filename=callee.filename,
        names=callee.names,
        env=env,
        before=result.before,
        after=result.after,
        locals=local_names(tree),
        inlined=inlined,
        reads=frozenset(name for stmt in tree.body for name in names_read(stmt)),
    )


def _inline(ctx: Lowering, callee: Callee, env: dict[str, Operand]) -> Operand:
    caller = ctx.activation
    attributes = {key: operand for key, operand in caller.env.items() if _is_attribute(key)}
    activation = activate(ctx, callee, {**env, **attributes})
    statement = caller.after[caller.path] - _targets(caller)
    caller.frame = ctx.frame(caller, statement)
    ctx.activations.append(activation)
    try:
        result = _straight(ctx, activation) if _is_straight(activation.tree) else _looped(ctx, activation)
    finally:
        ctx.activations.pop()
        caller.frame = None
    for key, operand in activation.env.items():
        if _is_attribute(key):
            caller.env[key] = operand
    ctx.build.dirty = True
    return result


def _is_attribute(key: str) -> bool:
    return key.startswith("@") and key[1].isdigit()


def _targets(caller: Activation) -> frozenset[str]:
    """The name a call statement binds."""
    from weft.frontend.liveness import statement_at

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

    names = [RESULT, *sorted(key for key in activation.env if _is_attribute(key))]
    lower_carried(ctx, names, body, make, is_call=True)
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
