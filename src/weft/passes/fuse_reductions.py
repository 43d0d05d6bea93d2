"""Reductions over the same elements go through memory together.

before:  reduce minimum l = A[:] axes (0); low = l[]; reduce maximum h = A[:] axes (0); high = h[]
after:   reduce minimum l = A[:] axes (0); reduce joined maximum h = A[:] axes (0); low = l[]; high = h[]

Legal when the later one may move up to the earlier one past what stands between. It takes along the memory of its
result, which has the site above it then, and the numbers it needs, if these may move, too. It stays below guards and
all else through which the program may leave: what they have found holds for it, and Python would repeat its warnings.
Worth it when both have the same extents and read the same container along them: that need not be fetched a second
time, and code generation computes what the elements have in common once.

They come together before memory is shared, which would give them one place for both results; what is joined is decided
when nothing can come between them any more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final

from weft.analysis.effects import effects_of
from weft.analysis.facts import Facts
from weft.ir.nodes import Alloc, Elements, Guard, Node, Program, Reduce, Region, Site, Tasklet
from weft.ir.ops import combines_freely
from weft.ir.traverse import inner_regions, touched_containers, values_used_in
from weft.passes.base import Bench, Session, rewrite_regions
from weft.support.records import record

# A reduction looks for a partner among so many before it.
_LOOK_BACK: Final = 8
# More results than this at a time do not fit the registers.
_LARGEST: Final = 6
# So many elements lie in the nearest cache, and loops over them are written out.
_FEW: Final = 128


@record
class FuseReductions:
    """Join reductions of equal extents; without `marked`, they are only brought together."""

    name: ClassVar[str] = "fuse-reductions"
    marked: bool = True

    def run(self, program: Program, session: Session) -> Program:
        """The program with its reductions joined."""
        if not _has_two(program.body):
            return program
        bench = Bench(self.name, program, session)
        return rewrite_regions(bench, lambda region, facts: _join(region, facts, bench, marked=self.marked))


def _count(region: Region) -> int:
    return sum(isinstance(node, Reduce) for node in region.nodes)


def _has_two(region: Region) -> bool:
    """Whether two reductions stand in one region."""
    return _count(region) > 1 or any(_has_two(inner) for node in region.nodes for inner in inner_regions(node))


def _join(region: Region, facts: Facts, bench: Bench, *, marked: bool) -> Region:
    if _count(region) < 2:
        return region
    nodes = list(region.nodes)
    known = [facts]  # the facts before each node
    changed = False
    for position in range(len(nodes)):
        node = nodes[position]
        known.append(known[-1].after(node))
        found = _partner(nodes, position, known, bench) if isinstance(node, Reduce) else None
        if found is None or (not marked and all(isinstance(other, Reduce) for other in nodes[found[0] : position])):
            continue
        nodes = _moved(nodes, *found, position, marked=marked)
        known = _known(nodes[: position + 1], facts)
        changed = True
        if marked:
            bench.note("two reductions go through memory together", node, done=True)
    return Region(tuple(nodes)) if changed else region


def _known(nodes: list[Node], facts: Facts) -> list[Facts]:
    known = [facts]
    for node in nodes:
        known.append(known[-1].after(node))
    return known


def _partner(nodes: list[Node], position: int, known: list[Facts], bench: Bench) -> tuple[int, list[int]] | None:
    """Where the reductions begin that this one can go with, and the nodes it takes along."""
    node, seen = nodes[position], 0
    assert isinstance(node, Reduce)
    if not _is_free(node, bench) or node.joined:
        return None
    for number in range(position - 1, -1, -1):
        other = nodes[number]
        if isinstance(other, Guard):
            return None
        if not isinstance(other, Reduce) or other.joined:
            continue
        seen += 1
        if seen > _LOOK_BACK:
            return None
        if _pays(nodes, number, node, bench):
            along = _taken_along(nodes, number, position, bench)
            if along is not None and _may_move(nodes, number, [*along, position], known, bench):
                return number, along
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


def _taken_along(nodes: list[Node], start: int, position: int, bench: Bench) -> list[int] | None:
    """The nodes from `start` on that a reduction cannot do without; None if one of them must stay."""
    node = nodes[position]
    assert isinstance(node, Reduce)
    needed = values_used_in(Region((node,)))
    sites = {below.number for below in nodes[start:position] if isinstance(below, Site)}
    along: list[int] = []
    for number in range(position - 1, start - 1, -1):
        match nodes[number]:
            case Alloc(container=name, site=site) if name == node.output.container:
                if site in sites and _open_site(nodes[:start]) is None:
                    return None
                needed |= {value for extent in bench.containers[name].shape for value in extent.values}
            case Tasklet(writes=()) as numbers if not bench.defines(numbers).isdisjoint(needed):
                needed |= values_used_in(Region((numbers,)))
            case other if not bench.defines(other).isdisjoint(needed):
                return None
            case _:
                continue
        along.insert(0, number)
    return along


def _open_site(above: list[Node]) -> int | None:
    """The site from which Python can start again below these nodes, where that is plain to see."""
    for node in reversed(above):
        match node:
            case Site(number=number) | Alloc(site=number) if number >= 0:
                return number
            case Alloc():
                continue
            case Tasklet(lets=lets, writes=()) if all(let.warn < 0 for let in lets):
                continue
            case _:
                return None
    return None


def _may_move(nodes: list[Node], start: int, moving: list[int], known: list[Facts], bench: Bench) -> bool:
    """Whether nodes may move up to `start`, past all others that stand between."""
    ask, overlap = bench.legality.independent, bench.legality.memory.may_overlap
    for passed in range(start, moving[-1]):
        node, below = nodes[passed], [nodes[number] for number in moving if number > passed]
        if passed in moving:
            continue
        if isinstance(node, Alloc):
            if any(overlap(node.container, name) for other in below for name in touched_containers(other)):
                return False
        elif _may_end(node):
            return False
        # Memory may be asked for earlier: where there is none, less has happened.
        if not all(isinstance(other, Alloc) or ask(node, other, known[passed]) for other in below):
            return False
    return True


def _may_end(node: Node) -> bool:
    """Whether the program may leave in a node, or go on elsewhere."""
    effects = effects_of(node)
    return effects.leaves or effects.jumps


def _moved(nodes: list[Node], start: int, along: list[int], position: int, *, marked: bool) -> list[Node]:
    """The nodes with a reduction behind those that begin at `start`, and what it takes along in front of them."""
    node, end = nodes[position], start + _size(nodes, start)
    assert isinstance(node, Reduce)
    rest = [nodes[number] for number in range(end, position) if number not in along]
    sites = {below.number for below in nodes[start:position] if isinstance(below, Site)}
    front = [_at_site(nodes[number], sites, _open_site(nodes[:start])) for number in along]
    return [*nodes[:start], *front, *nodes[start:end], replace(node, joined=marked), *rest, *nodes[position + 1 :]]


def _at_site(node: Node, sites: set[int], above: int | None) -> Node:
    """A node that moves up past sites: it leaves through the one above."""
    return replace(node, site=above) if isinstance(node, Alloc) and node.site in sites and above is not None else node
