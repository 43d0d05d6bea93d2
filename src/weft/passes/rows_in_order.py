"""A map around rows of sums runs in order, so that the sums of a row can be made together.

before:  map (i) in [0:m] { map (j) in [i:m] { alloc T; reduce add T[] = elements at (k) { A[k, i] * A[k, j] }; ... } }
after:   for i in 0:m { map (j) in [i:m] { alloc T; reduce add T[] = elements at (k) { A[k, i] * A[k, j] }; ... } }

before:  map (s) in [0:m] { for i in 0:n { alloc T; reduce add T[] = elements at (k) { L[i, k] * X[k, s] }; ... } }
after:   for i in 0:n { map (s) in [0:m] { alloc T; reduce add T[] = elements at (k) { L[i, k] * X[k, s] }; ... } }

The points of a map do not meet, so they may come one after the other, and all of them may make a turn before any makes
the next. Worth it where the sums follow memory across the points of the row and not along their terms: `sums-outward`
then makes them in vectors, in memory that could not be allocated in a map, and `private-arrays` gives parts of the
turns memory of their own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from weft.ir.exprs import const_index
from weft.ir.nodes import Alloc, Continue, Loop, Map, Node, Program, Reduce, Region, Tasklet
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench, Session
from weft.passes.loop_bodies import named_sites, straight
from weft.passes.map_walk import MapWalk
from weft.passes.open_sites import OpenSite
from weft.passes.sums_outward import has_row_of_sums
from weft.support.records import record


@record
class RowsInOrder:
    """Turn maps around rows of sums into loops around them."""

    name: ClassVar[str] = "rows-in-order"

    def run(self, program: Program, session: Session) -> Program:
        """The program with the rows of its sums in order."""
        maps = (node for node in all_nodes(program.body) if isinstance(node, Map))
        if not any(isinstance(inner, Map | Loop) for node in maps for inner in node.body.nodes):
            return program
        named = named_sites(program)

        def rule(node: Node, walk: MapWalk, site: OpenSite | None) -> list[Node] | None:
            room = site is not None or any(around.site is not None for around in walk.around)
            return _in_order(node, walk.bench, named) if isinstance(node, Map) and room else None

        return MapWalk(Bench(self.name, program, session), rule).program()


def _in_order(node: Map, bench: Bench, named: frozenset[int]) -> list[Node] | None:
    if not node.body.nodes:
        return None
    *above, last = node.body.nodes
    if isinstance(last, Map) and _only_compute(above) and has_row_of_sums(last, bench):
        bench.note(
            f"the points of the map over {node.params[-1].name} come in order, for rows of sums", node, done=True
        )
        return [_loops(node)]
    if isinstance(last, Loop) and not above:
        return _turned(node, last, bench, named)
    return None


def _only_compute(nodes: list[Node]) -> bool:
    return all(isinstance(node, Tasklet) and not node.writes for node in nodes)


def _loops(node: Map) -> Loop:
    """The points of a map one after the other."""
    nodes = node.body.nodes
    for param, (start, stop) in reversed(tuple(zip(node.params, node.ranges, strict=True))):
        body = Region((*nodes, Continue()))
        loop = Loop(var=param, start=start, stop=stop, step=const_index(1), carries=(), body=body, id=node.id)
        nodes = (replace(loop, span=node.span),)
    (made,) = nodes
    assert isinstance(made, Loop)
    return made


def _turned(node: Map, loop: Loop, bench: Bench, named: frozenset[int]) -> list[Node] | None:
    """The loop in a map around the map, if a turn is a sum with what is done with it, and is the same at all points."""
    nodes = straight(loop, named) if not loop.carries else None
    if nodes is None or not all(isinstance(inner, Alloc | Reduce | Tasklet) for inner in nodes):
        return None
    if any(not bound.values.isdisjoint(node.params) for bound in (loop.start, loop.stop)):
        return None
    row = replace(node, body=Region(nodes))
    if not has_row_of_sums(row, bench):
        return None
    bench.note(f"the loop over {loop.var.name} runs around the map, for rows of sums", loop, done=True)
    return [replace(loop, body=Region((row, Continue())))]
