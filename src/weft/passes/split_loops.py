"""A loop that computes numbers from turn to turn, and with them a map whose points do not meet, becomes two loops.

before:  for i in 1:n { x = p[i - 1]; y = a - x; write p[i] = b / y
                        map (j) in [0:m] { write q[i, j] = q[i - 1, j] / y } }
after:   alloc ys; for i in 1:n { x = p[i - 1]; y = a - x; write p[i] = b / y; write ys[i - 1] = y }
         for i in 1:n { y = ys[i - 1]; map (j) in [0:m] { write q[i, j] = q[i - 1, j] / y } }

The second loop can then run inside of its map, or strip by strip, on all threads (`loops-inward`, `strip-loops`). The
numbers the map needs are kept in arrays, one for every turn. Legal where no number of a later turn depends on the map
in an earlier one or changes what that reads: the legality core is asked about the two, with the turn of each as an
unknown in just that order. Worth it where the points of the map meet only themselves in other turns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from weft.analysis.facts import Facts
from weft.ir.exprs import Index, Value, index
from weft.ir.nodes import Continue, Loop, Map, Memlet, Node, Program, Region, Tasklet
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, defined_values, distinct, used_values, values_used_in
from weft.passes.base import Bench, Session
from weft.passes.loop_bodies import ends, later_turn, named_sites, nest_with_outermost, straight
from weft.passes.map_walk import MapWalk
from weft.passes.open_sites import OpenSite
from weft.passes.tasklets import is_plain, only_reads
from weft.passes.wording import why_serial
from weft.support.records import record


@record
class SplitLoops:
    """Separate what loops compute from turn to turn from the maps in them."""

    name: ClassVar[str] = "split-loops"

    def run(self, program: Program, session: Session) -> Program:
        """The program with these loops in two."""
        named = named_sites(program)
        loops = (node for node in all_nodes(program.body) if isinstance(node, Loop))
        if not any(_halves(loop, named) for loop in loops):
            return program
        bench = Bench(self.name, program, session)
        return MapWalk(bench, lambda node, walk, site: _split(node, walk, site, named)).program()


@record
class _Halves:
    """A loop: the numbers of a turn before its map, the map, the numbers after it."""

    loop: Loop
    before: tuple[Tasklet, ...]
    points: Map
    after: tuple[Tasklet, ...]

    @property
    def needed(self) -> tuple[Value, ...]:
        """What the map needs of the numbers of a turn."""
        carried = (carry.target for carry in self.loop.carries if isinstance(carry.target, Value))
        known = {*carried, *(value for tasklet in self.before for value in defined_values(tasklet))}
        used = {*used_values(self.points), *values_used_in(self.points.body)}
        return distinct(value for value in sorted(used, key=lambda value: value.id) if value in known)


def _halves(loop: Loop, named: frozenset[int]) -> _Halves | None:
    if loop.step.constant not in (1, -1) or any(isinstance(carry.target, str) for carry in loop.carries):
        return None
    if sum(isinstance(node, Map) for node in loop.body.nodes) != 1:
        return None
    body = straight(loop, named)
    if body is None:
        return None
    place, points = next((place, node) for place, node in enumerate(body) if isinstance(node, Map))
    tasklets = tuple(node for node in body if isinstance(node, Tasklet))
    if len(tasklets) + 1 != len(body) or not points.params or not is_plain(points):
        return None
    if not loop.carries and all(map(only_reads, tasklets)):
        return None  # nothing is in the way
    return _Halves(loop, tasklets[:place], points, tasklets[place:])


def _split(node: Node, walk: MapWalk, site: OpenSite | None, named: frozenset[int]) -> list[Node] | None:
    halves = _halves(node, named) if isinstance(node, Loop) else None
    if halves is None:
        return None
    bench, loop = walk.bench, halves.loop
    reason = _why_not(halves, walk.facts, bench, named)
    if reason is not None:
        bench.note(f"the loop over {loop.var.name} stays one: {reason}", loop, done=False)
        return None
    made = _apart(halves, walk, site)
    if made is not None:
        bench.note(f"the loop over {loop.var.name} becomes two, one of numbers and one of maps", loop, done=True)
    return made


# ---- legality -------------------------------------------------------------------------------------------------------


def _why_not(halves: _Halves, facts: Facts, bench: Bench, named: frozenset[int]) -> str | None:
    loop, points = halves.loop, halves.points
    low, high = ends(loop)
    if not bench.legality.is_nonnegative(high - low, facts):
        return "how many turns it has is not known"
    own = bench.defines(loop)
    if any(bound.values & own for bounds in points.ranges for bound in bounds):
        return "its map has other points in every turn"
    turns = replace(loop, carries=(), body=Region((*points.body.nodes, Continue())))
    at_points = replace(points, body=Region((turns,)))
    for number in range(len(points.params)):
        reason = why_serial(nest_with_outermost(at_points, number), facts, bench.legality, named)
        if reason is not None:
            return reason
    return _meeting(halves, facts, bench)


def _meeting(halves: _Halves, facts: Facts, bench: Bench) -> str | None:
    """How the map of a turn and the numbers of that turn or a later one may touch the same memory; None if they do not.

    All that the later turn computes is its own: a position `idx[i]` that its numbers share with its map is another one
    in the turn of the map that is asked about.
    """
    later = later_turn(halves.loop, (*halves.before, *halves.after), bench)
    before, after = later.nodes[: len(halves.before)], later.nodes[len(halves.before) :]
    for tasklets, distance, reason in (
        (before, 1, "numbers depend on the map in an earlier turn"),
        (after, 0, "numbers depend on the map"),
    ):
        known = later.facts(facts, bench, distance)
        if tasklets and bench.legality.between(halves.points, tasklets, known, instances=True):
            return reason
    return None


# ---- two loops ------------------------------------------------------------------------------------------------------


def _apart(halves: _Halves, walk: MapWalk, site: OpenSite | None) -> list[Node] | None:
    bench, loop = walk.bench, halves.loop
    low, high = ends(loop)
    nodes: list[Node] = []
    kept: list[tuple[Value, Memlet]] = []
    for value in halves.needed:
        room = walk.allocate(value.name, value.type.dtype, (high - low,), site, loop.span)
        if room is None:
            return None
        nodes += room.allocs
        kept.append((value, room.view.at((_turn(loop),))))
    keep = Tasklet(writes=tuple((memlet, value) for value, memlet in kept), id=bench.number(), span=loop.span)
    *_, last = loop.body.nodes
    first = replace(loop, body=Region((*halves.before, *((keep,) if kept else ()), *halves.after, last)))
    read = Tasklet(reads=tuple(kept), id=bench.number(), span=loop.span)
    body = Region((*((read,) if kept else ()), halves.points, Continue()))
    second = replace(loop, carries=(), body=body, id=bench.number())
    return [*nodes, first, *with_fresh_values((second,), bench.number, {})]


def _turn(loop: Loop) -> Index:
    """The number of a turn, from 0 on."""
    return index(loop.var) - loop.start if loop.step.constant == 1 else loop.start - index(loop.var)
