"""What a map computes of an operand that nobody looks at afterwards is written over it.

before:  alloc T site 1                                after:   alloc U site 1
         T = ...                                                U = ...
         alloc U site 1
         map (i) { U[i] = f(T[i], ...) }                        map (i) { U[i] = f(U[i], ...) }
         return U                                               return U

T and U are temporaries of one region, of the same type and layout, and of a shape that is known to be the same where T
is allocated. The map is the last node that needs T and the first that needs U (`lifetimes.py`: what a site shows is
needed as long as the program may leave through it). All reads of T in it and all writes of U are at the very same
element, known before the point runs, which is not read after it was written; and since no two points of a map write one
element, a point reads of U only what it writes itself. No ref may be T, and none that may be U is touched while T is
needed: U alone, as it leaves, may be seen in other ways. A site above the map that shows U is one that nobody leaves
through: it goes, since U may begin below it.

Warnings stay what they are: where the processor's flags do not tell them, a map that overwrites what it reads keeps the
old contents of a strip at a time, to compute it again (`codegen/fp_flags.py`). So only maps of plain tasklets are
changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import ClassVar

from weft.analysis.facts import Facts
from weft.analysis.lifetimes import end, lifetimes
from weft.ir.exprs import Index, Value
from weft.ir.nodes import Alloc, Map, Memlet, Node, Program, Region, Return, Site, Storage, Tasklet, View
from weft.ir.substitution import Substitution
from weft.ir.traverse import (
    all_nodes,
    allocated_by,
    bound_items,
    bundle_views,
    leaving_bundles,
    touched_containers,
    values_defined_in,
)
from weft.passes.base import Bench, Session, rewrite_nodes, rewrite_regions
from weft.support.records import record


@record
class InPlace:
    """Let results of element-wise maps take over the memory of operands."""

    name: ClassVar[str] = "in-place"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer temporaries."""
        takeover = _Takeover(Bench(self.name, program, session))
        return rewrite_regions(takeover.bench, takeover.region)


class _Takeover:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.memory = bench.legality.memory
        self.seen = frozenset(_seen(bench.program))

    def region(self, region: Region, facts: Facts) -> Region:
        """A region in which maps overwrite what dies in them."""
        nodes, place = list(region.nodes), 0
        while place < len(nodes):
            node = nodes[place]
            pair = self.pair(nodes, place, node, facts) if isinstance(node, Map) else None
            if pair is None:
                place += 1
            else:
                above = _without_showing(nodes[:place], pair[1])
                nodes, place = self.merged([*above, *nodes[place:]], node, *pair), len(above)
                place -= 1  # an allocation above is gone: the same map once more
        return region if len(nodes) == len(region.nodes) else Region(tuple(nodes))

    def pair(self, nodes: Sequence[Node], place: int, node: Map, facts: Facts) -> tuple[str, str] | None:
        """An operand that a map may overwrite, and the result that takes its memory."""
        pairs = [(old, new) for old, new in _overwritable(node) if self.is_alike(old, new)]
        if not pairs:
            return None
        own = {name: at for at, above in enumerate(nodes[:place]) for name in allocated_by(above)}
        asked = {above.container for above in nodes[:place] if isinstance(above, Alloc)}
        times = lifetimes(nodes, self.bench.containers)
        for old, new in pairs:
            if old not in own or new not in asked or times.last[old] != end(place) or times.first[new] != end(place):
                continue
            since = nodes[times.first[old] // 2 : place + 1]
            if any(self.may_be(name, new) for above in since for name in touched_containers(above)):
                continue
            if self.is_as_large(old, new, nodes, own[old], facts):
                return old, new
        return None

    def is_as_large(self, old: str, new: str, nodes: Sequence[Node], place: int, facts: Facts) -> bool:
        """Whether two containers have the same extents, those of the new one known where the old one begins."""
        left, right = self.bench.containers[old].shape, self.bench.containers[new].shape
        if left == right:
            return True
        used = frozenset(value for extent in right for value in extent.values)
        if any(not used.isdisjoint(self.bench.defines(node)) for node in nodes[place:]):
            return False
        for node in nodes[:place]:
            facts = facts.after(node)
        more = (difference for a, b in zip(left, right, strict=True) if a != b for difference in (a - b, b - a))
        return all(self.bench.legality.is_nonnegative(difference, facts) for difference in more)

    def is_alike(self, old: str, new: str) -> bool:
        """Whether two containers are temporaries that can be one; nothing else may stand for the old one."""
        left, right = self.bench.containers[old], self.bench.containers[new]
        if left.storage is not Storage.TRANSIENT or right.storage is not Storage.TRANSIENT or old in self.seen:
            return False
        return (left.dtype, left.layout, left.rank) == (right.dtype, right.layout, right.rank)

    def may_be(self, name: str, new: str) -> bool:
        """Whether a container may stand for another one."""
        return name != new and new in self.memory.roots(name)

    def merged(self, nodes: Sequence[Node], node: Node, old: str, new: str) -> list[Node]:
        """The nodes with one container in place of two."""
        del self.bench.containers[old]
        self.bench.note(f"{_plain(new)} is computed in the memory of {_plain(old)}", node, done=True)
        chosen = Substitution(containers={old: new})
        return [chosen.node(n) for n in nodes if not (isinstance(n, Alloc) and n.container == new)]


def _without_showing(nodes: Sequence[Node], name: str) -> tuple[Node, ...]:
    """The nodes less the sites among them and inside them that show a container."""

    def rule(node: Node) -> tuple[Node, ...] | None:
        shown = (view.container for bundle in leaving_bundles(node) for view in bundle_views(bundle))
        return () if isinstance(node, Site) and name in shown else None

    return rewrite_nodes(Region(tuple(nodes)), rule).nodes


def _plain(name: str) -> str:
    return name.partition(".")[0]


def _seen(program: Program) -> Iterator[str]:
    """The containers that are seen in other ways than by their name or through a site."""
    for container in program.containers.values():
        yield from (container.base, *container.may_alias)
    for node in all_nodes(program.body):
        yield from (item.container for item in bound_items(node) if isinstance(item, View))
        if isinstance(node, Return):
            yield from (view.container for bundle in leaving_bundles(node) for view in bundle_views(bundle))


# ---- what a map reads and writes at one element ---------------------------------------------------------------------


@record(frozen=False)
class _Elements:
    """The elements of a container that a point touches, and the first and the last tasklet that does."""

    first: int
    last: int
    indices: set[tuple[Index, ...]] = field(default_factory=set[tuple[Index, ...]])


def _overwritable(node: Map) -> Iterator[tuple[str, str]]:
    """Pairs of a container a point only reads and one it only writes, at one element, which it reads first."""
    tasklets = [x for x in node.body.nodes if isinstance(x, Tasklet)]
    if not node.params or len(tasklets) != len(node.body.nodes):
        return
    writes = [(place, memlet) for place, x in enumerate(tasklets) for memlet, _ in x.writes]
    inside = frozenset[Value]().union(*map(values_defined_in, tasklets))
    if any(memlet.conflict or any(not inside.isdisjoint(i.values) for i in memlet.index) for _, memlet in writes):
        return
    written = _by_container(writes)
    read = _by_container([(place, memlet) for place, x in enumerate(tasklets) for _, memlet in x.reads])
    for new, results in written.items():
        for old, operands in read.items():
            apart = new not in read and old not in written and operands.last <= results.first
            if apart and len(results.indices) == 1 and operands.indices == results.indices:
                yield old, new


def _by_container(memlets: Sequence[tuple[int, Memlet]]) -> dict[str, _Elements]:
    found: dict[str, _Elements] = {}
    for place, memlet in memlets:
        elements = found.setdefault(memlet.container, _Elements(place, place))
        elements.last = place
        elements.indices.add(memlet.index)
    return found
