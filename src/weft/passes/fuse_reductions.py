"""Reductions over the same elements go through memory together.

before:  reduce minimum l = A[:] axes (0); low = l[]; reduce maximum h = A[:] axes (0); high = h[]
after:   reduce minimum l = A[:] axes (0); reduce joined maximum h = A[:] axes (0); low = l[]; high = h[]

Legal when the later one needs nothing that is computed from the earlier one on, and writes nothing that is used there;
it takes along the memory of its result. It stays below guards and all else through which the program may leave: what
they have found holds for it, and Python would repeat its warnings. Worth it when both have the same extents and read
the same container along them: each then need not be fetched a second time, and code generation computes what the
elements have in common once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from weft.analysis.effects import effects_of
from weft.analysis.facts import Facts
from weft.ir.exprs import Value
from weft.ir.nodes import Alloc, Elements, Node, Program, Reduce, Region, Site
from weft.ir.ops import combines_freely
from weft.ir.traverse import values_used_in
from weft.passes.base import Bench, Session, rewrite_regions

# A reduction looks for a partner among so many before it.
_LOOK_BACK: Final = 8
# More results than this at a time do not fit the registers.
_LARGEST: Final = 4
# So many elements lie in the nearest cache, and loops over them are written out.
_FEW: Final = 128


@dataclass(frozen=True, slots=True)
class FuseReductions:
    """Join reductions of equal extents."""

    name: ClassVar[str] = "fuse-reductions"

    def run(self, program: Program, session: Session) -> Program:
        """The program with its reductions joined."""
        bench = Bench(self.name, program, session)
        return rewrite_regions(bench, lambda region, facts: _join(region, facts, bench))


def _join(region: Region, facts: Facts, bench: Bench) -> Region:
    if sum(isinstance(node, Reduce) for node in region.nodes) < 2:
        return region
    nodes = list(region.nodes)
    known = [facts]  # the facts before each node
    changed = False
    for position in range(len(nodes)):
        node = nodes[position]
        known.append(known[-1].after(node))
        start = _partner(nodes, position, known, bench) if isinstance(node, Reduce) else None
        if start is not None:
            nodes = _moved(nodes, start, position)
            known = _known(nodes[: position + 1], facts)
            changed = True
            bench.note("two reductions go through memory together", node, done=True)
    return Region(tuple(nodes)) if changed else region


def _known(nodes: list[Node], facts: Facts) -> list[Facts]:
    known = [facts]
    for node in nodes:
        known.append(known[-1].after(node))
    return known


def _partner(nodes: list[Node], position: int, known: list[Facts], bench: Bench) -> int | None:
    """Where the reductions begin that this one can go with."""
    node, seen = nodes[position], 0
    assert isinstance(node, Reduce)
    if not _is_free(node, bench) or node.joined:
        return None
    for number in range(position - 1, -1, -1):
        other = nodes[number]
        effects = effects_of(other)
        if effects.jumps or (effects.leaves and not isinstance(other, Alloc)):
            return None
        if not isinstance(other, Reduce) or other.joined:
            continue
        seen += 1
        if seen > _LOOK_BACK:
            return None
        if _pays(nodes, number, node, bench) and _may_move(nodes, number, position, known, bench):
            return number
    return None


def _is_free(node: Reduce, bench: Bench) -> bool:
    """Whether all elements are combined, in any order."""
    return combines_freely(node.op, bench.containers[node.output.container].dtype)


def _pays(nodes: list[Node], start: int, node: Reduce, bench: Bench) -> bool:
    """Whether a reduction reads along the same extents what those beginning at `start` read, and there is room."""
    first, together = nodes[start], _size(nodes, start)
    assert isinstance(first, Reduce)
    if first.input.shape != node.input.shape or first.axes != node.axes or together == _LARGEST:
        return False
    if not _is_free(first, bench) or _is_short(node):
        return False
    read = {name for number in range(start, start + together) for name in _moving(nodes[number])}
    return not read.isdisjoint(_moving(node))


def _size(nodes: list[Node], start: int) -> int:
    """How many reductions already go together."""
    end = start + 1
    while end < len(nodes) and isinstance(other := nodes[end], Reduce) and other.joined:
        end += 1
    return end - start


def _is_short(node: Reduce) -> bool:
    extents = [node.input.shape[axis].constant for axis in node.axes]
    size = 1
    for extent in extents:
        if extent is None:
            return False
        size *= extent
    return size < _FEW


def _moving(node: Node) -> set[str]:
    """The containers of which a reduction reads other elements for other elements of its input."""
    assert isinstance(node, Reduce)
    if not isinstance(node.input, Elements):
        return {node.input.container}
    params = frozenset(node.input.params)
    return {
        memlet.container
        for tasklet in node.input.body
        for _, memlet in tasklet.reads
        if any(not coordinate.values.isdisjoint(params) for coordinate in memlet.index)
    }


def _may_move(nodes: list[Node], start: int, position: int, known: list[Facts], bench: Bench) -> bool:
    """Whether a reduction may move up to the one at `start`, past what stands between, with the memory it writes."""
    node, between = nodes[position], range(start, position)
    assert isinstance(node, Reduce)
    memory = [n for n in between if _is_memory(nodes[n], node)]
    defined = frozenset[Value]().union(*(bench.defines(nodes[n]) for n in between))
    used = values_used_in(Region((node, *(nodes[n] for n in memory))))
    if not defined.isdisjoint(used | _extents(node, bench)):
        return False
    sites = {below.number for n in between if isinstance(below := nodes[n], Site)}
    if any(isinstance(alloc := nodes[n], Alloc) and alloc.site in sites for n in memory):
        return False
    return all(n in memory or bench.legality.independent(nodes[n], node, known[n]) for n in between)


def _is_memory(node: Node, user: Reduce) -> bool:
    return isinstance(node, Alloc) and node.container == user.output.container


def _extents(node: Reduce, bench: Bench) -> frozenset[Value]:
    """The values in the shape of the result."""
    return frozenset(value for extent in bench.containers[node.output.container].shape for value in extent.values)


def _moved(nodes: list[Node], start: int, position: int) -> list[Node]:
    """The nodes with a reduction behind those that begin at `start`, and its memory in front of them."""
    node, end = nodes[position], start + _size(nodes, start)
    assert isinstance(node, Reduce)
    between = nodes[end:position]
    memory = [other for other in between if _is_memory(other, node)]
    rest = [other for other in between if other not in memory]
    joined = replace(node, joined=True)
    return [*nodes[:start], *memory, *nodes[start:end], joined, *rest, *nodes[position + 1 :]]
