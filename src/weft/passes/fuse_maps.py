"""Maps over the same points become one.

before:  map (p) in [0:n] { write T[p] = exp(A[p]) }
         map (q) in [0:n] { write B[q] = multiply(T[q], C[q]) }
after:   map (p) in [0:n] { t = exp(A[p]); write T[p] = t; write B[p] = multiply(t, C[p]) }

Legal when no point of one depends on a different point of the other, and the later map may move up to the earlier one
(or that one down) past what stands between, by what is known at each place: below a guard that is more than above it.
What may warn, or reads what may not exist, does not move up past what may leave: Python may never come to it.
Worth it when they share a container: what one has loaded or computed, the other need not load. A temporary that nobody
else reads is then dead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from weft.analysis.effects import effects_of
from weft.analysis.facts import Constraint, Facts
from weft.analysis.uses import read_by, written_by
from weft.ir.exprs import Expr, Value, const_index
from weft.ir.nodes import Alloc, Map, Node, Program, Region, Tasklet
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, allocated_by, values_used_in
from weft.passes.base import Bench, Session, rewrite_regions
from weft.passes.straight_code import is_inside
from weft.passes.tasklets import can_warn, explicit, is_plain, tidy
from weft.passes.wording import lines_of
from weft.support.records import record

# A map looks for a partner among so many before it.
LOOK_BACK = 12
# More reads, lets and writes than this in one body do not fit the registers.
LARGEST = 160


@record
class FuseMaps:
    """Merge maps over equal ranges."""

    name: ClassVar[str] = "fuse-maps"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer maps."""
        bench = Bench(self.name, program, session)
        return rewrite_regions(bench, lambda region, facts: _fuse(region, facts, bench))


def _fuse(region: Region, facts: Facts, bench: Bench) -> Region:
    nodes = list(region.nodes)
    known = [facts]  # the facts before each node
    position = 0
    changed = False
    while position < len(nodes):
        node = nodes[position]
        if isinstance(node, Map) and is_plain(node):
            partner = _partner(nodes, position, known, bench)
            if partner is not None:
                nodes, position = _joined(nodes, partner, position, bench)
                known = known[: position + 1]
                changed = True
                continue
        known.append(known[-1].after(node))
        position += 1
    return Region(tuple(nodes)) if changed else region


def _joined(nodes: list[Node], partner: tuple[int, bool], position: int, bench: Bench) -> tuple[list[Node], int]:
    """The nodes with two maps made one, and where to go on."""
    number, up = partner
    first, second = nodes[number], nodes[position]
    assert isinstance(first, Map)
    assert isinstance(second, Map)
    fused = _merge(first, second, bench)
    between = nodes[number + 1 : position]
    where = lines_of([first], besides=second)
    bench.note(f"two maps over the same points are one{where and ', with that of '}{where}", second, done=True)
    middle = [fused, *between] if up else [*between, fused]
    return [*nodes[:number], *middle, *nodes[position + 1 :]], number


def _partner(nodes: list[Node], position: int, known: list[Facts], bench: Bench) -> tuple[int, bool] | None:
    """The map to merge with, and whether this one moves up to it (otherwise that one comes down)."""
    node = nodes[position]
    assert isinstance(node, Map)
    seen = 0
    for number in range(position - 1, -1, -1):
        other = nodes[number]
        if not isinstance(other, Map):
            continue
        seen += 1
        if seen > LOOK_BACK:
            return None
        if not _share(other, node):
            continue
        for up in (True, False):
            # What guards in between establish does not hold above them: a program that leaves there has run it all.
            if _may_join(other, node, known[number if up else position], bench) and _may_move(
                nodes, number, position, known, bench, up=up
            ):
                return number, up
    return None


def _may_join(first: Map, second: Map, facts: Facts, bench: Bench) -> bool:
    if not _alike(first, second, facts, bench):
        return False
    meeting = bench.legality.elsewhere(first, second, facts)
    if meeting:
        sink = meeting[0].sink.container
        bench.note(f"two maps stay apart: {meeting[0].kind.value} dependence on {sink}", second, done=False)
    return not meeting


def _alike(first: Map, second: Map, facts: Facts, bench: Bench) -> bool:
    """Whether two maps are plain, not too large, and over the same points."""
    if len(first.params) != len(second.params) or not is_plain(first) or _size(first) + _size(second) > LARGEST:
        return False
    for (a, b), (c, d) in zip(first.ranges, second.ranges, strict=True):
        for left, right in ((a, c), (b, d)):
            if left is right:
                continue
            if (left - right).constant is not None:
                return False
            if not bench.legality.holds(Constraint(left - right, equal=True), facts):
                return False
    return True


def _share(first: Map, second: Map) -> bool:
    return not _touched(first).isdisjoint(_touched(second))


def _touched(node: Map) -> set[str]:
    found: set[str] = set()
    for inner in node.body.nodes:
        found.update(read_by(inner))
        found.update(written_by(inner))
    return found


def _size(node: Map) -> int:
    return sum(
        len(inner.reads) + len(inner.lets) + len(inner.writes)
        for inner in all_nodes(node.body)
        if isinstance(inner, Tasklet)
    )


def _may_move(nodes: list[Node], number: int, position: int, known: list[Facts], bench: Bench, *, up: bool) -> bool:
    """Whether the later map may move up to the earlier one, or that one down, past what stands between."""
    first, second = nodes[number], nodes[position]
    between = range(number + 1, position)
    ask = bench.legality.independent
    if not up:
        return all(not _allocates(nodes[n], first) and ask(first, nodes[n], known[n]) for n in between)
    defined = frozenset[Value]().union(*(bench.defines(nodes[n]) for n in between))
    if not defined.isdisjoint(values_used_in(Region((second,)))):
        return False
    if any(_may_end(nodes[n]) for n in between) and (_may_warn(second) or not _is_inside(second, known[number], bench)):
        return False  # Python may never come to it
    return all(not _allocates(nodes[n], second) and ask(nodes[n], second, known[n]) for n in between)


def _may_end(node: Node) -> bool:
    """Whether the program may leave in a node, for more than want of memory."""
    return effects_of(node).leaves and not isinstance(node, Alloc)


def _may_warn(node: Node) -> bool:
    assert isinstance(node, Map)
    tasklets = [inner for inner in all_nodes(node.body) if isinstance(inner, Tasklet)]
    lets = [let for tasklet in tasklets for let in tasklet.lets if let.warn >= 0 or node.warn >= 0]
    written = [expr for tasklet in tasklets for _, expr in tasklet.writes if node.warn >= 0]
    return any(map(can_warn, (*(let.expr for let in lets), *written)))


def _is_inside(node: Node, facts: Facts, bench: Bench) -> bool:
    """Whether all that a map touches exists, by what is known at a place; not where positions are read from memory."""
    assert isinstance(node, Map)
    for param, (start, stop) in zip(node.params, node.ranges, strict=True):
        facts = facts.in_range(param, start, stop, const_index(1))
    tasklets = [inner for inner in all_nodes(node.body) if isinstance(inner, Tasklet)]
    reads = [memlet for tasklet in tasklets for _, memlet in tasklet.reads]
    writes = [memlet for tasklet in tasklets for memlet, _ in tasklet.writes]
    return all(is_inside(memlet, facts, bench) for memlet in (*reads, *writes))


def _allocates(node: Node, user: Node) -> bool:
    return isinstance(user, Map) and any(name in _touched(user) for name in allocated_by(node))


def _merge(first: Map, second: Map, bench: Bench) -> Map:
    left, right = explicit(first, bench), explicit(second, bench)
    bindings: dict[Value, Expr] = dict(zip(right.params, left.params, strict=True))
    body = with_fresh_values(right.body.nodes, bench.number, bindings)
    joined = replace(left, body=Region((*left.body.nodes, *body)), span=second.span or first.span)
    return tidy(joined, bench)
