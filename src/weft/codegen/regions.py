"""Regions: nodes in order, loops, branches, memory and guards."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice
from typing import assert_never

from weft.analysis.lifetimes import end, head
from weft.analysis.memory import Memory
from weft.analysis.sweeps import sweeps_of
from weft.codegen.access import block_text
from weft.codegen.c_types import c_type
from weft.codegen.compactions import compaction_here, emit_compaction
from weft.codegen.exits import emit_return, emit_site
from weft.codegen.expressions import emit_expr, index_factor, index_text
from weft.codegen.fp_flags import emit_watched
from weft.codegen.kernel import Kernel, Scope, bare
from weft.codegen.nests import emit_elementwise, emit_map
from weft.codegen.numpy_calls import emit_numpy_call
from weft.codegen.outlining import PARALLEL_POINTS, emit_poll
from weft.codegen.products import emit_matmul, emit_sweep
from weft.codegen.reductions import emit_reductions
from weft.codegen.references import assign_targets, declare_carries, declare_targets, leave_to_loop, release_scope
from weft.codegen.releases import emit_releases, plan_releases
from weft.codegen.row_updates import emit_row_update
from weft.codegen.scans import emit_scan
from weft.codegen.takeovers import plan_takeovers
from weft.codegen.tasklets import emit_tasklet
from weft.codegen.teams import emit_by_first, emit_meeting, emit_team
from weft.ir.exprs import Expr
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Continue,
    Elementwise,
    Guard,
    Loop,
    Map,
    MatMul,
    Node,
    NumpyCall,
    Reduce,
    Region,
    Return,
    Scan,
    Schedule,
    Site,
    Storage,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.ir.traverse import all_nodes

# A loop of plain statements asks for interrupts once in so many iterations.
_POLL_EVERY = 1024
_FEW_STEPS = 100  # plain statements in a row that do not ask


def emit_region(kernel: Kernel, region: Region, scope: Scope) -> None:
    """The nodes of a region; what it owns is released at its end, or before."""
    kernel.scopes.append(scope)
    scope.dying = plan_releases(kernel, region, scope)
    sweeps = sweeps_of(region, Memory(kernel.program.containers))
    kernel.takeovers |= plan_takeovers(kernel, region, scope)
    if any(isinstance(node, NumpyCall) and node.tried for node in region.nodes):
        scope.mark = kernel.bind("ctx->mark(ctx)", "int32_t", "mark")
    for place, node in enumerate(region.nodes):
        scope.place = place
        if kernel.team and isinstance(scope.loop, Loop) and scope.loop.team and place in scope.loop.team.meets:
            emit_meeting(kernel)
        if place in sweeps.updates:
            emit_row_update(kernel, sweeps.updates[place])
        elif place in sweeps.joint and place not in sweeps.along:
            emit_sweep(kernel, *sweeps.joint[place])
        elif place not in sweeps.along:
            _emit_node(kernel, node, islice(region.nodes, place + 1, None))
        emit_releases(kernel, end(place))
    if not region.nodes or not isinstance(region.nodes[-1], Yield | Continue | Break | Return):
        release_scope(kernel)
    kernel.scopes.pop()


def _emit_node(kernel: Kernel, node: Node, following: Iterable[Node]) -> None:
    match node:
        case Map() | Elementwise() | Reduce() | Scan() | MatMul() | Tasklet():
            _emit_computation(kernel, node, following)
        case Loop() | While() | Branch():
            _emit_control(kernel, node)
        case Yield(values=values):
            scope = kernel.scopes[-1]
            assign_targets(kernel, scope.results, values, first=True, releases=scope.blocks)
        case Continue() | Break():
            _emit_jump(kernel, node)
        case Return():
            emit_return(kernel, node)
        case Alloc():
            _emit_alloc(kernel, node)
        case NumpyCall():
            emit_numpy_call(kernel, node)
        case Site():
            emit_site(kernel, node)
        case Guard():
            _emit_guard(kernel, node)
        case _:
            assert_never(node)


def _emit_control(kernel: Kernel, node: Loop | While | Branch) -> None:
    match node:
        case Loop():
            _emit_loop(kernel, node)
        case While():
            _emit_while(kernel, node)
        case Branch():
            _emit_branch(kernel, node)


def _emit_computation(
    kernel: Kernel, node: Map | Elementwise | Reduce | Scan | MatMul | Tasklet, following: Iterable[Node]
) -> None:
    if kernel.team and _is_for_one(kernel, node):
        emit_by_first(kernel, lambda: _emit_alone(kernel, node, following))
    else:
        _emit_alone(kernel, node, following)


def _is_for_one(kernel: Kernel, node: Node) -> bool:
    """Whether the first thread of a team does it for all: what writes to memory, and is not shared."""
    match node:
        case Map(schedule=schedule, owner=owner):
            return schedule is not Schedule.PARALLEL and owner is None
        case Reduce(schedule=schedule, output=output):
            shared = schedule is Schedule.PARALLEL and len(node.axes) < len(node.input.shape)
            return not shared and kernel.root(output.container).storage is not Storage.STACK
        case _:
            return False


def _emit_alone(
    kernel: Kernel, node: Map | Elementwise | Reduce | Scan | MatMul | Tasklet, following: Iterable[Node]
) -> None:
    match node:
        case Map():
            emit_map(kernel, node)
        case Elementwise():
            emit_elementwise(kernel, node)
        case Reduce():
            _emit_reduce(kernel, node, following)
        case Scan():
            emit_scan(kernel, node)
        case MatMul():
            emit_matmul(kernel, node)
        case Tasklet():
            emit_tasklet(kernel, node)


def _emit_reduce(kernel: Kernel, node: Reduce, following: Iterable[Node]) -> None:
    """A reduction with those joined to it, which need nothing more where they stand."""
    if node.joined:
        return
    together = [node]
    for other in following:
        if not isinstance(other, Reduce) or not other.joined:
            break
        together.append(other)
    emit_reductions(kernel, together)


def _emit_guard(kernel: Kernel, node: Guard) -> None:
    condition = bare(emit_expr(kernel, node.condition))
    kernel.line(f"if (__builtin_expect(!({condition}), 0)) /* {_words(node.reason)} */")
    kernel.line(f"    goto fail_{node.site};")


def _words(reason: str) -> str:
    return " ".join(reason.replace("*/", "* /").split())


def _emit_alloc(kernel: Kernel, node: Alloc) -> None:
    """The size is computed without overflow; where there is no memory, NumPy in Python says so in its own words."""
    kernel.writer.comment(node.span)
    container = kernel.container(node.container)
    type_, pointer = c_type(container.dtype), kernel.pointer(node.container)
    if container.storage is Storage.STACK:
        count = math.prod(extent.constant or 0 for extent in container.shape)
        aligned = " __attribute__((aligned(64)))" if count * container.dtype.itemsize >= 64 else ""
        kernel.line(f"{type_} {kernel.declare(pointer, f'{type_} *')}[{max(count, 1)}]{aligned};")
        return
    block = kernel.declare(f"{pointer}_block", "weft_block *")
    if container.rank == 0:
        kernel.line(f"weft_block *{block} = ctx->alloc(ctx, {container.dtype.itemsize});")
    else:
        extents = ", ".join(index_text(kernel, extent) for extent in container.shape)
        shape = f"(int64_t[]){{{extents}}}"
        size = f"{kernel.support.machine('bytes')}({container.dtype.itemsize}, {shape}, {container.rank})"
        bytes_ = kernel.bind(size, "int64_t", f"{pointer}_bytes")
        taken = _taken(kernel, node.container, bytes_)
        kernel.line(f"weft_block *{block} = {taken}{bytes_} < 0 ? 0 : ctx->alloc(ctx, {bytes_});")
    kernel.line(f"if (__builtin_expect({block} == 0, 0))")
    kernel.line(f"    goto fail_{node.site};")
    kernel.declare(pointer, f"{type_} *")
    kernel.line(f"{type_} *{pointer} = {block}->data;")
    kernel.scopes[-1].blocks.append(block)


def _taken(kernel: Kernel, name: str, size: str) -> str:
    """The memory of another array, where this one may take it over: the beginning of a C expression."""
    old = kernel.takeovers.get(name)
    if old is None:
        return ""
    block, machine = block_text(kernel, old), kernel.support.machine
    shared = PARALLEL_POINTS * kernel.container(name).dtype.itemsize
    taken = f"{machine('takes')}(ctx, {block}, {kernel.pointer(old)}, {size}, {shared})"
    return f"{taken} ? {machine('retain')}({block}) : "


# ---- control flow ---------------------------------------------------------------------------------------------------


def _emit_loop(kernel: Kernel, node: Loop) -> None:
    def emit() -> None:
        emit_watched(kernel, node, lambda: _emit_iterations(kernel, node))

    if kernel.team and node.team is None:
        emit_by_first(kernel, emit)
    elif node.team is not None and not (kernel.team or kernel.separately or kernel.parallel):
        emit_team(kernel, node, emit)
    else:
        emit()


def _emit_iterations(kernel: Kernel, node: Loop) -> None:
    kernel.writer.comment(node.span)
    _emit_carries(kernel, node)
    collected = compaction_here(kernel, node)
    if collected is not None:
        emit_compaction(kernel, node, collected)
        return
    step = node.step.constant
    brief = _steps(node) <= _FEW_STEPS
    if step in (1, -1) and not kernel.parallel and not brief and _steps_of(node.body) <= _FEW_STEPS:
        _emit_strips(kernel, node, step)
        return
    start, stop = index_text(kernel, node.start), index_text(kernel, node.stop)
    name = kernel.new_value(node.var)
    if step == 1:
        head = f"for (int64_t {name} = {start}; {name} < {stop}; ++{name})"
    elif step == -1:
        head = f"for (int64_t {name} = {start}; {name} > {stop}; --{name})"
    else:
        by = index_factor(kernel, node.step)
        trips = kernel.bind(f"{kernel.support.machine('trips')}({start}, {stop}, {by})", "uint64_t", "trips")
        kernel.line(f"int64_t {name} = {start};")
        trip = kernel.names.claim("trip")
        head = f"for (uint64_t {trip} = 0; {trip} < {trips}; ++{trip}, {name} += {by})"
    scope = _loop_scope(kernel, node)
    with kernel.block(head):
        if not brief:
            _emit_poll(kernel)
        _emit_turn(kernel, node, scope)
    _emit_label(kernel, scope)


def _emit_carries(kernel: Kernel, node: Loop | While) -> None:
    """The carries; what is needed for no more than their first values is let go."""
    declare_carries(kernel, node.carries)
    emit_releases(kernel, head(kernel.scopes[-1].place))


def _emit_turn(kernel: Kernel, node: Loop | While, scope: Scope) -> None:
    """A turn of a loop; the first thing in one around all others, with regions in it, is to say that it begins."""
    if not kernel.parallel and not kernel.team and not any(outer.loop for outer in kernel.scopes):
        inside = (inner for inner in all_nodes(node.body) if isinstance(inner, Map | Reduce))
        if any(inner.schedule is Schedule.PARALLEL for inner in inside):
            kernel.line("ctx->turn(ctx);")
            scope.ends_turns = True
    kernel.emit_region(kernel, node.body, scope)


def _loop_scope(kernel: Kernel, node: Loop | While) -> Scope:
    return Scope(loop=node, label=kernel.names.claim("done"))


def _emit_label(kernel: Kernel, scope: Scope) -> None:
    if scope.label_used:
        kernel.line(f"{scope.label}:;")
    if scope.ends_turns:
        kernel.line("ctx->brief = WEFT_BRIEF;")


def _steps_of(region: Region) -> float:
    return sum(map(_steps, region.nodes))


def _steps(node: Node) -> float:
    """How many plain statements a node runs at most: for a few of them an interrupt can wait."""
    match node:
        case Tasklet() | Guard() | Site() | Yield() | Continue():
            return 1
        case Branch(then=then, orelse=orelse):
            return max(_steps_of(then), _steps_of(orelse))
        case Loop(start=start, stop=stop, body=body):
            turns = (stop - start).constant
            return math.inf if turns is None else abs(turns) * _steps_of(body)
        case _:
            return math.inf


def _emit_strips(kernel: Kernel, node: Loop, step: int) -> None:
    """A loop of plain statements in strips, so that asking for interrupts costs nothing."""
    name, strip = kernel.new_value(node.var), kernel.names.claim("strip")
    up = step == 1
    compare, move, sign = ("<", "++", "+") if up else (">", "--", "-")
    stop = kernel.bind(index_text(kernel, node.stop), "int64_t", "stop")
    kernel.line(f"int64_t {name} = {index_text(kernel, node.start)};")
    with kernel.block(f"while ({name} {compare} {stop})"):
        _emit_poll(kernel)
        left = f"(uint64_t){stop} - (uint64_t){name}" if up else f"(uint64_t){name} - (uint64_t){stop}"
        kernel.line(f"const int64_t {strip} = {left} > {_POLL_EVERY} ? {name} {sign} {_POLL_EVERY} : {stop};")
        with kernel.block(f"for (; {name} {compare} {strip}; {move}{name})"):
            kernel.emit_region(kernel, node.body, Scope(loop=node))


def _emit_poll(kernel: Kernel) -> None:
    if kernel.parallel:
        return
    if kernel.team:
        kernel.line(f"weft_team_poll(&{kernel.team});")
        return
    kernel.line("if (weft_poll(ctx))")
    kernel.line("    return WEFT_INTERRUPTED;")


def _emit_while(kernel: Kernel, node: While) -> None:
    kernel.writer.comment(node.span)
    _emit_carries(kernel, node)
    scope = _loop_scope(kernel, node)
    with kernel.block("for (;;)"):
        if kernel.parallel:
            emit_poll(kernel)  # it may never end
        else:
            _emit_poll(kernel)
        _emit_turn(kernel, node, scope)
    _emit_label(kernel, scope)


def _emit_branch(kernel: Kernel, node: Branch) -> None:
    kernel.writer.comment(node.span)
    declare_targets(kernel, node.results)
    condition = bare(emit_expr(kernel, node.condition))
    with kernel.block(f"if ({condition})"):
        kernel.emit_region(kernel, node.then, Scope(results=node.results))
    if node.results or any(not isinstance(x, Yield) for x in node.orelse.nodes):
        with kernel.block("else"):
            kernel.emit_region(kernel, node.orelse, Scope(results=node.results))


def _emit_jump(kernel: Kernel, node: Continue | Break) -> None:
    depth = node.depth if isinstance(node, Break) else 0
    scope, releases = leave_to_loop(kernel, depth)
    if scope.loop is not None:
        items: tuple[Expr | View, ...] = node.values
        assign_targets(kernel, [carry.target for carry in scope.loop.carries], items, releases=releases)
    if depth:
        scope.label_used = True
        kernel.line(f"goto {scope.label};")
    elif isinstance(node, Break):
        kernel.line("break;")
    elif kernel.scopes[-1].loop is None:
        kernel.line("continue;")
