"""Calls: rules for NumPy, Python and methods.

in:   a call in an expression, or in a statement of its own that turns out to be none of a Python function (`inlining`)
out:  its value, by the rule for what is called
"""

from __future__ import annotations

import ast
import inspect
import itertools
from enum import Enum
from typing import Any

import numpy as np

from weft.frontend.branches import split
from weft.frontend.callees import has_call
from weft.frontend.classes import made_fields, makes_plainly, named_fields
from weft.frontend.context import Lowering
from weft.frontend.cutting import is_local_name
from weft.frontend.expressions import lower_expression
from weft.frontend.growing import as_array
from weft.frontend.heap import contents, kept, mentions, new_number, resolved
from weft.frontend.hints import function_hint, method_hint
from weft.frontend.inputs import static_operand
from weft.frontend.iteration import length, range_call
from weft.frontend.keys import kept_key, plain_key, split_all
from weft.frontend.known import constant_of
from weft.frontend.list_methods import order_of
from weft.frontend.objects import call_method, fixed_items
from weft.frontend.python_calls import python_call
from weft.frontend.rows import note_steady
from weft.frontend.tables import lower_argument
from weft.frontend.user_methods import is_python_function
from weft.ir.exprs import index
from weft.numpy_rules.registry import Rule, RuleEntry, rule_for, rule_named, typed_rule
from weft.numpy_rules.reshaping import product, reshape_view
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.values import (
    Array,
    Dict,
    Foreign,
    Function,
    Growing,
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
    Unbound,
)
from weft.support.errors import CompileError
from weft.support.loops import prange
from weft.support.stand_ins import places_in_order

_GIVING_ITEMS = ("builtins.list", "builtins.tuple", "builtins.min", "builtins.max", "builtins.sum")


def lower_call(ctx: Lowering, node: ast.Call) -> Operand:
    """A call in an expression."""
    if is_local_name(node):
        return local_value(ctx, node)
    callee = lower_expression(ctx, node.func)
    args, keywords = call_arguments(ctx, node, callee)
    return split(ctx, callee, lambda item: _call(ctx, node, item, args, keywords))


def local_value(ctx: Lowering, node: ast.Call) -> Operand:
    """What a local name is bound to, if anything: how a piece of a cut function gives it."""
    (name,) = node.args
    assert isinstance(name, ast.Constant)
    return ctx.env.get(str(name.value), Unbound())


def call_arguments(ctx: Lowering, node: ast.Call, callee: object = None) -> tuple[list[Operand], dict[str, Operand]]:
    """What is given to a call: by position, and by name."""
    args: list[Operand] = []
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            inner = fixed_items(ctx, lower_expression(ctx, arg.value))
            if inner is None:
                raise ctx.error(arg, "E150", "only what has a known length can be unpacked into a call")
            args += inner
        else:
            args.append(lower_argument(ctx, node, callee, arg))
    keywords: dict[str, Operand] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            inner = contents(ctx, lower_expression(ctx, keyword.value))
            if not isinstance(inner, Dict) or not all(isinstance(key, str) for key in inner.keys):
                raise ctx.error(keyword.value, "E151", "'**' is compiled for dicts with known keys only")
            if keywords.keys() & set(inner.keys):
                raise ctx.error(keyword.value, "E151", "a keyword is given twice")
            keywords.update(zip(inner.keys, inner.items, strict=True))
            continue
        keywords[keyword.arg] = lower_expression(ctx, keyword.value)
    return args, keywords


def _call(ctx: Lowering, node: ast.Call, callee: Operand, args: list[Operand], keywords: dict[str, Operand]) -> Operand:
    if any(isinstance(arg, Never) for arg in (callee, *args, *keywords.values())):
        return Never()
    match callee:
        case Static(value=value):
            return _call_static(ctx, node, value, args, keywords)
        case Method(owner=owner, name=name):
            if isinstance(owner, Ref | Lent | Tuple | Dict) or _is_text(owner):
                result = call_method(ctx, owner, name, args, keywords)
                if result is not None:
                    return result
            return split(ctx, owner, lambda item: _call_method(ctx, node, item, name, args, keywords))
        case Function():
            raise ctx.error(node, "E152", "this call is not compiled here", "give its result a name of its own first")
        case Instance(cls=cls) if has_call(cls):
            raise ctx.error(node, "E152", "this call is not compiled here", "give its result a name of its own first")
        case _:
            return ctx.build.leave("object is not callable")


def _call_static(
    ctx: Lowering, node: ast.Call, target: Any, args: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    if target is slice and 1 <= len(args) <= 3 and not keywords:
        none = Static(None)
        return kept_key(Slice(none, args[0], none) if len(args) == 1 else Slice(*args, *[none] * (3 - len(args))))
    if target is places_in_order:
        return order_of(ctx, args)
    special = _iteration_call(ctx, target, args, keywords)
    if special is not None:
        return special
    args = _converted(ctx, target, args, keywords)
    if target is np.from_dlpack and len(args) == 1 and isinstance(args[0], Array) and not keywords:
        return args[0]
    special = python_call(ctx, target, args, keywords)
    if special is not None:
        return special
    if (entry := rule_for(target)) is not None:
        return apply_rule(ctx, node, entry, args, keywords)
    if is_python_function(target):
        raise ctx.error(node, "E152", "this call is not compiled here", "give its result a name of its own first")
    if isinstance(target, type) and (made := _made(ctx, target, args, keywords)) is not None:
        return made
    name = _full_name(target)
    raise ctx.error(node.func, "E114", f"{name} is not compiled", function_hint(name))


def _converted(ctx: Lowering, target: Any, args: list[Operand], keywords: dict[str, Operand]) -> list[Operand]:
    """The arguments, where the first is an object that this function makes an array of, with that array."""
    if not args or not isinstance(args[0], Foreign):
        return args
    foreign = args[0]
    # `__array__` is told what dtype is wanted, and whether a copy: what it makes of that is its own affair.
    decides = hasattr(foreign.cls, "__array__") and (target is np.array or len(args) + len(keywords) > 1)
    if target is np.from_dlpack:
        return [ctx.inputs.converted(foreign, "from_dlpack"), *args[1:]]
    if target in (np.asarray, np.asanyarray, np.array, np.ascontiguousarray) and not decides:
        return [ctx.inputs.converted(foreign, "asarray"), *args[1:]]
    raise ctx.build.error("E164", f"a {foreign.cls.__name__} is not compiled here", "use np.asarray of it alone")


def _made(ctx: Lowering, cls: Any, args: list[Operand], keywords: dict[str, Operand]) -> Operand | None:
    """A new object of a named tuple or a dataclass; None for any other class."""
    names = named_fields(cls)
    is_tuple = names is not None and makes_plainly(cls)
    fields = names if is_tuple else made_fields(cls)
    if fields is None:
        return None
    function: Any = cls.__new__ if is_tuple else cls.__init__
    tail = fields[len(fields) - len(function.__defaults__ or ()) :]
    defaults = dict(zip(tail, function.__defaults__ or (), strict=True))
    given: dict[str, Operand] = dict(zip(fields, args, strict=False))
    if len(args) > len(fields) or keywords.keys() & given.keys() or keywords.keys() - set(fields):
        return ctx.build.leave("the arguments do not fit the fields of the class")
    given |= keywords
    for name in fields:
        if name not in given and name in defaults:
            given[name] = _default(ctx, name, defaults[name])
    if len(given) < len(fields):
        return ctx.build.leave("a field of the class has no value")
    items = tuple(given[name] for name in fields)
    if is_tuple:
        return Tuple(items, cls=cls)
    return Made(cls, fields, tuple(kept(ctx, item) for item in items), new_number(ctx))


def _default(ctx: Lowering, name: str, value: Any) -> Operand:
    if isinstance(value, bool | int | float | complex | np.generic | str | bytes | type | None | Enum | np.dtype):
        return static_operand(value)
    raise ctx.build.error("E165", f"the default of field '{name}' is not compiled", "give a value for the field")


def _is_text(operand: Operand) -> bool:
    return isinstance(operand, Static) and isinstance(operand.value, str)


def _full_name(target: Any) -> str:
    module = getattr(target, "__module__", None) or type(target).__module__
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None) or type(target).__name__
    if vars(np).get(name) is target:
        return f"numpy.{name}"
    public = [part for part in str(module).split(".") if not part.startswith("_")]
    return ".".join([*public, name])


def _iteration_call(ctx: Lowering, target: Any, args: list[Operand], keywords: dict[str, Operand]) -> Operand | None:
    """range, prange, enumerate, zip and reversed: things to loop over."""
    if target in (range, reversed) and keywords:
        return ctx.build.leave("no keyword arguments are taken")
    if target is range or (target is prange and not keywords):
        return range_call(ctx, args, wish="" if target is range else "prange")
    if target is enumerate and args and not keywords.keys() - {"start"}:
        start = keywords.get("start", args[1] if len(args) > 1 else Scalar(index(0)))
        first = as_index(ctx.build, start)
        if first is None:
            return ctx.build.leave("an integer is required")
        return Iteration("enumerate", (args[0],), ctx.build.bounded(first))
    if target is zip and not keywords.keys() - {"strict"}:
        return _zip(ctx, args, keywords.get("strict"))
    if target in (np.ndindex, itertools.product) and not keywords:
        return _grid(ctx, target, args)
    if target is itertools.repeat:
        return _repeat(ctx, args, keywords)
    if target is reversed and len(args) == 1:
        return Iteration("reversed", (args[0],))
    return _of_one(ctx, target, args[0]) if len(args) == 1 and not keywords else None


def _of_one(ctx: Lowering, target: Any, operand: Operand) -> Operand | None:
    if target is itertools.pairwise:
        return _pairwise(ctx, operand)
    if target is np.ndenumerate:
        return _numbered_elements(ctx, operand)
    return Scalar(length(ctx, operand)) if target is len and isinstance(operand, Range) else None


def _zip(ctx: Lowering, args: list[Operand], strict: Operand | None) -> Operand | None:
    """`zip(...)`; where `strict=True` will raise, Python runs the loop."""
    if strict is None:
        return Iteration("zip", tuple(args))
    known, value = constant_of(ctx, strict)
    if not known:
        return None
    for arg in args[1:] if value else ():
        ctx.build.guard_equal(length(ctx, arg), length(ctx, args[0]), "zip() argument is shorter or longer")
    return Iteration("zip", tuple(args))


def _repeat(ctx: Lowering, args: list[Operand], keywords: dict[str, Operand]) -> Operand | None:
    """`itertools.repeat(x, n)`: one object, n times."""
    counts = args[1:] + ([keywords["times"]] if keywords.keys() == {"times"} else [])
    if len(args) not in (1, 2) or len(counts) != 1:
        return None
    times = as_index(ctx.build, counts[0])
    if times is None:
        return ctx.build.leave("an integer is required")
    return Iteration("repeat", (range_call(ctx, [Scalar(times)]), kept(ctx, args[0])))


def _pairwise(ctx: Lowering, operand: Operand) -> Operand | None:
    """`itertools.pairwise(x)`: each item with the one after it."""
    ctx.paired |= {operand.number} if isinstance(operand, Ref) else set()
    if isinstance(operand, Range | Ref | Lent | Tuple | Growing) or (
        isinstance(operand, Array) and _is_steady(ctx, operand)
    ):
        return Iteration("pairwise", (operand,))
    return None


def _is_steady(ctx: Lowering, array: Array) -> bool:
    """Whether numbers may be read when they are the first of a pair, though they were the second before."""
    return array.rank > 1 or (array.rank == 1 and note_steady(ctx, array))


def _grid(ctx: Lowering, target: Any, args: list[Operand]) -> Operand | None:
    """`np.ndindex(n, m)` and `itertools.product(range(n), range(m))`: the points in order."""
    axes = args
    if target is np.ndindex:
        only = contents(ctx, args[0]) if len(args) == 1 else None
        extents = list(only.items) if isinstance(only, Tuple) else args
        if not all(isinstance(extent, Scalar) and extent.type.dtype.kind in "iu" for extent in extents):
            return None
        axes = [_axis(ctx, extent) for extent in extents]
    if not axes or not all(isinstance(axis, Range) for axis in axes):
        return None
    return Iteration("map" if len(axes) > 1 else "zip", tuple(axes))


def _axis(ctx: Lowering, extent: Operand) -> Operand:
    """An axis of `np.ndindex`, which takes no negative extent."""
    count = as_index(ctx.build, extent)
    if count is not None:
        ctx.build.guard_nonnegative(count, "negative dimensions are not allowed")
    return range_call(ctx, [extent])


def _numbered_elements(ctx: Lowering, operand: Operand) -> Operand | None:
    """`np.ndenumerate(A)`: the points of a grid in order, each with its element."""
    if not isinstance(operand, Array) or operand.rank < 2:
        return None
    line = reshape_view(ctx.build, operand.view, (product(operand.shape),))
    if line is None:
        return None
    points = Iteration("map", tuple(range_call(ctx, [Scalar(extent)]) for extent in operand.shape))
    return Iteration("zip", (points, operand.viewed(line)))


def apply_rule(
    ctx: Lowering, node: ast.Call, entry: RuleEntry, args: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    """Bind the operands to the rule's parameters and apply it, once per alternative of a choice."""
    signature = inspect.signature(entry.lower)
    other = typed_rule(entry)
    lower, otherwise = entry.lower, other and other.lower
    try:
        signature.bind(ctx.build, *args, **keywords)
    except TypeError as problem:
        lower = otherwise
        known = ", ".join(list(signature.parameters)[1:])
        unknown = next((name for name in keywords if name not in signature.parameters), None)
        what = f"keyword '{unknown}'" if unknown else "this form"
        if lower is None and "missing a required argument" in str(problem):
            return ctx.build.leave(f"{entry.name}: {problem}")
        if lower is None:
            words = f"{what} of {entry.name} is not compiled"
            raise ctx.error(node, "E115", words, f"compiled: ({known})") from problem

    def apply(given: Operand) -> Operand:
        assert isinstance(given, Tuple)
        named = dict(zip(keywords, given.items[len(args) :], strict=True))
        return _lowered(ctx, lower, otherwise, [*given.items[: len(args)]], named)

    values = tuple(_looked_at(ctx, entry, value) for value in (*args, *keywords.values()))
    return split_all(ctx, Tuple(values), apply)


def _lowered(
    ctx: Lowering, lower: Rule, otherwise: Rule | None, args: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    """Apply a rule; what it refuses is left to the other one, if there is one."""
    if otherwise is None or lower is otherwise:
        return lower(ctx.build, *args, **keywords)
    try:
        with ctx.build.attempt():
            return lower(ctx.build, *args, **keywords)
    except CompileError as refusal:
        try:
            return otherwise(ctx.build, *args, **keywords)
        except CompileError:
            raise refusal from None


def _looked_at(ctx: Lowering, entry: RuleEntry, operand: Operand) -> Operand:
    """An operand as a rule takes it: lists without identity, those of any length as NumPy makes arrays of them."""
    plain = resolved(ctx, operand)
    if entry.name in _GIVING_ITEMS and mentions(contents(ctx, operand)):
        raise ctx.build.error("E116", f"{entry.name} of lists inside of others is not compiled", "write a loop")
    if entry.name == "ufunc.at" and isinstance(plain, Tuple):
        return plain_key(ctx, plain)
    if not isinstance(plain, Growing):
        return plain
    if entry.name == "builtins.sorted":
        return plain
    if not entry.name.startswith(("numpy.", "ndarray.", "ufunc.")):
        raise ctx.build.error("E116", f"{entry.name} of a list of any length is not compiled", "make it an array")
    return as_array(ctx, plain)


def _call_method(
    ctx: Lowering, node: ast.Call, owner: Operand, name: str, args: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    if isinstance(owner, Tuple) and owner.cls is not None and name == "_replace" and not args:
        fields = named_fields(owner.cls) or ()
        if not keywords.keys() - set(fields):
            items = zip(fields, owner.items, strict=True)
            return Tuple(tuple(keywords.get(field, item) for field, item in items), cls=owner.cls)
    families: dict[type, str] = {Array: "ndarray", Scalar: "scalar", Static: "ufunc"}
    family = families.get(type(owner), "")
    entry = rule_named(f"{family}.{name}")
    if entry is None:
        raise ctx.error(node.func, "E116", f"method '{name}' is not compiled", method_hint(name))
    return apply_rule(ctx, node, entry, [owner, *args], keywords)
