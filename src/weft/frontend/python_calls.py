"""Python's own functions on sequences: list, tuple, dict, sum, min, max, any, all, sorted.

in:   a builtin and operands, whose lists may be shared
out:  what Python gives, with the very objects that are in the lists; None where a rule is to do it
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from weft.frontend.branches import choose, split
from weft.frontend.callees import has_call
from weft.frontend.context import LoopFrame, Lowering
from weft.frontend.expressions import binary, condition
from weft.frontend.growing import copied, listed
from weft.frontend.heap import contents
from weft.frontend.inputs import static_operand
from weft.frontend.iteration import element, length
from weft.frontend.keys import plain_key
from weft.frontend.objects import constant_key, fixed_items
from weft.ir.dtypes import PY_BOOL, PY_INT, ScalarType
from weft.ir.exprs import Index, const, const_index, index
from weft.ir.nodes import Carry, Loop, Region
from weft.numpy_rules.python_functions import class_of
from weft.numpy_rules.values import (
    Array,
    Dict,
    Either,
    Function,
    Growing,
    Iteration,
    Lent,
    Method,
    Operand,
    Range,
    Ref,
    Scalar,
    Static,
    Tuple,
)

_TRUE, _FALSE = Scalar(const(True, PY_BOOL)), Scalar(const(False, PY_BOOL))
_OPERATORS: Final = {  # functions of `operator`, and what they do
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "matmul": "matmul", "and_": "bitwise_and", "or_": "bitwise_or",
    "xor": "bitwise_xor", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal",
}  # fmt: skip
_TAKING_ITEMS = (sum, min, max, any, all)


def python_call(ctx: Lowering, target: Any, args: list[Operand], keywords: dict[str, Operand]) -> Operand | None:
    """A call of a builtin; None where it is none of these."""
    if target is dict:
        return _dict(ctx, args, keywords)
    held = contents(ctx, args[0]) if args and isinstance(args[0], Ref) else None
    if target in _TAKING_ITEMS and isinstance(held, Either):
        return split(
            ctx, held, lambda item: python_call(ctx, target, [item, *args[1:]], keywords) or _not_iterable(ctx)
        )
    if target is sum and len(args) == 1 and keywords.keys() == {"start"}:
        return _sum(ctx, args[0], keywords["start"])
    if keywords or not args:
        return None
    if target is sum and len(args) <= 2:
        return _sum(ctx, args[0], args[1] if len(args) == 2 else Scalar(const_index(0)))
    if target in (min, max):
        return _extreme(ctx, "less" if target is min else "greater", args)
    name = getattr(target, "__name__", "")
    if len(args) == 2 and name in _OPERATORS and target is getattr(operator, name):
        return binary(ctx, _OPERATORS[name], *args)
    if len(args) != 1:
        return _isinstance(ctx, args) if target is isinstance else None
    return _of_one(ctx, target, args[0])


def _of_one(ctx: Lowering, target: Any, operand: Operand) -> Operand | None:
    if target in (list, tuple):
        return _sequence(ctx, operand, is_list=target is list)
    if target in (any, all):
        return _any_all(ctx, operand, is_any=target is any)
    if target is sorted:
        return _sorted(ctx, operand)
    if target is len and isinstance(operand, Ref | Lent | Growing):
        held = contents(ctx, operand)
        return Scalar(held.count) if isinstance(held, Growing) else None
    if target is callable:
        return _callable(operand)
    if target is bool and isinstance(operand, Ref | Lent | Dict):
        test = condition(ctx, operand)
        return choose(ctx, test, lambda: _TRUE, lambda: _FALSE)
    return None


def _callable(operand: Operand) -> Operand | None:
    """`callable(x)`: known from what x is."""
    match operand:
        case Function() | Method():
            return _TRUE
        case Static(value=value):
            return _TRUE if callable(value) else _FALSE
        case _:
            cls = class_of(operand)
            return None if cls is None else _TRUE if has_call(cls) else _FALSE


def _isinstance(ctx: Lowering, args: list[Operand]) -> Operand | None:
    held, classes = contents(ctx, args[0]), args[1]
    parts = classes.items if isinstance(classes, Tuple) else (classes,)
    cls = list if isinstance(held, Growing) else class_of(held)
    if not isinstance(args[0], Ref | Lent) or isinstance(held, Either) or cls is None:
        return None
    wanted = [part.value for part in parts if isinstance(part, Static) and isinstance(part.value, type)]
    return Scalar(const(any(issubclass(cls, part) for part in wanted), PY_BOOL)) if len(wanted) == len(parts) else None


def _sequence(ctx: Lowering, operand: Operand, *, is_list: bool) -> Operand | None:
    if isinstance(operand, Tuple) and operand.cls is None and not operand.is_list and not is_list:
        return operand
    held = contents(ctx, operand)
    if isinstance(held, Either):
        return split(ctx, held, lambda item: _sequence(ctx, item, is_list=is_list) or _not_iterable(ctx))
    if isinstance(held, Growing):
        if not is_list:
            raise ctx.build.error("E271", "a tuple of a list of any length is not compiled", "use the list")
        return copied(ctx, held)
    items = fixed_items(ctx, operand)
    if items is not None:
        return Tuple(items, is_list)
    if is_list and isinstance(operand, Array) and operand.rank == 1:
        return listed(ctx, operand, ScalarType(operand.dtype))
    if is_list and isinstance(operand, Range):
        line = plain_key(ctx, operand)
        assert isinstance(line, Array)
        return listed(ctx, line, PY_INT)
    return None


def _not_iterable(ctx: Lowering) -> Operand:
    raise ctx.build.error("E271", "Python would take the items one by one, which is not compiled here")


def _dict(ctx: Lowering, args: list[Operand], keywords: dict[str, Operand]) -> Operand:
    found: dict[Any, Operand] = {}
    for arg in args:
        held = contents(ctx, arg)
        if isinstance(held, Dict):
            found.update(zip(held.keys, held.items, strict=True))
            continue
        pairs = fixed_items(ctx, arg)
        if pairs is None or not all(isinstance(pair, Tuple) and len(pair.items) == 2 for pair in pairs):
            raise ctx.build.error("E147", "dict() of this is not compiled", "write the keys and values out")
        for pair in pairs:
            assert isinstance(pair, Tuple)
            found[constant_key(ctx, pair.items[0])] = pair.items[1]
    found.update(keywords)
    return Dict(tuple(found), tuple(found.values()))


def _sorted(ctx: Lowering, operand: Operand) -> Operand | None:
    items = fixed_items(ctx, operand)
    if items is None or not all(isinstance(item, Static) and isinstance(item.value, str) for item in items):
        return None
    values = sorted(item.value for item in items if isinstance(item, Static))
    return Tuple(tuple(static_operand(value) for value in values), is_list=True)


# ---- one after the other --------------------------------------------------------------------------------------------


def _sum(ctx: Lowering, iterable: Operand, start: Operand) -> Operand:
    """A sum like any other. Python from 3.12 on keeps what rounding loses in one of floats: nearer to the true sum."""
    if isinstance(start, Static) and isinstance(start.value, str):
        return ctx.build.leave("sum() can't sum strings")
    items = fixed_items(ctx, iterable)
    if items is None:
        return _fold(ctx, iterable, start, lambda total, item: binary(ctx, "add", total, item))
    total = start
    for item in items:
        total = binary(ctx, "add", total, item)
    return total


def _extreme(ctx: Lowering, comparison: str, args: list[Operand]) -> Operand:
    """One of the operands or items, the first among equals, whatever their types."""

    def better(best: Operand, item: Operand) -> Operand:
        test = condition(ctx, binary(ctx, comparison, item, best))
        return choose(ctx, test, lambda: item, lambda: best)

    items = tuple(args) if len(args) > 1 else fixed_items(ctx, args[0])
    if items is None:
        count = length(ctx, args[0])
        ctx.build.guard_nonnegative(count - 1, "min() or max() of nothing")
        return _fold(ctx, args[0], element(ctx, args[0], const_index(0)), better, first=const_index(1))
    if not items:
        return ctx.build.leave("min() or max() of nothing")
    best = items[0]
    for item in items[1:]:
        best = better(best, item)
    return best


def _any_all(ctx: Lowering, iterable: Operand, *, is_any: bool) -> Operand:
    """The items are asked in order until one decides; asking a number changes nothing, so all may be asked."""

    def ask(known: Operand, item: Operand) -> Operand:
        held = contents(ctx, item)
        if isinstance(held, Array) and held.rank:
            raise ctx.build.error("E271", "the truth of an array is not asked here", "use np.any or np.all")
        test = condition(ctx, item)
        if is_any:
            return choose(ctx, test, lambda: _TRUE, lambda: known)
        return choose(ctx, test, lambda: known, lambda: _FALSE)

    start = _FALSE if is_any else _TRUE
    items = fixed_items(ctx, iterable)
    if items is None:
        return _fold(ctx, iterable, start, ask)
    result: Operand = start
    for item in items:
        result = ask(result, item)
    return result


def _fold(
    ctx: Lowering,
    iterable: Operand,
    start: Operand,
    step: Callable[[Operand, Operand], Operand],
    first: Index | None = None,
) -> Operand:
    """The items of an array or range taken in one after the other."""
    from weft.frontend.loops import lower_carried

    held = contents(ctx, iterable)
    if not isinstance(held, Array | Range | Iteration | Growing) or (isinstance(held, Array) and not held.rank):
        raise ctx.build.error("E271", "Python would take the items one by one, which is not compiled here")
    ctx.objects += 1
    key = f"@fold{ctx.objects}"
    ctx.env[key] = start
    build = ctx.build
    build.use_site()
    begin, count = first or const_index(0), length(ctx, iterable)
    var = build.loop_variable("k", begin, count)

    def body() -> bool:
        ctx.env[key] = step(ctx.env[key], element(ctx, iterable, index(var)))
        return True

    def make(carries: tuple[Carry, ...], region: Region) -> None:
        build.emit(
            Loop(
                var=var, start=begin, stop=count, step=const_index(1), carries=carries, body=region,
                id=build.new_id(), span=build.span,
            )
        )  # fmt: skip

    live = ctx.activation.before[ctx.activation.path]
    lower_carried(ctx, [key], body, make, LoopFrame({}, ctx.activation, live=live))
    return ctx.env.pop(key)
