"""If statements: two arms, and what names are where they meet.

in:   a condition and two blocks
out:  a Branch node whose results are what differs

before:  if c: items.append(x)              items: @L7, three items long or four
after:   a buffer before the branch; its count is 3 or 4 below

Lists of several lengths, or kinds of items, that have no common form otherwise are put into a buffer, which is done
before the statement: at the end of an arm there would be no statement that Python could go on with.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from weft.frontend.branches import emit_branch, join_all, split
from weft.frontend.context import Lowering
from weft.frontend.expressions import condition, lower_expression
from weft.frontend.growing import common_kind, in_buffer
from weft.frontend.heap import by_value, counted, mentions, rebound, reconcile
from weft.frontend.joins import Template
from weft.frontend.liveness import Names
from weft.frontend.mixed import has_kinds
from weft.frontend.rows import item_kind
from weft.frontend.statements import lower_block, restore_state, saved_state
from weft.ir.exprs import Const, Expr
from weft.numpy_rules.guards import Scope
from weft.numpy_rules.scalars import negate
from weft.numpy_rules.values import Array, Either, Growing, Operand, Tuple, Unbound
from weft.support.errors import CompileError
from weft.support.spans import Span

Path = tuple[int, ...]


class BetterBefore(CompileError):  # noqa: N818  (a request to start again, unless nobody can)
    """A list must be in a buffer for items like `kind` before the arms, to have one form after them."""

    def __init__(self, ctx: Lowering, name: str, kind: Operand) -> None:
        span = ctx.build.span or Span("<unknown>", 0, 0, 0, "")
        super().__init__("E231", "a list has too many different lengths or types here", span, "use an array")
        self.name, self.kind = name, kind


def lower_if(ctx: Lowering, node: ast.If, path: Path) -> bool:
    """An if statement; gives whether what follows it is reached."""
    state = saved_state(ctx)
    wanted: dict[str, Operand] = {}
    while True:
        try:
            return _lower_if(ctx, node, path, wanted)
        except BetterBefore as problem:
            known = wanted.get(problem.name)
            is_new = known is None or item_kind(known) != item_kind(problem.kind)
            if not is_new or not _is_list(state.env.get(problem.name)):
                raise
            wanted[problem.name] = problem.kind
        restore_state(ctx, state)


def _lower_if(ctx: Lowering, node: ast.If, path: Path, wanted: dict[str, Operand]) -> bool:
    with ctx.statement(node, path):
        for name, kind in wanted.items():
            ctx.env[name] = split(
                ctx, _inner_lists(ctx, path, name), lambda held, kind=kind: in_buffer(ctx, held, kind)
            )
        test = condition(ctx, lower_expression(ctx, node.test))
    if isinstance(test, Const):
        number = 0 if test.value else 1
        return lower_block(ctx, node.body if test.value else node.orelse, (*path, number))
    with ctx.at(node):
        return lower_if_arms(
            ctx,
            test,
            lambda: lower_block(ctx, node.body, (*path, 0)),
            lambda: lower_block(ctx, node.orelse, (*path, 1)),
            ctx.activation.after[path],
        )


def _inner_lists(ctx: Lowering, path: Path, name: str) -> Operand:
    """A list with the lists in it that nobody else refers to as values."""
    held, activation = ctx.env[name], ctx.activation
    if not mentions(held):
        return held
    used = counted(ctx, activation, ctx.env, activation.before[path] | activation.after[path])
    return by_value(ctx, ctx.env, used, (), held)


def lower_if_arms(ctx: Lowering, test: Expr, then: Callable[[], bool], orelse: Callable[[], bool], live: Names) -> bool:
    """Two arms with their environments joined where both, or one, get to the end."""
    build, activation = ctx.build, ctx.activation
    before = dict(activation.env)
    scopes: list[Scope] = []
    envs: list[dict[str, Operand] | None] = []
    for arm, known in ((then, test), (orelse, negate(test))):
        activation.env = dict(before)
        with build.region() as scope:
            scope.conditions.add(known)
            ctx.arms += 1
            falls = arm()
            ctx.arms -= 1
        scopes.append(scope)
        envs.append(activation.env if falls else None)
    reached = [env for env in envs if env is not None]
    reconcile(ctx, before, reached, live)
    if not reached:
        emit_branch(ctx, test, (scopes[0], scopes[1]), {}, (None, None))
        return False
    changed = _changed(before, reached, live)
    templates: dict[str, Template] = {name: _joined(ctx, scopes, envs, name, before) for name in changed}
    filled = [None if env is None else {name: env.get(name, Unbound()) for name in changed} for env in envs]
    below = emit_branch(ctx, test, (scopes[0], scopes[1]), templates, (filled[0], filled[1]))
    activation.env = {name: operand for name, operand in before.items() if _keeps(name, reached)}
    activation.env.update(rebound(ctx, below))
    return True


def _is_list(operand: Operand | None) -> bool:
    match operand:
        case Growing() | Tuple(is_list=True, slot=-1):
            return True
        case Either(items=items):
            return all(map(_is_list, items))
        case _:
            return False


def _joined(
    ctx: Lowering, scopes: list[Scope], envs: list[dict[str, Operand] | None], name: str, before: dict[str, Operand]
) -> Template:
    """What a name is below the arms; a list of too many lengths, or of several kinds of items, is put into a buffer."""
    arms = [(scope, env) for scope, env in zip(scopes, envs, strict=True) if env is not None]
    operands = [env.get(name, Unbound()) for _, env in arms]
    was_list = _is_list(before.get(name))
    kind = common_kind(operands) if was_list and any(map(has_kinds, operands)) else None
    try:
        if kind is None:
            return join_all(ctx, operands, name)
    except CompileError:
        kind = common_kind(operands)
        if kind is None or (not was_list and (has_kinds(kind) or ctx.build.site is None)):
            raise
    if was_list:
        raise BetterBefore(ctx, name, kind)
    for scope, env in arms:  # made in the arms
        with ctx.build.reopened(scope):
            env[name] = split(ctx, env[name], lambda held: in_buffer(ctx, held, kind))
    return join_all(ctx, [env[name] for _, env in arms], name)


def _changed(before: dict[str, Operand], reached: list[dict[str, Operand]], live: Names) -> list[str]:
    names = {name for env in reached for name in env}
    return sorted(
        name
        for name in names
        if (name in live or name.startswith("@"))
        and any(_differ(env.get(name, Unbound()), before.get(name, Unbound())) for env in reached)
    )


def _differ(left: Operand, right: Operand) -> bool:
    """A view of all of an array has its elements, but is another object."""
    return left != right or (isinstance(left, Array) and left is not right)


def _keeps(name: str, reached: list[dict[str, Operand]]) -> bool:
    return all(env.get(name) == reached[0].get(name) for env in reached)
