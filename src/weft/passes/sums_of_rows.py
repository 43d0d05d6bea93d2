"""A loop that adds a row to a row in every turn is a sum of rows.

before:  for k in 0:n { x = r[k]; map (j) in [0:m] { a = A[k, j]; s = S[j]; write S[j] = s + x * a } }
after:   alloc T[m]; reduce add T[:] = elements at (j, k) { x = r[k]; a = A[k, j]; x * a } axes (1)
         map (j) in [0:m] { s = S[j]; t = T[j]; write S[j] = s + t }

Legal where a point of the map meets only itself in other turns: with each parameter as the outermost loop, the legality
core finds its iterations independent. At a point the loop is then one that adds up (`loop-reductions`), and the sums of
all points are made together where that follows memory (`sums-outward`); elsewhere the loop stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from weft.ir.exprs import Expr, values_in
from weft.ir.nodes import Branch, Continue, Loop, Map, Node, Program, Region, Tasklet
from weft.ir.traverse import values_defined_in
from weft.passes.base import Bench, Session
from weft.passes.loop_bodies import has_loops, named_sites, nest_with_outermost, only_if, straight
from weft.passes.loop_reductions import reduced
from weft.passes.map_walk import MapWalk
from weft.passes.open_sites import OpenSite
from weft.passes.sums_outward import outward
from weft.passes.tasklets import explicit
from weft.passes.wording import why_serial
from weft.support.records import record


@record
class SumsOfRows:
    """Turn loops that add rows to rows into reductions."""

    name: ClassVar[str] = "sums-of-rows"

    def run(self, program: Program, session: Session) -> Program:
        """The program with sums in place of such loops."""
        if not has_loops(program):
            return program
        named = named_sites(program)

        def rule(node: Node, walk: MapWalk, site: OpenSite | None) -> list[Node] | None:
            return _summed(node, walk, site, named) if isinstance(node, Loop) else None

        return MapWalk(Bench(self.name, program, session), rule).program()


def _summed(loop: Loop, walk: MapWalk, site: OpenSite | None, named: frozenset[int]) -> list[Node] | None:
    """What a loop becomes; None if it stays one."""
    bench, facts = walk.bench, walk.facts
    made = _at_points(loop, named, bench)
    if made is None:
        return None
    for number in range(len(made.params)):
        if why_serial(nest_with_outermost(made, number), facts, bench.legality, named) is not None:
            return None
    (turns,) = made.body.nodes
    assert isinstance(turns, Loop)
    sums = reduced(turns, facts.inside(made, bench.legality.memory)[0], bench, named)
    if sums is None:
        return None
    condition: Expr | None = None
    if len(sums) == 1 and isinstance(sums[0], Branch):  # where there is a turn at all
        condition, sums = sums[0].condition, list(sums[0].then.nodes[:-1])
        if not values_in(condition).isdisjoint(values_defined_in(made)):
            return None
    nodes = outward(replace(made, body=Region(tuple(sums))), walk, site)
    if nodes is None:
        return None
    bench.note(f"the rows that the loop over {loop.var.name} adds up are a sum", loop, done=True)
    return nodes if condition is None else [only_if(condition, nodes, loop.span, bench)]


def _at_points(loop: Loop, named: frozenset[int], bench: Bench) -> Map | None:
    """The loop at every point of the map it ends with, where it only computes numbers before; None if it does more."""
    nodes = straight(loop, named) if not loop.carries else None
    if not nodes:
        return None
    *above, last = nodes
    if not isinstance(last, Map) or not all(isinstance(node, Tasklet) and not node.writes for node in above):
        return None
    own = values_defined_in(loop)
    if any(not own.isdisjoint(bound.values) for bounds in last.ranges for bound in bounds):
        return None
    if not all(isinstance(node, Tasklet) for node in last.body.nodes):
        return None
    last = explicit(last, bench)
    body = Region((*above, *last.body.nodes, Continue()))
    return replace(last, body=Region((replace(loop, body=body),)))
