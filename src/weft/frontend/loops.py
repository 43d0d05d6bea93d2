"""`for` and `while`: which names a loop carries, and the loop node.

A name the body binds and something later reads is carried. Its template is found by lowering the body on trial: as long
as an iteration ends with something the template does not cover, the template grows and the body is lowered again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from weft.frontend.alike import are_alike
from weft.frontend.bodies import holds_loops, is_long_loop, is_much_to_copy, shifts_slices
from weft.frontend.branches import emit_branch, too_many_types
from weft.frontend.comprehensions import TEMPORARY
from weft.frontend.conditionals import lower_if_arms
from weft.frontend.context import LoopFrame, Lowering
from weft.frontend.expressions import condition, lower_expression
from weft.frontend.growing import common_kind, in_buffer
from weft.frontend.heap import agreed, by_value, counted, is_object, mentions, number_of, rebound, references
from weft.frontend.iteration import element, length, remaining
from weft.frontend.joins import (
    CannotJoin,
    Same,
    Template,
    array_sources,
    covered,
    merge,
    passed,
    same_form,
)
from weft.frontend.joins import targets as join_targets
from weft.frontend.names import stored_names
from weft.frontend.objects import fixed_items
from weft.frontend.paying import turning
from weft.frontend.settling import Settled, Trial, first_templates, last_time, next_place
from weft.frontend.statements import assign, lower_block, restore_state, saved_state, unreachable
from weft.frontend.texts import ask_for_texts
from weft.frontend.turns import argument_of_few_turns, loop_variable
from weft.frontend.unrolling import unrolled
from weft.ir.dtypes import PY_BOOL
from weft.ir.exprs import Const, Expr, Index, Value, const, const_index, index
from weft.ir.nodes import Break, Bundle, Carry, Continue, Loop, Region, View, While
from weft.numpy_rules.builder import NeedStatic
from weft.numpy_rules.scalars import negate
from weft.numpy_rules.values import Growing, Iteration, Never, Operand, Range, Scalar, Tuple, Unbound
from weft.support.errors import CompileError

ZERO, ONE = const_index(0), const_index(1)
_MAX_TRIALS = 8
MANY_ITEMS = 3  # copies of a loop that are too many
MAX_LISTED = 16  # items of a comprehension over a range that are written out
MAX_NESTS = 16  # copies of a body with loops, of which each takes as long to compile as many statements
MAX_SHIFTS = 25  # copies of a body that shifts slices: a stencil of five by five
# What a loop over a short range may need constants for: axes, indices of lists, lists that grow, names of many types.
_WRITTEN_OUT = ("E109", "E110", "E120", "E122", "E144", "E145", "E148", "E149", "E230", "E231")
_Make: TypeAlias = Callable[[tuple[Carry, ...], Region], None]


def lower_for(ctx: Lowering, node: ast.For, path: tuple[int, ...]) -> bool:
    """A for loop; gives whether what follows it is reached."""
    with ctx.statement(node, path):
        iterable = lower_expression(ctx, node.iter)
        if isinstance(iterable, Never):
            return unreachable(ctx)
        ask_for_texts(ctx, iterable)
        items = fixed_items(ctx, iterable, ranges=False)
        if items is not None:
            few = len(items) < MANY_ITEMS or not are_alike(items) or not any(map(is_long_loop, ast.walk(node)))
            return unrolled(ctx, node, path, iterable) if few else _chosen_or_unrolled(ctx, node, path, iterable)
        if mentions(iterable):
            return _over_lists(ctx, node, path, iterable)
        ctx.build.use_site()  # checks of the body may move in front of the loop, and leave from there
        if isinstance(iterable, Iteration) and iterable.kind == "map":
            return _boxed(ctx, node, path, iterable)
        if fixed_items(ctx, iterable) is not None:
            return _counted_or_unrolled(ctx, node, path, iterable)
        return _counted_or_known(ctx, node, path, iterable)


def _over_lists(ctx: Lowering, node: ast.For, path: tuple[int, ...], iterable: Operand) -> bool:
    """A loop over lists of any length: they are held, and must not change meanwhile."""
    ctx.build.use_site()
    hidden, locked = f"@over{'_'.join(map(str, path))}", len(ctx.locked)
    ctx.env[hidden] = iterable
    ctx.locked += references(ctx.env, (iterable,))
    try:
        reached = _counted(ctx, node, path, iterable)
    finally:
        del ctx.locked[locked:]
    ctx.env.pop(hidden, None)
    return reached


def _chosen_or_unrolled(ctx: Lowering, node: ast.For, path: tuple[int, ...], iterable: Operand) -> bool:
    """A loop around others over some numbers: one body for all of them, where it can be compiled so."""
    state = saved_state(ctx)
    ctx.short_loops += 1
    try:
        if mentions(iterable):
            return _over_lists(ctx, node, path, iterable)
        ctx.build.use_site()
        return _counted(ctx, node, path, iterable)
    except CompileError:
        pass  # something in there must know which number it is
    finally:
        ctx.short_loops -= 1
    restore_state(ctx, state)
    return unrolled(ctx, node, path, iterable)


def _counted_or_known(ctx: Lowering, node: ast.For, path: tuple[int, ...], iterable: Operand) -> bool:
    """A loop over a range: if its body must know the turn, and arguments say that there are few, these are known."""
    try:
        return _counted(ctx, node, path, iterable)
    except CompileError as problem:
        most = MAX_LISTED if not is_much_to_copy(node, MAX_LISTED) else MANY_ITEMS
        slot = argument_of_few_turns(ctx, iterable, most) if problem.code == "E110" else None
        if slot is None:
            raise
    raise NeedStatic(slot)


def _counted_or_unrolled(ctx: Lowering, node: ast.For, path: tuple[int, ...], iterable: Operand) -> bool:
    """A short loop over a range of known length: written out where it cannot be compiled as a loop."""
    made_here = isinstance(node.target, ast.Name) and node.target.id.startswith(TEMPORARY)
    turns = len(fixed_items(ctx, iterable) or ())
    if made_here and turns <= MAX_LISTED:
        return unrolled(ctx, node, path, iterable)  # a comprehension: what it makes has a known length then
    if ctx.copies * turns <= MAX_SHIFTS and shifts_slices(node):
        return unrolled(ctx, node, path, iterable)  # as sums of slices that many write out themselves
    state = saved_state(ctx)
    short_loops = ctx.short_loops
    ctx.short_loops = 0 if is_much_to_copy(node, turns) else short_loops + 1  # 0: its lists had better grow
    try:
        return _counted(ctx, node, path, iterable)
    except CompileError as problem:
        if problem.code not in _WRITTEN_OUT or (ctx.copies * turns > MAX_NESTS and holds_loops(node)):
            raise
        if (problem.code == "E110" or not isinstance(iterable, Range)) and is_much_to_copy(node, turns):
            raise
    finally:
        ctx.short_loops = short_loops
    restore_state(ctx, state)
    return unrolled(ctx, node, path, iterable)


def _counted(ctx: Lowering, node: ast.For, path: tuple[int, ...], iterable: Operand) -> bool:
    build = ctx.build
    plain = iterable if isinstance(iterable, Range) else None
    start, stop, step = (plain.start, plain.stop, plain.step) if plain else (ZERO, length(ctx, iterable), ONE)
    name = node.target.id if isinstance(node.target, ast.Name) else "k"
    var = loop_variable(ctx, name if plain else "k", start, stop, step)

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

    return _carry(ctx, node, path, turning(ctx, iterable, var, body), make, endless=False)


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
        var = loop_variable(ctx, names[number], *bounds)
        turn = (index(var) - part.start) * (steps or 1) if steps in (1, -1) else index(var)
        here = (*turns, turn)

        def body() -> bool:
            if number < len(ranges) - 1:
                inner, make = level(here, carried)
                whole = ctx.loops[-1].whole or ctx.loops[-1]
                lower_carried(ctx, carried, inner, make, LoopFrame({}, ctx.activation, whole=whole, live=live))
                return True
            return _at_point(ctx, node, path, iterable, here, counts)

        def make(carries: tuple[Carry, ...], region: Region) -> None:
            loop = Loop(
                var=var, start=bounds[0], stop=bounds[1], step=bounds[2], carries=carries, body=region,
                wish=part.wish, id=ctx.build.new_id(), span=ctx.build.span,
            )  # fmt: skip
            ctx.build.emit(loop)

        return body, make

    carried = carried_names(ctx, node, path)
    live = ctx.activation.before[path] | ctx.activation.after[path]
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
    names = carried_names(ctx, node, path)
    live = ctx.activation.before[path] | ctx.activation.after[path]
    frame = lower_carried(ctx, names, body, make, LoopFrame({}, ctx.activation, flag=flag, live=live))
    for name in stored_names(node) - set(names):
        ctx.env.pop(name, None)
    left = bool(frame.breaks) or not endless
    if not left:
        return False
    if not node.orelse:
        return True
    return lower_else(ctx, node, path, flag)


def carried_names(ctx: Lowering, node: ast.For | ast.While, path: tuple[int, ...]) -> list[str]:
    """The names a loop binds that something reads before or after, and all attributes."""
    live = ctx.activation.before[path] | ctx.activation.after[path]
    names = sorted(stored_names(node) & live)
    return names + sorted(key for key in ctx.env if key.startswith("@"))


def lower_else(ctx: Lowering, node: ast.For | ast.While, path: tuple[int, ...], flag: str) -> bool:
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
    kind: LoopFrame,
) -> LoopFrame:
    """Emit a loop that carries `names`; afterwards the environment holds what they are below it.

    `kind` is what is known of the loop before it is lowered; the frame that is given back knows the rest.
    """
    build, activation = ctx.build, ctx.activation
    before, depth = dict(ctx.env), activation.depth
    known = frozenset(key for key in before if is_object(key))
    init = {name: before.get(name, Unbound()) for name in names}
    place = next_place(ctx)
    last = last_time(ctx, place)
    templates, expected = first_templates(build, init, last), last.inner
    for _ in range(_MAX_TRIALS):
        frame = replace(kind, carried=templates, known=known, exits=[], unfit=[], trial=Trial(expected))
        heads: dict[str, Operand] = {}
        made: dict[str, list[Value | str]] = {}
        for name, template in templates.items():
            heads[name], made[name] = join_targets(build, template, name.lstrip("@").replace(".", "_"))
        activation.env = {**before, **heads}
        ctx.loops.append(frame)
        rests = list(activation.rests)
        with build.region() as scope:
            scope.turns = not kind.once and not kind.is_call
            activation.depth = len(build.scopes)
            activation.env.update(rebound(ctx, heads))
            at_head = dict(activation.env)
            falls = body()
            if falls and not kind.is_call:
                emit_exit(ctx, frame, is_break=kind.once)
        ctx.loops.pop()
        activation.rests, activation.depth, expected = rests, depth, frame.trial.found
        if _passed_by_value(ctx, frame, before, init) or _growing_lists(ctx, frame, init):
            continue
        grown = _grown(ctx, templates, frame.exits)
        if all(same_form(templates[name], grown[name]) for name in names):
            if frame.unfit:
                raise too_many_types(ctx, frame.unfit[0])
            if place:
                ctx.loops[-1].trial.found[place] = Settled(grown, expected)
            _bind_sources(ctx, grown, made)
            carries = _carries(ctx, templates, made, init)
            activation.env = at_head
            make(carries, build.close(scope))
            return frame
        templates = grown
    raise build.error("E122", "the types in this loop do not settle", "give the names of the loop one type each")


def _passed_by_value(ctx: Lowering, frame: LoopFrame, before: dict[str, Operand], init: dict[str, Operand]) -> bool:
    """Names that refer to one list before the loop and to others later are passed by value: lower it again."""
    counts = counted(ctx, frame.activation, before, frame.live)
    changed = False
    for name, template in list(frame.carried.items()):
        form = covered(template)
        found = [env[name] for env in frame.exits]
        if not mentions(form) or all(operand == form for operand in found):
            continue
        operand = by_value(ctx, before, counts, frame.known, init[name], agreed((form, *found)))
        if operand != init[name]:
            init[name], frame.carried[name], changed = operand, Same(operand), True
    return changed


def _growing_lists(ctx: Lowering, frame: LoopFrame, init: dict[str, Operand]) -> bool:
    """Lists that have other lengths at the end of an iteration grow in a buffer, if their items are alike: again."""
    changed = False
    for name in list(frame.carried):
        operands = [init[name], *(env[name] for env in frame.exits if not isinstance(env[name], Never))]
        kind = common_kind(operands)
        first = init[name]
        if kind is None or not isinstance(first, Tuple | Growing):
            continue
        if ctx.short_loops and not any(isinstance(operand, Growing) for operand in operands):
            raise ctx.build.error("E149", "a list grows in this loop", "fill an array instead")
        init[name] = in_buffer(ctx, first, kind)
        frame.carried[name] = Same(init[name])
        changed = changed or init[name] is not first
    return changed


def _grown(ctx: Lowering, templates: dict[str, Template], exits: list[dict[str, Operand]]) -> dict[str, Template]:
    grown = dict(templates)
    for env in exits:
        for name, template in grown.items():
            try:
                grown[name] = merge(ctx.build, template, env.get(name, Unbound()))
            except CannotJoin:
                raise too_many_types(ctx, name) from None
    return grown


def _bind_sources(ctx: Lowering, templates: dict[str, Template], made: dict[str, list[Value | str]]) -> None:
    """Tell every REF which containers it may be bound to, now that all are known."""
    for name, template in templates.items():
        refs = [target for target in made[name] if isinstance(target, str)]
        for ref, sources in zip(refs, array_sources(template), strict=True):
            known = [source for source in sources if source in ctx.build.ledger.containers and source != ref]
            container = ctx.build.container(ref)
            written = container.written or any(ctx.build.container(source).written for source in known)
            ctx.build.ledger.containers[ref] = replace(container, may_alias=tuple(known), written=written)
            if container.written:
                for source in known:
                    was_dirty = ctx.build.dirty
                    ctx.build.mark_written(source)
                    ctx.build.dirty = was_dirty


def _carries(
    ctx: Lowering, templates: dict[str, Template], made: dict[str, list[Value | str]], init: dict[str, Operand]
) -> tuple[Carry, ...]:
    carries: list[Carry] = []
    for name, template in templates.items():
        try:
            leaves = passed(ctx.build, template, init[name])
        except CannotJoin:
            raise too_many_types(ctx, name) from None
        carries += [Carry(target, leaf) for target, leaf in zip(made[name], leaves, strict=True)]
    return tuple(carries)


def emit_exit(ctx: Lowering, frame: LoopFrame, *, is_break: bool) -> None:
    """A Continue of, or a Break to, one of the loops that are open."""
    env = _exit_values(ctx, frame)
    frame.exits.append(env)
    leaves: list[Expr | View] = []
    for name, template in frame.carried.items():
        try:
            leaves += passed(ctx.build, template, env[name])
        except CannotJoin:
            frame.unfit.append(name)  # the template has to grow, if it can: this lowering is a trial
    if is_break:
        frame.breaks += 1
        depth = len(ctx.loops) - 1 - ctx.loops.index(frame)
        ctx.build.emit(Break(tuple(leaves), depth))
    else:
        ctx.build.emit(Continue(tuple(leaves)))


def _exit_values(ctx: Lowering, frame: LoopFrame) -> dict[str, Operand]:
    """What the carried names are here, lists by value unless they are what the loop expects."""
    env = frame.activation.env
    found = {name: env.get(name, Unbound()) for name in frame.carried}
    if not any(is_object(key) for key in env):
        return found
    counts = counted(ctx, frame.activation, env, frame.live | found.keys())
    for name, operand in found.items():
        if is_object(name) and not counts[number_of(name)]:
            found[name] = Never()  # nobody looks at it any more
        elif mentions(operand) and frame.carried[name] != Same(operand):
            found[name] = by_value(ctx, env, counts, frame.known, operand, covered(frame.carried[name]))
    return found


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
    frame = python_loop(ctx)
    emit_exit(ctx, frame, is_break=frame.once)
    return False
