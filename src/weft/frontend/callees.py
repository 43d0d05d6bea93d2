"""Python functions that are inlined: which one a call means, its tree, its names, and what its parameters are.

in:   a call and the operand that is called
out:  a `Callee`, its parameters bound to operands, and an activation ready to be lowered
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any, cast

import numpy as np

from weft.frontend.comprehensions import builtins_of, is_expandable, is_generator, sources, taken_at_once
from weft.frontend.context import Activation, Lowering
from weft.frontend.expressions import lower_expression
from weft.frontend.hints import function_hint
from weft.frontend.inputs import IMPORTED_MODULES, Namespace, static_operand
from weft.frontend.liveness import Names, StatementPath, flow, local_names, names_read, parameters
from weft.frontend.normalise import normalise
from weft.frontend.normalise_expressions import place_of_property, place_written_out
from weft.frontend.parents import asks_for_frame
from weft.frontend.properties import is_property, way_to
from weft.frontend.source import SourceUnavailable, read_function
from weft.frontend.split import split_stores
from weft.frontend.trees import LOCAL, writes_where_told
from weft.frontend.user_methods import is_known_method, is_method_at_end, is_python_function, is_user_method
from weft.ir.exprs import python_const
from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.values import Array, Dict, Function, Instance, Method, Operand, Scalar, Static, Tuple
from weft.support.abi import ArgKind, ArgSpec, FunctionRef, Slot, SlotKind
from weft.support.records import record
from weft.support.stand_ins import keyed_stand_in, stand_in

_WRITTEN_OUT = (ast.Call, ast.ListComp, ast.DictComp)
_MUTABLE = (np.ndarray, list, dict, set)  # what a default may be that is no constant


@record
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


def is_keyed(node: ast.Call, value: object) -> bool:
    """Whether a call is one of `min`, `max` or `sorted` with a function that says what is compared."""
    given = [keyword.value for keyword in node.keywords if keyword.arg == "key"]
    is_none = any(isinstance(key, ast.Constant) for key in given)
    return not is_none and _keyed(node, value) is not None


def _keyed(node: ast.Call, value: object) -> Any:
    keywords = frozenset(keyword.arg or "**" for keyword in node.keywords)
    is_starred = any(isinstance(arg, ast.Starred) for arg in node.args)
    return None if is_starred else keyed_stand_in(value, len(node.args), keywords)


def has_call(cls: type) -> bool:
    """Whether objects of a class can be called."""
    return any("__call__" in vars(base) for base in cls.__mro__)


def find_callee(ctx: Lowering, node: ast.Call, operand: Operand) -> Callee | None:
    """The Python function an operand is; None where it is not one."""
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
        case Static(value=value) if stand_in(value) is not None:
            return _stand_in(stand_in(value))
        case Static(value=value) if is_keyed(node, value):
            return _stand_in(_keyed(node, value))
        case Static(value=value, slot=slot):
            if getattr(value, "__weft_program__", False):
                function = value.py_func
                slot = ctx.inputs.raw(Slot(SlotKind.ATTRIBUTE, slot, "py_func"), function) if slot >= 0 else -1
            else:
                function = value
            return real_function(ctx, node, function, slot, (("slot", slot),), ())
        case Method(owner=Instance() as owner, name=name):
            return _method(ctx, node, owner, owner.cls, name)
        case Method(owner=Tuple(cls=cls, slot=slot) as owner, name=name) if cls is not None and slot >= 0:
            return _method(ctx, node, owner, cls, name)
        case Instance(cls=cls, slot=slot) if cls is MethodType:
            return _bound_method(ctx, node, slot)
        case Instance(cls=cls) if has_call(cls):
            return _method(ctx, node, operand, cls, "__call__")
        case _:
            return None


def _plain(env: dict[str, Operand]) -> dict[str, Operand]:
    return {name: operand for name, operand in env.items() if not name.startswith("@")}


def _method(ctx: Lowering, node: ast.Call, owner: Instance | Tuple, cls: type, name: str) -> Callee:
    stored: Any = inspect.getattr_static(cls, name)
    leading: tuple[Operand, ...] = () if isinstance(stored, staticmethod) else (owner,)
    found = cast("Any", stored.__func__ if isinstance(stored, staticmethod) else stored)
    if getattr(found, "__weft_program__", False):
        found = found.py_func
    if not isinstance(found, FunctionType):
        raise ctx.error(node, "E154", f"method '{name}' is not a plain function", "call it outside of the program")
    # The class is checked on every call, so the function is reached through it.
    home = ctx.inputs.raw(Slot(SlotKind.ATTRIBUTE, owner.slot, "__class__"), cls)
    if name in getattr(ctx.inputs.objects[owner.slot], "__dict__", {}):
        raise ctx.error(
            node, "E154", f"'{name}' is a function of the object, not of its class", "pass it as an argument"
        )
    slot = ctx.inputs.fixed(Slot(SlotKind.ATTRIBUTE, home, name), getattr(cls, name))
    return real_function(ctx, node, found, slot, (("slot", owner.slot), ("attr", name)), leading)


def _bound_method(ctx: Lowering, node: ast.Call, slot: int) -> Callee:
    """A method that was kept with its object, as in `self.activation = self._step`."""
    method = ctx.inputs.objects[slot]
    owner = ctx.inputs.add(Slot(SlotKind.ATTRIBUTE, slot, "__self__"), method.__self__, "self")
    function, place = method.__func__, ctx.inputs.fixed(Slot(SlotKind.ATTRIBUTE, slot, "__func__"), method.__func__)
    if not isinstance(function, FunctionType):
        raise ctx.error(node, "E154", "this method is not a plain function", "call it outside of the program")
    return real_function(ctx, node, function, place, (("slot", place),), (owner,))


def real_function(
    ctx: Lowering,
    node: ast.Call,
    function: FunctionType,
    slot: int,
    steps: tuple[tuple[str | int, ...], ...],
    leading: tuple[Operand, ...],
) -> Callee:
    """A function that exists as an object, in a slot that is checked on every call."""
    defaults, keyword_defaults = function.__defaults__ or (), function.__kwdefaults__ or {}
    if slot >= 0 and function is ctx.inputs.objects[slot]:
        # What a debugger or a reloader may change in a function that stays the same object.
        ctx.inputs.fixed(Slot(SlotKind.ATTRIBUTE, slot, "__code__"), function.__code__)
        defaults = _checked_defaults(ctx, function, slot)
        keyword_defaults = _checked_keywords(ctx, function, slot)
    name = f"{function.__module__}.{function.__qualname__}"
    if name.partition(".")[0] in sys.stdlib_module_names:
        raise ctx.error(node.func, "E114", f"{name} is not compiled", function_hint(name))
    if slot < 0:
        raise ctx.error(node, "E155", "a function that is not a global or an argument cannot be inlined")
    try:
        source = read_function(function)
    except SourceUnavailable as problem:
        raise ctx.error(node, "E156", f"{function.__qualname__}: {problem}", "define it in a file") from None
    refuse_kind(ctx, node, function, source.tree)
    names = Namespace(function, slot, {})
    return Callee(
        source.tree, list(source.lines), source.filename, names, 0, steps, leading,
        defaults, tuple(keyword_defaults.items()),
    )  # fmt: skip


@record
class _Held:
    """A default that is no constant: an array, a list or a dict, in a slot of its own once a call needs it."""

    slot: Slot
    value: Any


def _checked_defaults(ctx: Lowering, function: FunctionType, slot: int) -> tuple[Any, ...]:
    """The defaults of a function in a slot, which are checked on every call."""
    values: tuple[Any, ...] = function.__defaults__ or ()
    own = Slot(SlotKind.ATTRIBUTE, slot, "__defaults__")
    if not any(isinstance(value, _MUTABLE) for value in values):
        ctx.inputs.fixed(own, function.__defaults__)
        return values
    parent = ctx.inputs.raw(own, values)
    ctx.inputs.args[parent] = ArgSpec(ArgKind.TUPLE, length=len(values))
    found: list[Any] = []
    for position, value in enumerate(values):
        item = Slot(SlotKind.ITEM, position, parent=parent)
        if isinstance(value, _MUTABLE):
            found.append(_Held(item, value))
        else:
            ctx.inputs.fixed(item, value)
            found.append(value)
    return tuple(found)


def _checked_keywords(ctx: Lowering, function: FunctionType, slot: int) -> dict[str, Any]:
    """The same of keyword-only parameters, of which only those that are no constants are checked."""
    values: dict[str, Any] = function.__kwdefaults__ or {}
    if not any(isinstance(value, _MUTABLE) for value in values.values()):
        return values
    parent = ctx.inputs.raw(Slot(SlotKind.ATTRIBUTE, slot, "__kwdefaults__"), values)
    return {
        name: _Held(Slot(SlotKind.MAPPING, name=name, parent=parent), value) if isinstance(value, _MUTABLE) else value
        for name, value in values.items()
    }


def _stand_in(function: FunctionType) -> Callee:
    """A function of Weft's own, which sees no names but those of its file."""
    source = read_function(function)
    known = function.__globals__
    outer = {name: static_operand(known[name]) for name in function.__code__.co_names if name in known}
    steps = (("stand-in", function.__name__),)
    names, keywords = Namespace(function, -1, outer), tuple((function.__kwdefaults__ or {}).items())
    return Callee(source.tree, list(source.lines), source.filename, names, 0, steps, keyword_defaults=keywords)


def refuse_kind(
    ctx: Lowering, node: ast.expr | ast.stmt, function: FunctionType, tree: ast.FunctionDef | ast.Lambda
) -> None:
    """Generators and coroutines are not compiled, nor what cannot be resumed."""
    if function.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        what = f"{function.__qualname__} is a generator or coroutine"
        raise ctx.error(node, "E157", what, "return an array or a list")
    if asks_for_frame(tree) is not None:
        what = f"{function.__qualname__} uses super() in another function than the method itself"
        raise ctx.error(node, "E157", what, "call it in a statement of the method")


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


def bind_arguments(
    ctx: Lowering, node: ast.Call, callee: Callee, args: list[Operand], keywords: dict[str, Operand]
) -> dict[str, Operand]:
    """Parameters to operands, by Python's rules; raises PythonRaises where they do not fit."""
    spec = callee.tree.args
    positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    by_name = {arg.arg for arg in (*spec.args, *spec.kwonlyargs)}
    env: dict[str, Operand] = dict(zip(positional, args, strict=False))
    tail = positional[len(positional) - len(callee.defaults) :] if callee.defaults else []
    defaults = {**dict(zip(tail, callee.defaults, strict=True)), **dict(callee.keyword_defaults)}
    others: dict[str, Operand] = {}
    for name, operand in keywords.items():
        if name in env or (name not in by_name and spec.kwarg is None):
            raise PythonRaises(f"'{name}' does not fit the parameters of the function called")
        (env if name in by_name else others)[name] = operand
    if spec.vararg is not None:
        env[spec.vararg.arg] = Tuple(tuple(args[len(positional) :]))
    elif len(args) > len(positional):
        raise PythonRaises("the arguments do not fit the parameters of the function called")
    if spec.kwarg is not None:
        env[spec.kwarg.arg] = Dict(tuple(others), tuple(others.values()))
    for name in parameters(callee.tree):
        if name not in env and name in defaults:
            env[name] = _default(ctx, node, name, defaults[name])
    if any(name not in env for name in parameters(callee.tree)):
        raise PythonRaises("the arguments do not fit the parameters of the function called")
    return env


def _default(ctx: Lowering, node: ast.Call, name: str, value: Any) -> Operand:
    if isinstance(value, _Held):
        return ctx.inputs.add(value.slot, value.value, name)
    if isinstance(value, Scalar | Array | Static | Tuple):
        return value
    if type(value) in (bool, int, float, complex):
        return Scalar(python_const(value))
    if isinstance(value, _MUTABLE):
        raise ctx.error(node, "E163", "a mutable default argument is not compiled", "pass it explicitly")
    return Static(value)


@record
class Prepared:
    """A tree with inlined calls and stores set apart, and what is known of its names."""

    original: ast.FunctionDef | ast.Lambda  # kept, so that no other tree gets its identity
    tree: ast.FunctionDef
    before: dict[StatementPath, Names]
    after: dict[StatementPath, Names]
    locals: Names
    reads: Names


_PREPARED: dict[tuple[int, frozenset[tuple[int, int]]], Prepared] = {}
_MAX_PREPARED = 256


def _prepare(tree: ast.FunctionDef | ast.Lambda, inlined: frozenset[tuple[int, int]]) -> Prepared:
    """The tree with the calls at some places set apart; a function that is inlined often is prepared once."""
    key = id(tree), inlined
    if key not in _PREPARED:
        if len(_PREPARED) >= _MAX_PREPARED:
            _PREPARED.clear()
        new = split_stores(normalise(tree, inlined))
        found = flow(new)
        reads = frozenset(name for stmt in new.body for name in names_read(stmt))
        _PREPARED[key] = Prepared(tree, new, found.before, found.after, local_names(new), reads)
    return _PREPARED[key]


def _inlined_calls(
    ctx: Lowering, tree: ast.FunctionDef | ast.Lambda, names: Namespace, env: dict[str, Operand]
) -> list[tuple[int, int]]:
    local, rebound = local_names(tree), frozenset(_names_stored(tree))
    imported = _imported_names(tree)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    places = [
        (node.lineno, node.col_offset)
        for node in calls
        if _is_user_function(ctx, node.func, names, env, local, rebound, imported)
        or _has_key(ctx, node, names, local)
        or writes_where_told(node)
    ]
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)]
    places += [place_of_property(node) for node in attributes if is_property(ctx, node, names, env, local)]
    written = [node for node in ast.walk(tree) if isinstance(node, _WRITTEN_OUT) and not is_generator(node)]
    for node in filter(is_expandable, (*written, *taken_at_once(tree))):
        whole = [node, *sources(node)]
        if all(_is_builtin(ctx, name, names, local) for part in whole for name in builtins_of(part)):
            places += [place for part in whole for place in (place_written_out(part), (part.lineno, part.col_offset))]
    return places


def _names_stored(tree: ast.AST) -> Iterator[str]:
    return (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def _has_key(ctx: Lowering, node: ast.Call, names: Namespace, local: frozenset[str]) -> bool:
    """Whether a call is of Python's `min`, `max` or `sorted`, with a key."""
    match node:
        case ast.Call(func=ast.Name(id="min" | "max" | "sorted" as name), keywords=[_, *_]):
            return is_keyed(node, getattr(builtins, name)) and _is_builtin(ctx, name, names, local)
        case _:
            return False


def _is_builtin(ctx: Lowering, name: str, names: Namespace, local: frozenset[str]) -> bool:
    """Whether a name means Python's own function."""
    if name in local:
        return False
    operand = ctx.inputs.lookup(names, name)
    return isinstance(operand, Static) and operand.value is getattr(builtins, name)


def _imported_names(tree: ast.FunctionDef | ast.Lambda) -> dict[str, Operand]:
    """What local imports bind, which are functions and modules of libraries: Static(None) where that is not known."""
    found: dict[str, Operand] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            path = alias.name if isinstance(node, ast.Import) else (node.module or "")
            module = sys.modules.get(
                path if alias.asname or isinstance(node, ast.ImportFrom) else path.partition(".")[0]
            )
            known = path.partition(".")[0] in IMPORTED_MODULES and not getattr(node, "level", 0)
            value = getattr(module, alias.name, None) if isinstance(node, ast.ImportFrom) else module
            name = alias.asname or alias.name.partition(".")[0]
            found[name] = Static(value if known and name not in found else None)
    return found


def _is_user_function(
    ctx: Lowering,
    node: ast.expr,
    names: Namespace,
    env: dict[str, Operand],
    local: frozenset[str],
    rebound: frozenset[str],
    imported: dict[str, Operand],
) -> bool:
    """Whether a callee is, as far as the text shows, a Python function or an object that is called like one."""
    match node:
        case ast.Lambda():
            return True
        case ast.Name(id=name):
            if name == LOCAL:
                return False
            if name in local and (name not in env or name in rebound) and name not in imported:
                return True  # whatever is called: a function that was given a name here
            operand = env.get(name, imported.get(name)) if name in local else ctx.inputs.lookup(names, name)
            if isinstance(operand, Function | Instance):
                return True
            return isinstance(operand, Static) and is_python_function(operand.value)
        case ast.Attribute(value=ast.Name() | ast.Attribute() as value, attr=attr):
            name, way = way_to(value)
            operand = env.get(name, imported.get(name)) if name in local else ctx.inputs.lookup(names, name)
            if isinstance(value, ast.Name):
                return is_user_method(operand, attr)
            return name != "" and is_method_at_end(ctx, operand, [*way, attr])
        case ast.Attribute(value=ast.Subscript() | ast.Call(func=ast.Name(id="super")) as value, attr=attr):
            return isinstance(value, ast.Call) or not is_known_method(attr)  # of `super()`, or one of several objects
        case ast.Subscript():  # one of several functions
            return True
        case _:
            return False


def activate(
    ctx: Lowering,
    callee: Callee,
    env: dict[str, Operand],
) -> Activation:
    """A new activation of a function, ready to be lowered."""
    inlined = frozenset(_inlined_calls(ctx, callee.tree, callee.names, env))
    prepared = _prepare(callee.tree, inlined)
    reference = FunctionRef(callee.parent, callee.steps, tuple(sorted(inlined)))
    if reference not in ctx.functions:
        ctx.functions.append(reference)
    return Activation(
        reference=ctx.functions.index(reference),
        tree=prepared.tree,
        lines=callee.lines,
        filename=callee.filename,
        names=callee.names,
        env=env,
        before=prepared.before,
        after=prepared.after,
        locals=prepared.locals,
        inlined=inlined,
        reads=prepared.reads,
    )
