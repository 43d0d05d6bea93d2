"""Loops whose iterations do not depend on each other become maps, innermost first.

before:  for i in 0:n { for j in 1:m { x = A[i, j]; write B[i, j] = multiply(2.0, x); continue } continue }
after:   if less(1, m) { map (i) in [0:n] { map (j) in [1:m] { x = A[i, j]; write B[i, j] = multiply(2.0, x) } } }

Proved by the legality core: no two iterations meet on an element that one of them writes. A body that may be left, and
one that passes values on, stays a loop. A range that runs down or in steps is counted upwards. Where it is not proved
that a range does not end before it starts, the map stands under that condition, outside of the maps it does not depend
on.
"""

from __future__ import annotations

from typing import ClassVar

from weft.analysis.compactions import collects
from weft.analysis.facts import Facts
from weft.ir.exprs import Index, Value
from weft.ir.nodes import Loop, Map, Node, Program, Region
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import values_defined_in
from weft.passes.base import Bench, Session
from weft.passes.loop_bodies import (
    computed,
    counted,
    invariant_branch,
    is_less,
    only_if,
    rewrite_loops,
    shapes_fixed,
    straight,
    turn_of,
)
from weft.passes.wording import why_serial
from weft.support.records import record


@record
class LoopToMap:
    """Turn independent loops into maps."""

    name: ClassVar[str] = "loop-to-map"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer loops."""
        return rewrite_loops(self.name, program, session, _as_map)


def _as_map(loop: Loop, facts: Facts, bench: Bench, named: frozenset[int]) -> list[Node] | None:
    reason = why_serial(loop, facts, bench.legality, named)
    body = straight(loop, named)
    if reason is not None and collects(loop) and not loop.wish:
        return None  # it has a way of its own to run on threads
    if reason is not None or body is None:
        bench.note(f"the loop over {loop.var.name} stays a loop: {reason}", loop, done=False)
        return None
    made = _mapped(loop, body, facts, bench)
    if made is not None:
        bench.note(f"the loop over {loop.var.name} is a map", loop, done=True)
    return made


def _mapped(loop: Loop, body: tuple[Node, ...], facts: Facts, bench: Bench) -> list[Node] | None:
    step = loop.step.constant
    if step == 1:
        return _checked(loop, loop.start, loop.stop, body, facts, bench)
    if step == -1:
        return _checked(loop, loop.stop + 1, loop.start + 1, body, facts, bench)
    count = counted(loop, facts, bench)
    renamed = frozenset((loop.var,)).union(*(values_defined_in(node) for node in body))
    if count is None or not shapes_fixed(body, renamed, bench):
        return None
    turn = turn_of(loop, count.trips, bench)
    inside = with_fresh_values(body, bench.number, {loop.var: count.at(turn)})
    return [*computed(count.lets, loop, bench), _map(loop, turn, (count.start * 0, count.trips), inside)]


def _checked(loop: Loop, start: Index, stop: Index, body: tuple[Node, ...], facts: Facts, bench: Bench) -> list[Node]:
    """The map, under the condition that its range is none that ends before it starts."""
    inside: list[Node] = list(body)
    outer = invariant_branch(loop, body)
    if outer is not None:
        inside = list(outer.then.nodes[:-1])
    nodes: list[Node] = [_map(loop, loop.var, (start, stop), inside)]
    if outer is not None:
        nodes = [only_if(outer.condition, nodes, outer.span, bench)]
    if bench.legality.is_nonnegative(stop - start, facts):
        return nodes
    return [only_if(is_less(start, stop), nodes, loop.span, bench)]


def _map(loop: Loop, param: Value, bounds: tuple[Index, Index], body: list[Node]) -> Map:
    return Map(params=(param,), ranges=(bounds,), body=Region(tuple(body)), id=loop.id, span=loop.span)
