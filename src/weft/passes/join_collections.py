"""Loops that collect by one condition become one.

before:  for k in range(n): x = A[k]; if m[k]: S[at] = x; at += 1
         for k in range(n): y = B[k]; if m[k]: T[at] = y; at += 1
after:   for k in range(n): x = A[k]; y = B[k]; if m[k]: S[at] = x; T[at] = y; at += 1

Legal when both go through the same turns, ask for the same and start at the same number, neither writes what the other
touches, and the later one may move up to the earlier one (or that one down) past what stands between, with the memory
it collects in: that is then asked for where the earlier one asks for its own. Worth it always: the condition is looked
at once. So `z, c = z[keep], c[keep]` goes through `keep` once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import ClassVar

from weft.analysis.compactions import Compaction, compaction
from weft.analysis.effects import effects_of
from weft.analysis.facts import Facts
from weft.analysis.memory import made_in_loops
from weft.ir.exprs import Expr, Value, index
from weft.ir.nodes import Alloc, Branch, Loop, Node, Program, Region
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, allocated_by, touched_containers, used_values, values_used_in
from weft.passes.base import Bench, Session, rewrite_regions
from weft.support.records import record

# A loop looks for a partner among so many nodes before it.
LOOK_BACK = 24


@record
class JoinCollections:
    """Merge loops that collect by one condition."""

    name: ClassVar[str] = "join-collections"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer loops."""
        loops = [node for node in all_nodes(program.body) if isinstance(node, Loop) and node.carries]
        if len(loops) < 2:
            return program
        bench = Bench(self.name, program, session)
        joining = _Joining(bench)
        return rewrite_regions(bench, joining.region)


class _Joining:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.apart = made_in_loops(bench.program.body)
        self.looked_at = _looked_at(bench.program)

    def parts(self, node: Node) -> Compaction | None:
        if not isinstance(node, Loop):
            return None
        return compaction(node, self.bench.legality.memory, self.apart)

    def region(self, region: Region, facts: Facts) -> Region:
        nodes, known = list(region.nodes), [facts]
        position, changed = 0, False
        while position < len(nodes):
            second = self.parts(nodes[position])
            partner = None if second is None else self.partner(nodes, position, second, known)
            if partner is None or second is None:
                known.append(known[-1].after(nodes[position]))
                position += 1
                continue
            nodes, position = self.joined(nodes, partner, position, second)
            known, changed = known[: position + 1], True
        return Region(tuple(nodes)) if changed else region

    def partner(
        self, nodes: list[Node], position: int, second: Compaction, known: list[Facts]
    ) -> tuple[int, bool] | None:
        """The loop to join, and whether this one moves up to it."""
        node = nodes[position]
        if second.number in self.looked_at:
            return None
        for number in range(position - 1, max(position - LOOK_BACK, 0) - 1, -1):
            first = self.parts(nodes[number])
            if first is None or not _alike(nodes[number], first, node, second):
                continue
            if not self.bench.legality.independent(nodes[number], node, known[number]):
                continue
            for up in (True, False):
                if self.may_move(nodes, number, position, known, up=up):
                    return number, up
        return None

    def may_move(self, nodes: list[Node], number: int, position: int, known: list[Facts], *, up: bool) -> bool:
        """Whether one may go past what stands between them; what the later one writes to is allocated before."""
        moving, between = nodes[position if up else number], range(number + 1, position)
        needed = [n for n in between if not touched_containers(moving).isdisjoint(allocated_by(nodes[n]))]
        passed = [n for n in between if n not in needed]
        if needed:
            place = _allocation(nodes, number)
            if not up or place is None or not all(self.may_go(nodes, n, place) for n in needed):
                return False
        if up:
            defined = frozenset[Value]().union(*(self.bench.defines(nodes[n]) for n in between))
            if not defined.isdisjoint(values_used_in(Region((moving,)))):
                return False
            # What guards, and branches that end the program, establish in between does not hold above them.
            ends = any(effects_of(nodes[n]).leaves and not isinstance(nodes[n], Alloc) for n in between)
            if ends and not self.stays_inside(moving, known[number]):
                return False
        ask = self.bench.legality.independent
        return all(ask(nodes[n], moving, known[n]) if up else ask(moving, nodes[n], known[n]) for n in passed)

    def stays_inside(self, node: Node, facts: Facts) -> bool:
        """Whether all that a loop reads exists, by what is known at a place: it reads at its variable."""
        parts = self.parts(node)
        assert isinstance(node, Loop)
        assert parts is not None
        for memlet in (memlet for tasklet in parts.before for _, memlet in tasklet.reads):
            extents = self.bench.containers[memlet.container].shape
            if memlet.index != (index(node.var),) or node.start.constant != 0:
                return False
            if not self.bench.legality.is_nonnegative(extents[0] - node.stop, facts):
                return False
        return True

    def may_go(self, nodes: list[Node], number: int, place: int) -> bool:
        """Whether an allocation may stand further up: its extents are known there."""
        node = nodes[number]
        if not isinstance(node, Alloc):
            return False
        used = {value for extent in self.bench.containers[node.container].shape for value in extent.values}
        return all(used.isdisjoint(self.bench.defines(above)) for above in nodes[place:number])

    def joined(
        self, nodes: list[Node], partner: tuple[int, bool], position: int, second: Compaction
    ) -> tuple[list[Node], int]:
        """The nodes with two loops made one, and where to go on."""
        number, up = partner
        loop, other = nodes[number], nodes[position]
        assert isinstance(loop, Loop)
        assert isinstance(other, Loop)
        self.bench.note("two loops that collect by one condition are one", other, done=True)
        fused, between = self.merged(loop, other, second), nodes[number + 1 : position]
        if not up:
            return [*nodes[:number], *between, fused, *nodes[position + 1 :]], number
        needed = [node for node in between if not touched_containers(other).isdisjoint(allocated_by(node))]
        place = _allocation(nodes, number) if needed else number
        assert place is not None
        first = nodes[place]
        moved = [
            replace(node, site=first.site) for node in needed if isinstance(node, Alloc) and isinstance(first, Alloc)
        ]
        rest = [node for node in between if node not in needed]
        return [*nodes[:place], *moved, *nodes[place:number], fused, *rest, *nodes[position + 1 :]], number

    def merged(self, loop: Loop, other: Loop, second: Compaction) -> Loop:
        """The first loop, which does what the other one does."""
        *before, branch, last = loop.body.nodes
        assert isinstance(branch, Branch)
        number = loop.carries[0].target
        assert isinstance(number, Value)
        bindings: dict[Value, Expr] = {other.var: loop.var, second.number: index(number)}
        copies = with_fresh_values((*second.before, *second.body), self.bench.number, bindings)
        count = len(second.before)
        *body, grown = branch.then.nodes
        then = replace(branch, then=Region((*body, *copies[count:], grown)))
        return replace(loop, body=Region((*before, *copies[:count], then, last)))


def _allocation(nodes: list[Node], number: int) -> int | None:
    """Where something that a loop writes to is allocated."""
    touched = touched_containers(nodes[number])
    places = [
        n for n in range(number) if isinstance(nodes[n], Alloc) and not touched.isdisjoint(allocated_by(nodes[n]))
    ]
    return places[-1] if places else None


def _looked_at(program: Program) -> set[Value]:
    """What loops carry that somebody wants to know after them."""
    found = set[Value]()
    uses = Counter(value for node in all_nodes(program.body) for value in used_values(node))
    for loop in all_nodes(program.body):
        if isinstance(loop, Loop):
            own = Counter(value for node in all_nodes(loop.body) for value in used_values(node))
            found.update(
                c.target for c in loop.carries if isinstance(c.target, Value) and uses[c.target] > own[c.target]
            )
    return found


def _alike(node: Node, first: Compaction, other: Node, second: Compaction) -> bool:
    """Whether two loops go through the same turns, from the same number, and ask for the same."""
    assert isinstance(node, Loop)
    assert isinstance(other, Loop)
    bounds = node.start is other.start and node.stop is other.stop
    return bounds and node.carries[0].init == other.carries[0].init and first.asks(node) == second.asks(other)
