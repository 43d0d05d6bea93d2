"""Joins in the graph: branches of statements and of expressions, and operations on choices.

in:   a condition and two things to lower, or a choice and what to do with each alternative
out:  a Branch node, with whatever differs between the arms passed through its results
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from weft.analysis.conditions import as_index
from weft.analysis.ranges import INT64_MAX, INT64_MIN, index_bounds
from weft.frontend.context import Lowering
from weft.frontend.heap import is_object
from weft.frontend.joins import CannotJoin, Same, Template, merge, passed, settle, targets
from weft.ir.dtypes import NP_BOOL, PY_INT
from weft.ir.exprs import Const, Expr, Index, Op, Value, const_index, index, op
from weft.ir.nodes import Branch, Region, View, Yield
from weft.numpy_rules.guards import Scope
from weft.numpy_rules.scalars import negate
from weft.numpy_rules.values import Array, Either, Never, Operand, Scalar, Unbound
from weft.support.errors import CompileError

Thunk = Callable[[], Operand]
_ORDERS: Final = {"less": False, "less_equal": False, "greater": True, "greater_equal": True}


def choose(ctx: Lowering, condition: Expr, then: Thunk, orelse: Thunk, name: str = "t") -> Operand:
    """`then() if condition else orelse()`; a select where both are plain scalars of one type."""
    if isinstance(condition, Const):
        return then() if condition.value else orelse()
    build = ctx.build
    dirty = build.dirty
    with build.region() as left:
        build.scope.conditions.add(condition)
        first = then()
    build.dirty, dirty = dirty, build.dirty  # what one arm writes is no concern of the other
    with build.region() as right:
        build.scope.conditions.add(negate(condition))
        second = orelse()
    build.dirty |= dirty
    if not left.nodes and not right.nodes:
        picked = _select(ctx, condition, first, second)
        if picked is not None:
            return picked
    template = join_all(ctx, (first, second), name)
    return emit_branch(ctx, condition, (left, right), {name: template}, ({name: first}, {name: second}))[name]


def _select(ctx: Lowering, condition: Expr, first: Operand, second: Operand) -> Operand | None:
    if first is second or (first == second and not isinstance(first, Array)):
        return first
    if not (isinstance(first, Scalar) and isinstance(second, Scalar)) or first.type != second.type:
        return None
    expr = op("select", (condition, first.expr, second.expr), first.type)
    if first.type != PY_INT:
        return Scalar(ctx.build.let(expr, "s"))
    low, high = _chosen_bounds(condition, first.expr, second.expr)
    return Scalar(ctx.build.let_index(expr, "s", low=low, high=high))


def _chosen_bounds(condition: Expr, first: Expr, second: Expr) -> tuple[int | None, int | None]:
    """The bounds of one of two ints; of the smaller or the larger, `a if a < b else b`, they are tighter."""
    left, right = as_index(first), as_index(second)
    if left is None or right is None:
        return None, None
    lows, highs = zip(index_bounds(left), index_bounds(right), strict=True)
    low, high = min(lows), max(highs)
    match condition.args[0] if isinstance(condition, Op) and condition.name == "cast" else condition:
        case Op(name=name, args=(a, b)) if name in _ORDERS and {as_index(a), as_index(b)} == {left, right}:
            is_larger = _ORDERS[name] == (as_index(a) == left)
            low, high = (max(lows), high) if is_larger else (low, min(highs))
        case _:
            pass
    return low if low > INT64_MIN else None, high if high < INT64_MAX else None


def join_all(ctx: Lowering, operands: Iterable[Operand], name: str) -> Template:
    """The template for operands that live inside regions."""
    template: Template | None = None
    for operand in operands:
        if isinstance(operand, Never):
            continue
        try:
            template = settle(ctx.build, operand) if template is None else merge(ctx.build, template, operand)
        except CannotJoin:
            raise too_many_types(ctx, name) from None
    return Same(Never()) if template is None else template


def too_many_types(ctx: Lowering, name: str) -> CompileError:
    """A name, or a list, is not the same kind of thing on all paths."""
    if is_object(name):
        return ctx.build.error("E231", "a list has too many different lengths or types here", "use an array")
    shown = f"'{name}'" if name.isidentifier() else "this value"
    return ctx.build.error("E231", f"{shown} has too many different types here", "use one name per type")


def emit_branch(
    ctx: Lowering,
    condition: Expr,
    scopes: tuple[Scope, Scope],
    templates: dict[str, Template],
    arms: tuple[dict[str, Operand] | None, dict[str, Operand] | None],
) -> dict[str, Operand]:
    """The Branch node; `arms` are the operands at the end of each arm, None for one that does not get there."""
    build = ctx.build
    results: list[Value | str] = []
    below: dict[str, Operand] = {}
    for name, template in templates.items():
        operand, made = targets(build, template, name)
        below[name] = operand
        results += made
    regions: list[Region] = []
    for scope, arm in zip(scopes, arms, strict=True):
        if arm is not None:
            leaves: list[Expr | View] = []
            for name, template in templates.items():
                try:
                    leaves += passed(build, template, arm[name])
                except CannotJoin:
                    raise too_many_types(ctx, name) from None
            scope.nodes.append(Yield(tuple(leaves)))
        regions.append(build.close(scope))
    then, orelse = regions
    if results or len(then.nodes) > 1 or len(orelse.nodes) > 1 or None in arms:
        build.emit(
            Branch(
                condition=condition,
                then=then,
                orelse=orelse,
                results=tuple(results),
                id=build.new_id(),
                span=build.span,
            )
        )
    return below


def split(ctx: Lowering, operand: Operand, then: Callable[[Operand], Operand]) -> Operand:
    """`then(operand)`, done for every alternative of a choice.

    An alternative that cannot be compiled leaves the program at run time: only if it is really met does Python go on.
    """
    if not isinstance(operand, Either):
        return then(operand)
    return _split_from(ctx, operand, 0, then)


def _split_from(ctx: Lowering, either: Either, number: int, then: Callable[[Operand], Operand]) -> Operand:
    if number == len(either.items) - 1:
        return _attempt(ctx, either.items[number], then)
    condition = op("equal", (either.tag, const_index(number)), NP_BOOL)
    return choose(
        ctx,
        condition,
        lambda: _attempt(ctx, either.items[number], then),
        lambda: _split_from(ctx, either, number + 1, then),
    )


def _attempt(ctx: Lowering, item: Operand, then: Callable[[Operand], Operand]) -> Operand:
    if isinstance(item, Unbound):
        return ctx.build.leave("a name has no value")
    try:
        return then(item)
    except CompileError as failure:
        return ctx.build.leave(failure.message)


def bound(ctx: Lowering, operand: Operand) -> Operand:
    """A choice without its unbound alternative, which a guard excludes."""
    if not isinstance(operand, Either) or not any(isinstance(item, Unbound) for item in operand.items):
        return operand
    missing = next(number for number, item in enumerate(operand.items) if isinstance(item, Unbound))
    ctx.build.guard(op("not_equal", (operand.tag, const_index(missing)), NP_BOOL), "a name has no value")
    rest = [(number, item) for number, item in enumerate(operand.items) if number != missing]
    if len(rest) == 1:
        return rest[0][1]
    tag: Expr = operand.tag
    shifted = op("select", (op("greater", (tag, const_index(missing)), NP_BOOL), _less_one(tag), tag), PY_INT)
    return Either(ctx.build.let(shifted, "tag"), tuple(item for _, item in rest))


def _less_one(tag: Expr) -> Index:
    assert isinstance(tag, Index | Value)
    return index(tag) - 1
