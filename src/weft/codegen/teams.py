"""Loops that a team of threads runs together.

before:  for t in 0:n team [0:rows] meets (1, 2) { map (p) in [0:rows] parallel owner p { ... } ... }
after:   void f_body_3(void *raw, int64_t begin, int64_t end)
         {
             weft_team team = weft_join(ctx, begin, end, 0, rows);
             for (int64_t t = 0; t < n; ++t) {
                 weft_own(&team, f_body_1, &env, 0, rows, 1);
                 if (weft_meet(&team))
                     return;
                 ...
         }
         ...
         if (weft_teams(ctx, rows, n, work, meetings))
             ctx->team(ctx, f_body_3, &env);
         else
             the loop as ever

Both share the bodies of the maps: they are written with the same names, and text that is there already is not written
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from weft.codegen.expressions import index_text
from weft.codegen.kernel import Kernel
from weft.codegen.outlining import Outlined, emit_environment, outline
from weft.codegen.work import largest_work
from weft.ir.exprs import Index, Value
from weft.ir.nodes import Loop, Map, Node, Reduce, Region, Schedule
from weft.ir.traverse import inner_regions

TEAM: Final = "team"
_MOST_THREADS: Final = 256


def emit_team(kernel: Kernel, node: Loop, emit: Callable[[], None]) -> None:
    """A loop that a team may run; `emit` writes the loop."""
    assert node.team is not None
    low, high = (index_text(kernel, row) for row in node.team.rows)
    worth = _worth(kernel, node, low, high)
    if not worth:
        emit()
        return
    number, kernel.teams = kernel.teams, kernel.teams + 1
    worth = kernel.bind(worth, "double", "together")
    values, taken, extents = dict(kernel.value_names), set(kernel.names.taken), dict(kernel.own_extents)
    with kernel.block(f"if ({worth} > 0 && ctx->together(ctx, {number}, {worth}))"):
        body = _outlined(kernel, (low, high), emit)
        for text in kernel.team_arrays.values():
            kernel.line(text)
        kernel.team_arrays.clear()
        emit_environment(kernel, body)
        kernel.line(f"ctx->team(ctx, {body.name}, &env);")
        kernel.line("if (ctx->poll(ctx))")
        kernel.line("    return WEFT_INTERRUPTED;")
    kernel.value_names, kernel.names.taken, kernel.own_extents = values, taken, extents
    with kernel.block("else"):
        kernel.separately = True
        emit()
        kernel.separately = False
    kernel.line(f"if ({worth} > 0)")
    kernel.line("    ctx->apart(ctx);")


def _outlined(kernel: Kernel, rows: tuple[str, str], emit: Callable[[], None]) -> Outlined:
    outer, kernel.flags = kernel.flags, None

    def run() -> None:
        kernel.support.machine("team")
        kernel.line(f"weft_team {TEAM} = weft_join(ctx, begin, end, {rows[0]}, {rows[1]});")
        emit()

    body = outline(kernel, [], run, team=TEAM)
    kernel.flags = outer
    return body


def _worth(kernel: Kernel, node: Loop, low: str, high: str) -> str:
    """How much a loop is for a team, 0 where it is none for it; "" where nothing is known about it."""
    turns = _turns(kernel, node)
    if turns is None:
        return ""
    parts = list(_parts(kernel, node, (), {}))
    work = [
        f"({largest_work(kernel, part, loops)}){times}" for part, times, loops in parts if not isinstance(part, Loop)
    ]
    meetings = [f"{len(part.team.meets)}.0{times}" for part, times, _ in parts if isinstance(part, Loop) and part.team]
    teams = kernel.support.machine("teams")
    return f"{teams}(ctx, {high} - {low}, {turns}, {' + '.join(work) or '0.0'}, {' + '.join(meetings)})"


_Loops = dict[Value, tuple[Index, Index]]


def _parts(kernel: Kernel, loop: Loop, times: tuple[str, ...], loops: _Loops) -> Iterator[tuple[Node, str, _Loops]]:
    """What threads share in a turn, with the trips of the loops around it, and these loops."""
    factors = "".join(f" * {trips}" for trips in times)
    around = {**loops, loop.var: (loop.start, loop.stop)}
    yield loop, factors, around

    def inside(region: Region) -> Iterator[tuple[Node, str, _Loops]]:
        for node in region.nodes:
            match node:
                case Map() | Reduce() if node.schedule is Schedule.PARALLEL:
                    yield node, factors, around
                case Loop() if node.team is not None:
                    yield from _parts(kernel, node, (*times, _turns(kernel, node) or "1.0"), around)
                case Map():
                    pass
                case _:
                    for inner in inner_regions(node):
                        yield from inside(inner)

    yield from inside(loop.body)


def _turns(kernel: Kernel, node: Loop) -> str | None:
    step, values = node.step.constant, node.start.values | node.stop.values
    if step not in (1, -1) or not all(map(kernel.is_defined, values)):
        return None
    return f"(double)({index_text(kernel, (node.stop - node.start) * step)})"


# ---- in the team's function -----------------------------------------------------------------------------------------


def emit_meeting(kernel: Kernel) -> None:
    """The threads wait for each other; or all leave."""
    kernel.line(f"if ({kernel.support.machine('meet')}(&{TEAM}))")
    kernel.line("    return;")


def emit_by_first(kernel: Kernel, emit: Callable[[], None]) -> None:
    """What the first thread does for all."""
    with kernel.block(f"if ({TEAM}.rank == 0)"):
        outer = kernel.parallel, kernel.team
        kernel.parallel, kernel.team = True, ""
        emit()
        kernel.parallel, kernel.team = outer


def emit_gathered(kernel: Kernel, names: Sequence[str]) -> None:
    """The flags in variables of all threads, behind a meeting, in those of the first thread."""
    claim, shared = kernel.names.claim, list[str]()
    width = kernel.bind(f"{TEAM}.width", "int64_t", "width")  # at the meeting the first thread may send the others away
    for name in names:
        shared.append(claim("gathered"))
        kernel.declare_array(shared[-1], "int32_t", _MOST_THREADS)
        kernel.line(f"{shared[-1]}[{TEAM}.rank] = {name};")
    emit_meeting(kernel)
    for name, all_ in zip(names, shared, strict=True):
        rank = claim("rank")
        with kernel.block(f"for (int64_t {rank} = 0; {rank} < {width} && {TEAM}.rank == 0; ++{rank})"):
            kernel.line(f"{name} |= {all_}[{rank}];")


def emit_part(kernel: Kernel, body: Outlined, node: Map, count: str, unit: str, env: str) -> None:
    """Run the part of a map's body that is this thread's."""
    owner = node.owner
    if owner is None:
        kernel.line(f"{kernel.support.machine('share')}(&{TEAM}, {body.name}, &{env}, {count});")
        return
    first = index_text(kernel, owner.substitute({node.params[0]: node.ranges[0][0]}))
    if node.params[0] not in owner.values:
        kernel.line(f"{kernel.support.machine('own_all')}(&{TEAM}, {body.name}, &{env}, {first}, {count});")
        return
    start, stop = node.ranges[0]
    rows = index_text(kernel, stop - start)
    kernel.line(f"{kernel.support.machine('own')}(&{TEAM}, {body.name}, &{env}, {first}, {rows}, {unit});")
