"""A loop whose turns go through memory line by line runs inside of the map it holds, where no two points meet.

before:  for j in 2:n { map (i) in [0:m] { x = A[i, j - 1]; write A[i, j] = multiply(x, r) } continue }
after:   map (i) in [0:m] { for j in 2:n { x = A[i, j - 1]; write A[i, j] = multiply(x, r); continue } }

Legal where a point meets only itself in other turns: with each parameter of the map as the outermost loop, the legality
core finds its iterations independent. Worth it where the turns, and not the innermost parameter, move to neighbours in
memory: then a point goes through its line at once, and points run in parallel for all turns together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from weft.analysis.facts import Facts
from weft.ir.exprs import Index, Value, const_index
from weft.ir.nodes import Continue, Loop, Map, Node, Program, Region, Tasklet
from weft.ir.traverse import values_defined_in
from weft.passes.base import Bench, Session, rewrite_regions
from weft.passes.interchange_maps import unit_votes
from weft.passes.loop_bodies import has_loops, is_less, named_sites, only_if, straight
from weft.passes.tasklets import explicit
from weft.passes.wording import why_serial

_ONE = const_index(1)


@dataclass(frozen=True, slots=True)
class LoopsInward:
    """Turn loops over maps into maps over loops."""

    name: ClassVar[str] = "loops-inward"

    def run(self, program: Program, session: Session) -> Program:
        """The program with these loops inside of their maps."""
        if not has_loops(program):
            return program
        bench = Bench(self.name, program, session)
        named = named_sites(program)
        return rewrite_regions(bench, lambda region, facts: _turn_in(region, facts, bench, named))


def _turn_in(region: Region, facts: Facts, bench: Bench, named: frozenset[int]) -> Region:
    nodes: list[Node] = []
    changed = False
    for node in region.nodes:
        made = _inward(node, facts, bench, named) if isinstance(node, Loop) else None
        changed |= made is not None
        nodes += [node] if made is None else made
        facts = facts.after(node)
    return Region(tuple(nodes)) if changed else region


def _inward(loop: Loop, facts: Facts, bench: Bench, named: frozenset[int]) -> list[Node] | None:
    body = straight(loop, named)
    if loop.carries or body is None or len(body) != 1 or not isinstance(body[0], Map):
        return None
    inner = explicit(body[0], bench)
    if not all(isinstance(node, Tasklet) for node in inner.body.nodes) or not _is_invariant(loop, inner):
        return None
    along, across = unit_votes(inner, (loop.var, inner.params[-1]), bench.program)
    if along <= across:
        return None
    turns = replace(loop, body=Region((*inner.body.nodes, Continue(()))))
    for number, param in enumerate(inner.params):
        reason = why_serial(_outermost(inner, number, turns), facts, bench.legality, named)
        if reason is not None:
            bench.note(
                f"the loop over {loop.var.name} stays around the map over {param.name}: {reason}", loop, done=False
            )
            return None
    bench.note(f"the loop over {loop.var.name} runs inside of the map", loop, done=True)
    return _checked(replace(inner, body=Region((turns,)), id=loop.id), facts, bench)


def _is_invariant(loop: Loop, inner: Map) -> bool:
    """Whether the points of the map are the same in all turns."""
    own = frozenset((loop.var,)) | values_defined_in(inner)
    return not any((start.values | stop.values) & own for start, stop in inner.ranges)


def _outermost(inner: Map, number: int, turns: Loop) -> Loop:
    """The nest of loops with one parameter of the map outermost and the turns innermost."""
    node = turns
    for place in (*(n for n in range(len(inner.params)) if n != number), number):
        node = _loop(inner.params[place], inner.ranges[place], node)
    return node


def _loop(param: Value, bounds: tuple[Index, Index], body: Loop) -> Loop:
    region = Region((body, Continue(())))
    return Loop(
        var=param, start=bounds[0], stop=bounds[1], step=_ONE, carries=(), body=region, id=body.id, span=body.span
    )


def _checked(node: Map, facts: Facts, bench: Bench) -> list[Node]:
    """The map, under the condition that none of its ranges ends before it starts."""
    nodes: list[Node] = [node]
    for start, stop in node.ranges:
        if not bench.legality.is_nonnegative(stop - start, facts):
            nodes = [only_if(is_less(start, stop), nodes, node.span, bench)]
    return nodes
