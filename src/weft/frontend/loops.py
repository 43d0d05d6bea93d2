"""`for` and `while`: which names a loop carries, and the loop node.

A name the body binds and something later reads is carried. Its template is found by lowering the body on trial: as long
as an iteration ends with something the template does not cover, the template grows and the body is lowered again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from weft.frontend.branches import emit_branch, refuse_shared_lists
from weft.frontend.context import LoopFrame, Lowering
from weft.frontend.expressions import condition, lower_expression
from weft.frontend.iteration import element, length, remaining
from weft.frontend.joins import CannotJoin, PassArray, PassChoice, PassTuple, Same, Template, merge, passed, same_form
from weft.frontend.joins import targets as join_targets
from weft.frontend.names import stored_names
from weft.frontend.statements import assign, lower_block, lower_if_arms, unreachable
from weft.ir.dtypes import PY_BOOL, PY_INT
from weft.ir.exprs import Const, Expr, Index, Value, const, const_index, index
from weft.ir.nodes import Break, Bundle, Carry, Continue, Loop, Region, View, While
from weft.numpy_rules.scalars import negate
from weft.numpy_rules.values import Iteration, Mapping, Never, Operand, Range, Scalar, Static, Tuple, Unbound

ZERO, ONE = const_index(0), const_index(1)
_MAX_TRIALS = 8
_Make: TypeAlias = Callable[[tuple[Carry, ...], Region], None]


def lower_for(ctx: Lowering, node: ast.For, path: tuple[int, ...]) -> bool:
    """A for loop; gives whether what follows it is reached."""
    with ctx.statement(node, path):
        iterable = lower_expression(ctx, node.iter)
        if isinstance(iterable, Never):
            return unreachable(ctx)
        if isinstance(iterable, Mapping):
            iterable = Tuple(tuple(Static(key) for key in iterable.keys))
        if isinstance(iterable, Iteration) and iterable.kind == "view":
            (iterable,) = iterable.items
        if isinstance(iterable, Tuple):
            return _unrolled(ctx, node, path, iterable)
        ctx.build.use_site()  # checks of the body may move in front of the loop, and leave from there
        if isinstance(iterable, Iteration) and iterable.kind == "map":
            return _boxed(ctx, node, path, iterable)
        return _counted(ctx, node, path, iterable)


def _counted(ctx: Lowering, node: ast.For, path: tuple[int, ...], iterable: Operand) -> bool:
    build = ctx.build
    plain = iterable if isinstance(iterable, Range) else None
    start, stop, step = (plain.start, plain.stop, plain.step) if plain else (ZERO, length(ctx, iterable), ONE)
    name = node.target.id if isinstance(node.target, ast.Name) else "k"
    var = _loop_variable(ctx, name if plain else "k", start, stop, step)

    def body() -> bool:
        position = index(var)
        item: Operand = Scalar(position) if plain else element(ctx, iterable, position)
        after = _rest(ctx, iterable, plain, position)
        ctx.activation.rests.append(after)
        assign(ctx, node.target, item)
        falls = lower_block(ctx, node.body, (*path, 0))
        ctx.activation.rests.pop()
        return falls

    def make(carries: tuple[Carry, ...], region: Region) -> None:
        wish = plain.wish if plain else ""
        loop = Loop(
            var=var, start=start, stop=stop, step=step, carries=carries, body=region, wish=wish,
            id=build.new_id(), span=build.span,
        )  # fmt: skip
        build.emit(loop)

    return _carry(ctx, node, path, body, make, endless=False)


def _boxed(ctx: Lowering, node: ast.For, path: tuple[int, ...], iterable: Iteration) -> bool:
    """`weft.map` over several ranges: a loop in a loop, and one statement all the same."""
    ranges = [part for part in iterable.items if isinstance(part, Range)]
    counts = [length(ctx, part) for part in ranges]
    targets = node.target.elts if isinstance(node.target, ast.Tuple) else []
    names = [target.id if isinstance(target, ast.Name) else "k" for target in targets]
    names += ["k"] * (len(ranges) - len(names))

    def level(turns: tuple[Index, ...], carried: list[str]) -> tuple[Callable[[], bool], _Make]:
        number = len(turns)
        part, count = ranges[number], counts[number]
        steps = part.step.constant
        bounds = (part.start, part.stop, part.step) if steps in (1, -1) else (ZERO, count, ONE)
        var = _loop_variable(ctx, names[number], *bounds)
        turn = (index(var) - part.start) * (steps or 1) if steps in (1, -1) else index(var)
        here = (*turns, turn)

        def body() -> bool:
            if number < len(ranges) - 1:
                inner, make = level(here, carried)
                lower_carried(ctx, carried, inner, make, whole=ctx.loops[-1].whole or ctx.loops[-1])
                return True
            return _at_point(ctx, node, path, iterable, here, counts)

        def make(carries: tuple[Carry, ...], region: Region) -> None:
            loop = Loop(
                var=var, start=bounds[0], stop=bounds[1], step=bounds[2], carries=carries, body=region,
                wish=part.wish, id=ctx.build.new_id(), span=ctx.build.span,
            )  # fmt: skip
            ctx.build.emit(loop)

        return body, make

    carried = _carried_names(ctx, node, path)
    return _carry(ctx, node, path, *level((), carried), endless=False)


def _at_point(
    ctx: Lowering, node: ast.For, path: tuple[int, ...], box: Iteration, turns: Sequence[Index], counts: Sequence[Index]
) -> bool:
    """The body of the statement at a point of the box."""
    position = ZERO
    for turn, count in zip(turns, counts, strict=True):
        position = position * count + turn
    items = tuple(element(ctx, part, turn) for part, turn in zip(box.items, turns, strict=True))
    ctx.activation.rests.append(lambda: remaining(ctx, box, position))
    assign(ctx, node.target, Tuple(items))
    falls = lower_block(ctx, node.body, (*path, 0))
    ctx.activation.rests.pop()
    return falls


def _rest(ctx: Lowering, iterable: Operand, plain: Range | None, position: Index) -> Callable[[], Bundle]:
    if plain is None:
        return lambda: remaining(ctx, iterable, position)
    ahead = Range(position, plain.stop, plain.step)
    return lambda: remaining(ctx, ahead, ZERO)


def _loop_variable(ctx: Lowering, name: str, start: Index, stop: Index, step: Index) -> Value:
    """The variable with its bounds: inside the body it lies between the ends of the range."""
    known = step.constant
    if known is None:
        return ctx.build.value(name, PY_INT)
    if known > 0:
        return Value(ctx.build.new_id(), name, PY_INT, None, None, start, stop - 1)
    return Value(ctx.build.new_id(), name, PY_INT, None, None, stop + 1, start)


def _unrolled(ctx: Lowering, node: ast.For, path: tuple[int, ...], iterable: Tuple) -> bool:
    """A loop over a tuple: one copy of the body per item."""
    if any(isinstance(inner, ast.Break | ast.Continue) for stmt in node.body for inner in ast.walk(stmt)):
        raise ctx.error(node, "E121", "break and continue in a loop over a tuple are not compiled", "loop over a range")
    for number, item in enumerate(iterable.items):
        assign(ctx, node.target, item)
        ctx.activation.rests.append(lambda n=number: remaining(ctx, iterable, const_index(n)))
        falls = lower_block(ctx, node.body, (*path, 0))
        ctx.activation.rests.pop()
        if not falls:
            return False
    return lower_block(ctx, node.orelse, (*path, 1))


def lower_while(ctx: Lowering, node: ast.While, path: tuple[int, ...]) -> bool:
    """A while loop; gives whether what follows it is reached."""
    build = ctx.build
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)

    def body() -> bool:
        ctx.activation.depth = len(build.scopes)
        with ctx.statement(node, path):
            test = condition(ctx, lower_expression(ctx, node.test))
        if isinstance(test, Const) and test.value:
            return lower_block(ctx, node.body, (*path, 0))
        saved = dict(ctx.env)

        leave_if(ctx, negate(test), lambda: emit_exit(ctx, ctx.loops[-1], is_break=True))
        ctx.activation.env = saved
        return lower_block(ctx, node.body, (*path, 0))

    def make(carries: tuple[Carry, ...], region: Region) -> None:
        build.emit(While(carries=carries, body=region, id=build.new_id(), span=build.span))

    depth = ctx.activation.depth
    with ctx.statement(node, path):
        build.use_site()
        reached = _carry(ctx, node, path, body, make, endless=endless)
    ctx.activation.depth = depth
    return reached


def leave_if(ctx: Lowering, test: Expr, leave: Callable[[], None]) -> None:
    """A Branch whose first arm leaves."""
    with ctx.build.region() as left:
        leave()
    with ctx.build.region() as right:
        pass
    emit_branch(ctx, test, (left, right), {}, (None, {}))
    ctx.build.scope.conditions.add(negate(test))


def _carry(
    ctx: Lowering,
    node: ast.For | ast.While,
    path: tuple[int, ...],
    body: Callable[[], bool],
    make: _Make,
    *,
    endless: bool,
) -> bool:
    """Lower the loop, and what comes right after it: the else block."""
    flag = f"@broke{len(ctx.loops)}" if node.orelse else ""
    if flag:
        ctx.env[flag] = Scalar(const(False, PY_BOOL))
    names = _carried_names(ctx, node, path)
    frame = lower_carried(ctx, names, body, make, flag=flag)
    for name in stored_names(node) - set(names):
        ctx.env.pop(name, None)
    left = bool(frame.breaks) or not endless
    if not left:
        return False
    if not node.orelse:
        return True
    return _else(ctx, node, path, flag)


def _carried_names(ctx: Lowering, node: ast.For | ast.While, path: tuple[int, ...]) -> list[str]:
    """The names a loop binds that something reads before or after, and all attributes."""
    live = ctx.activation.before[path] | ctx.activation.after[path]
    names = sorted(stored_names(node) & live)
    return names + sorted(key for key in ctx.env if key.startswith("@"))


def _else(ctx: Lowering, node: ast.For | ast.While, path: tuple[int, ...], flag: str) -> bool:
    """The else block runs unless a break left the loop."""
    broke = ctx.env.pop(flag)
    assert isinstance(broke, Scalar)
    test = negate(condition(ctx, broke))
    if isinstance(test, Const):
        return lower_block(ctx, node.orelse, (*path, 1)) if test.value else True
    return lower_if_arms(
        ctx, test, lambda: lower_block(ctx, node.orelse, (*path, 1)), lambda: True, ctx.activation.after[path]
    )


def lower_carried(
    ctx: Lowering,
    names: list[str],
    body: Callable[[], bool],
    make: _Make,
    *,
    is_call: bool = False,
    flag: str = "",
    whole: LoopFrame | None = None,
) -> LoopFrame:
    """Emit a loop that carries `names`; afterwards the environment holds what they are below it."""
    build, activation = ctx.build, ctx.activation
    before = dict(ctx.env)
    init = {name: before.get(name, Unbound()) for name in names}
    templates: dict[str, Template] = {name: Same(operand) for name, operand in init.items()}
    for _ in range(_MAX_TRIALS):
        frame = LoopFrame(templates, activation, is_call, flag, whole)
        heads: dict[str, Operand] = {}
        made: dict[str, list[Value | str]] = {}
        for name, template in templates.items():
            heads[name], made[name] = join_targets(build, template, name.lstrip("@").replace(".", "_"))
        activation.env = {**before, **heads}
        ctx.loops.append(frame)
        rests = list(activation.rests)
        with build.region() as scope:
            falls = body()
            if falls and not is_call:
                emit_exit(ctx, frame, is_break=False)
        ctx.loops.pop()
        activation.rests = rests
        grown = _grown(ctx, templates, frame.exits)
        if all(same_form(templates[name], grown[name]) for name in names):
            for env in (before, *frame.exits):
                refuse_shared_lists(ctx, grown, {**before, **env})
            _bind_sources(ctx, grown, made)
            carries = _carries(ctx, templates, made, init)
            activation.env = {**before, **heads}
            make(carries, build.close(scope))
            return frame
        templates = grown
    raise build.error("E122", "the types in this loop do not settle", "give the names of the loop one type each")


def _grown(ctx: Lowering, templates: dict[str, Template], exits: list[dict[str, Operand]]) -> dict[str, Template]:
    grown = dict(templates)
    for env in exits:
        for name, template in grown.items():
            try:
                grown[name] = merge(ctx.build, template, env.get(name, Unbound()))
            except CannotJoin:
                raise ctx.build.error(
                    "E231", f"'{name}' has too many different types in this loop", "use one name per type"
                ) from None
    return grown


def _bind_sources(ctx: Lowering, templates: dict[str, Template], made: dict[str, list[Value | str]]) -> None:
    """Tell every REF which containers it may be bound to, now that all are known."""
    for name, template in templates.items():
        refs = [target for target in made[name] if isinstance(target, str)]
        for ref, sources in zip(refs, _array_sources(template), strict=True):
            known = [source for source in sources if source in ctx.build.ledger.containers and source != ref]
            container = ctx.build.container(ref)
            written = container.written or any(ctx.build.container(source).written for source in known)
            ctx.build.ledger.containers[ref] = replace(container, may_alias=tuple(known), written=written)
            if container.written:
                for source in known:
                    was_dirty = ctx.build.dirty
                    ctx.build.mark_written(source)
                    ctx.build.dirty = was_dirty


def _array_sources(template: Template) -> list[tuple[str, ...]]:
    match template:
        case PassArray(sources=sources):
            return [sources]
        case PassTuple(items=items) | PassChoice(items=items):
            return [sources for item in items for sources in _array_sources(item)]
        case _:
            return []


def _carries(
    ctx: Lowering, templates: dict[str, Template], made: dict[str, list[Value | str]], init: dict[str, Operand]
) -> tuple[Carry, ...]:
    carries: list[Carry] = []
    for name, template in templates.items():
        leaves = passed(ctx.build, template, init[name])
        carries += [Carry(target, leaf) for target, leaf in zip(made[name], leaves, strict=True)]
    return tuple(carries)


def emit_exit(ctx: Lowering, frame: LoopFrame, *, is_break: bool) -> None:
    """A Continue of, or a Break to, one of the loops that are open."""
    env = frame.activation.env
    frame.exits.append({name: env.get(name, Unbound()) for name in frame.carried})
    leaves: list[Expr | View] = []
    for name, template in frame.carried.items():
        with suppress(CannotJoin):  # the template has to grow: this lowering is a trial
            leaves += passed(ctx.build, template, env.get(name, Unbound()))
    if is_break:
        frame.breaks += 1
        depth = len(ctx.loops) - 1 - ctx.loops.index(frame)
        ctx.build.emit(Break(tuple(leaves), depth))
    else:
        ctx.build.emit(Continue(tuple(leaves)))


def python_loop(ctx: Lowering) -> LoopFrame:
    """The innermost loop of the program's own text."""
    return next(frame for frame in reversed(ctx.loops) if not frame.is_call)


def lower_break(ctx: Lowering) -> bool:
    """A break statement."""
    frame = python_loop(ctx)
    frame = frame.whole or frame
    if frame.flag:
        ctx.env[frame.flag] = Scalar(const(True, PY_BOOL))
    emit_exit(ctx, frame, is_break=True)
    return False


def lower_continue(ctx: Lowering) -> bool:
    """A continue statement."""
    emit_exit(ctx, python_loop(ctx), is_break=False)
    return False
