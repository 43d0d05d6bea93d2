"""A loop whose turns go through memory line by line runs inside of the maps it holds, where no two points meet.

before:  for j in 2:n carry (S = A) { alloc T; map (i) in [0:m] { write T[i] = S[i] * r }
                                      map (i) in [0:m] { write X[i, j] = T[i] }; continue T }
after:   map (i) in [0:m] { a = A[i]; for j in 2:n carry (s = a) { t = s * r; write X[i, j] = t; continue t } }

Legal where a point meets only itself in other turns: with each parameter of the map as the outermost loop, the legality
core finds its iterations independent. What lives for a turn, or is carried to the next, becomes a number
(`pointwise.py`), so it must not be needed after the loop. Worth it where the turns, and not the innermost parameter,
move to neighbours in memory: then a point goes through its line at once, and points run in parallel for all turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from weft.analysis.facts import Facts
from weft.analysis.uses import container_uses, written_by
from weft.ir.nodes import Branch, Carry, Continue, Loop, Map, Node, Program, Region, View
from weft.ir.traverse import all_nodes, allocated_by
from weft.passes.base import Bench, Session
from weft.passes.interchange_maps import unit_votes
from weft.passes.loop_bodies import is_less, nest_with_outermost, only_if, rewrite_loops
from weft.passes.pointwise import Held, NotPointwiseError, Point, domain_of
from weft.passes.wording import why_serial
from weft.support.records import record


@record
class LoopsInward:
    """Turn loops over maps into maps over loops."""

    name: ClassVar[str] = "loops-inward"

    def run(self, program: Program, session: Session) -> Program:
        """The program with these loops inside of their maps."""
        return rewrite_loops(self.name, program, session, _inward)


def _inward(loop: Loop, facts: Facts, bench: Bench, named: frozenset[int]) -> list[Node] | None:
    *inside, last = loop.body.nodes or (None,)
    domain = domain_of(loop.body)
    if not isinstance(last, Continue) or domain is None or not _is_invariant(loop, domain, bench):
        return None
    try:
        made = _at_points(loop, inside, last, domain, bench)
    except NotPointwiseError:
        return None
    turns = made.body.nodes[-1]
    assert isinstance(turns, Loop)
    # What stays where it is from turn to turn is a number then, and what is the same at all points cheap in any order.
    chosen = (loop.var, made.params[-1])
    along, across = unit_votes(replace(made, body=turns.body), chosen, bench.program, common=True)
    if along <= across:
        return None
    for number, param in enumerate(made.params):
        reason = why_serial(nest_with_outermost(made, number), facts, bench.legality, named)
        if reason is not None:
            bench.note(
                f"the loop over {loop.var.name} stays around the map over {param.name}: {reason}", loop, done=False
            )
            return None
    bench.note(f"the loop over {loop.var.name} runs inside of the map", loop, done=True)
    return _checked(made, facts, bench)


def _at_points(loop: Loop, inside: Sequence[Node], last: Continue, domain: Map, bench: Bench) -> Map:
    """The loop at every point of its maps; what it carries in arrays are numbers that it carries."""
    refs = {name for node in (loop, *all_nodes(loop.body)) for name in _bound_by(node)}
    own = refs | {name for node in all_nodes(loop.body) for name in allocated_by(node)}
    written = frozenset(name for node in all_nodes(loop.body) for name in written_by(node))
    if not refs.isdisjoint(written) or not _end_with(loop, bench):
        raise NotPointwiseError
    point = Point(domain.params, domain.ranges, frozenset(own), written - own, bench)
    before: list[Node] = []
    carries: list[Carry] = []
    held: Held = {}
    for carry in loop.carries:
        if not isinstance(carry.target, str) or not isinstance(carry.init, View):
            raise NotPointwiseError  # a number is one for all points, and may be of use after the loop
        start = point.element(carry.init, {}, before)
        number = bench.value(carry.target.partition(".")[0], point.type_of(carry.target))
        held[carry.target] = number
        carries.append(Carry(number, start))
    body = point.nodes(inside, held)
    given = [item if not isinstance(item, View) else point.element(item, held, body) for item in last.values]
    turns = replace(loop, carries=tuple(carries), body=Region((*body, Continue(tuple(given)))))
    return replace(domain, body=Region((*before, turns)), warn=-1, id=loop.id, span=loop.span)


def _bound_by(node: Node) -> list[str]:
    match node:
        case Branch(results=targets):
            pass
        case Loop(carries=carries):
            targets = tuple(carry.target for carry in carries)
        case _:
            return []
    return [target for target in targets if isinstance(target, str)]


def _end_with(loop: Loop, bench: Bench) -> bool:
    """Whether the arrays a loop carries are of no use after it."""
    names = _bound_by(loop)
    if not names:
        return True
    whole, own = (container_uses(program) for program in (bench.program, replace(bench.program, body=Region((loop,)))))
    return all(whole[name] == own[name] for name in names)


def _is_invariant(loop: Loop, inner: Map, bench: Bench) -> bool:
    """Whether the points of the map are the same in all turns."""
    own = bench.defines(loop)
    return not any((start.values | stop.values) & own for start, stop in inner.ranges)


def _checked(node: Map, facts: Facts, bench: Bench) -> list[Node]:
    """The map, under the condition that none of its ranges ends before it starts."""
    nodes: list[Node] = [node]
    for start, stop in node.ranges:
        if not bench.legality.is_nonnegative(stop - start, facts):
            nodes = [only_if(is_less(start, stop), nodes, node.span, bench)]
    return nodes
