"""A loop that cannot run in parallel because of some of its statements becomes several, one of which can.

before:  for j in 0:m { x[i] += A[i, j] * y[j];  u[j] += A[i, j] * v[i] }
after:   for j in 0:m { x[i] += A[i, j] * y[j] }
         for j in 0:m { u[j] += A[i, j] * v[i] }

The second one is a map then, the first a sum. A loop is cut between two statements where nothing that stands below the
cut in one turn meets what stands above it in a later turn: these change places, everything else stays in order. The
legality core is asked about the two, with the turn of each as an unknown in just that order. What is only read or
computed above and needed below is computed again. Worth it where a part has independent turns and the whole has not;
parts that have them stay together, and so do those that have not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from weft.analysis.facts import Facts
from weft.analysis.uses import written_by
from weft.ir.exprs import Value
from weft.ir.nodes import Alloc, Continue, Loop, Map, Node, Program, Reduce, Region, Storage, Tasklet
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, allocated_by, touched_containers, values_defined_in, values_used_in
from weft.passes.base import Bench, Session
from weft.passes.loop_bodies import later_turn, rewrite_loops, straight
from weft.passes.wording import why_serial
from weft.support.records import record


@record
class DistributeLoops:
    """Cut loops in parts where one of them gains by it."""

    name: ClassVar[str] = "distribute-loops"

    def run(self, program: Program, session: Session) -> Program:
        """The program with more loops, and fewer that are in order."""
        loops = (node for node in all_nodes(program.body) if isinstance(node, Loop))
        if not any(_has_several(loop) for loop in loops):
            return program
        return rewrite_loops(self.name, program, session, _distribute)


def _has_several(loop: Loop) -> bool:
    """Whether several nodes of a loop write, and it passes no values on."""
    return not loop.carries and sum(bool(_written(node)) for node in loop.body.nodes) > 1


def _distribute(loop: Loop, facts: Facts, bench: Bench, named: frozenset[int]) -> list[Node] | None:
    body = straight(loop, named) if _has_several(loop) else None
    if body is None or not all(_is_simple(node, bench) for node in body):
        return None
    if why_serial(loop, facts, bench.legality, named) is None:
        return None
    parts = _Parts(loop, facts, bench, named)
    groups = parts.grouped(parts.cut(parts.raised(body)))
    if len(groups) < 2:
        return None
    bench.note(f"the loop over {loop.var.name} becomes {len(groups)}, some of them independent", loop, done=True)
    first, *others = (parts.loop(group) for group in groups)
    return [first, *(x for other in others for x in with_fresh_values((other,), bench.number, {}))]


def _is_simple(node: Node, bench: Bench) -> bool:
    match node:
        case Tasklet() | Map() | Reduce():
            return True
        case Alloc(container=name):  # the total of a sum
            return bench.containers[name].storage is Storage.STACK
        case Loop(carries=carries):
            return not carries
        case _:
            return False


def _written(node: Node) -> frozenset[str]:
    """The containers that a node, or one inside of it, writes."""
    return frozenset(name for inner in all_nodes(Region((node,))) for name in written_by(inner))


def _share_memory(above: Sequence[Node], below: Sequence[Node]) -> bool:
    """Whether what a turn allocates for itself above a cut is used below it."""
    own = {name for node in above for name in allocated_by(node)}
    return bool(own) and any(
        name in own for node in all_nodes(Region(tuple(below))) for name in touched_containers(node)
    )


@record
class _Parts:
    """The parts of the body of a loop that become loops of their own."""

    whole: Loop
    facts: Facts
    bench: Bench
    named: frozenset[int]

    def loop(self, nodes: Sequence[Node]) -> Loop:
        """The loop with a part of its body."""
        return replace(self.whole, body=Region((*nodes, Continue())), id=self.bench.number())

    def raised(self, body: Sequence[Node]) -> list[Node]:
        """The body with the tasklets behind loops in front of them, where neither needs the other."""
        inside = self.facts.inside(self.whole, self.bench.legality.memory)[0]
        nodes: list[Node] = []
        for node in body:
            place = len(nodes)
            while place and isinstance(node, Tasklet) and isinstance(nodes[place - 1], Loop | Map):
                above = nodes[place - 1]
                needs = values_used_in(Region((node,))) & values_defined_in(above)
                if needs or not self.bench.legality.independent(above, node, inside):
                    break
                place -= 1
            nodes.insert(place, node)
        return nodes

    def cut(self, body: Sequence[Node]) -> list[tuple[Node, ...]]:
        """The body in as many parts as may be, each with what it needs of those above."""
        written = frozenset[str]().union(*map(_written, body))
        parts, begin = list[tuple[Node, ...]](), 0
        for place in range(1, len(body)):
            above, below = body[:place], body[place:]
            if not _written(body[place - 1]) or not any(map(_written, below)):
                continue
            needed = self.needed(above, below, written)
            if needed is None or _share_memory(above, below) or self.meet(above, (*needed, *below)):
                continue
            parts.append((*(self.needed(body[:begin], body[begin:place], written) or ()), *body[begin:place]))
            begin = place
        parts.append((*(self.needed(body[:begin], body[begin:], written) or ()), *body[begin:]))
        return parts

    def needed(self, above: Sequence[Node], below: Sequence[Node], written: frozenset[str]) -> list[Node] | None:
        """What is to be computed again for the nodes below a cut; None where that may be something else by then."""
        wanted, found = set(values_used_in(Region(tuple(below)))), list[Node]()
        memory = self.bench.legality.memory
        for node in reversed(above):
            if wanted.isdisjoint(values_defined_in(node)):
                continue
            reads = touched_containers(node)
            if not isinstance(node, Tasklet) or node.writes:
                return None
            if any(memory.may_overlap(read, name) for read in reads for name in written):
                return None
            found.insert(0, node)
            wanted |= values_used_in(Region((node,)))
        return found

    def meet(self, above: Sequence[Node], below: Sequence[Node]) -> bool:
        """Whether what is above a cut may, in a later turn, touch what is below it in an earlier one."""
        later = later_turn(self.whole, above, self.bench)
        known = later.facts(self.facts, self.bench, 1)
        return bool(self.bench.legality.between(tuple(below), later.nodes, known, instances=True))

    def grouped(self, parts: Sequence[tuple[Node, ...]]) -> list[tuple[Node, ...]]:
        """Parts that are independent together, and those that are not; one group where none of them is."""
        groups, kinds = list[tuple[Node, ...]](), list[bool]()
        for part in parts:
            free = self.is_independent(part)
            if groups and kinds[-1] == free and (not free or self.is_independent(_joined(groups[-1], part))):
                groups[-1] = _joined(groups[-1], part)
            else:
                groups.append(part)
                kinds.append(free)
        return groups if any(kinds) else groups[:1]

    def is_independent(self, part: Sequence[Node]) -> bool:
        """Whether the turns of a part could run in any order."""
        return why_serial(self.loop(part), self.facts, self.bench.legality, self.named) is None


def _joined(first: tuple[Node, ...], second: tuple[Node, ...]) -> tuple[Node, ...]:
    """Two parts as one, without what the second computes again."""
    known = frozenset[Value]().union(*map(values_defined_in, first))
    return (*first, *(node for node in second if not (isinstance(node, Tasklet) and _is_there(node, known))))


def _is_there(node: Tasklet, known: frozenset[Value]) -> bool:
    return not node.writes and values_defined_in(node) <= known
