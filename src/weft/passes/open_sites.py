"""Sites that the program can still be taken back to: nothing that Python would see there has been written since."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

from weft.analysis.facts import Facts
from weft.analysis.memory import Memory, made_in_loops
from weft.analysis.uses import written_by
from weft.ir.exprs import Index, Value
from weft.ir.nodes import Alloc, Branch, Container, Elementwise, Guard, Loop, Map, Node, Program, Region, Site, While
from weft.ir.traverse import bundle_views, inner_regions, leaving_bundles
from weft.support.records import record


@record
class OpenSite:
    """The number of a site, and the containers it shows."""

    number: int
    shown: frozenset[str]


def open_site(site: Site) -> OpenSite:
    """A site that has just been passed."""
    shown = (view.container for bundle in leaving_bundles(site) for view in bundle_views(bundle))
    return OpenSite(site.number, frozenset(name for name in shown if name))


@record
class Around:
    """A loop around a place: the site open in front of it, the values it defines, what is to be allocated there."""

    site: OpenSite | None
    defined: frozenset[Value]
    allocs: list[Alloc] = field(default_factory=list[Alloc])


def allocate_outside(alloc: Alloc, container: Container, loops: Sequence[Around]) -> bool:
    """Put an allocation in front of the nearest of the loops around (outermost first) that has an open site there."""
    used = frozenset(value for extent in container.shape for value in extent.values)
    for around in reversed(loops):
        if not used.isdisjoint(around.defined):
            return False
        if around.site is not None:
            around.allocs.append(replace(alloc, site=around.site.number))
            return True
    return False


def most_outside(extent: Index, loops: Sequence[Around]) -> Index | None:
    """What an extent is at most in all turns of the loops around; None where their variables do not say."""
    varying = frozenset[Value]().union(*(around.defined for around in loops))
    while inside := extent.values & varying:
        value = max(inside, key=lambda x: x.id)  # inner loops first: their bounds may be those of outer ones
        factors = [factor for monomial, factor in extent.terms if value in monomial]
        bound = value.ceiling if factors[0] > 0 else value.floor
        alone = len(factors) == 1 and ((value,), factors[0]) in extent.terms
        if not alone or bound is None or value in bound.values:
            return None
        extent = extent.substitute({value: bound})
    return extent


def sites_above(region: Region, site: int = -1) -> dict[int, int]:
    """For every element-wise operation the last site passed, through which it leaves if memory for a copy is short."""
    sites: dict[int, int] = {}
    for node in region.nodes:
        if isinstance(node, Site):
            site = node.number
        if isinstance(node, Elementwise):
            sites[node.id] = site
        for inner in inner_regions(node):
            sites |= sites_above(inner, site)
    return sites


def writes_of(program: Program, memory: Memory) -> Writes:
    """What the nodes of a program write."""
    return Writes(memory, made_in_loops(program.body))


@record
class Writes:
    """What nodes write, each looked at once. `apart`: pairs of containers that share no memory."""

    memory: Memory
    apart: frozenset[frozenset[str]]
    _known: dict[int, tuple[Node, frozenset[str]]] = field(default_factory=dict[int, tuple[Node, frozenset[str]]])
    _roots: dict[frozenset[str], frozenset[str]] = field(default_factory=dict[frozenset[str], frozenset[str]])

    def close(self, node: Node, site: OpenSite) -> bool:
        """Whether a node writes what Python would see at a site."""
        names = self.of(node)
        if not names:
            return False
        if any(map(self.memory.is_observable, names)):
            return True
        if self._memory_of(names).isdisjoint(self._memory_of(site.shown)):
            return False
        return any(self.memory.may_overlap(name, other, self.apart) for name in names for other in site.shown)

    def _memory_of(self, names: frozenset[str]) -> frozenset[str]:
        """All containers whose memory some containers may be."""
        found = self._roots.get(names)
        if found is None:
            found = self._roots[names] = frozenset[str]().union(*map(self.memory.roots, names))
        return found

    def of(self, node: Node) -> frozenset[str]:
        """The containers a node writes, or that are written inside it."""
        found = self._known.get(id(node))
        if found is None:
            inside = (self.of(inner) for region in inner_regions(node) for inner in region.nodes)
            names = frozenset(written_by(node)).union(*inside)
            found = self._known[id(node)] = (node, names)  # kept, so that its address stays its own
        return found[1]


@record(frozen=False)
class LastSite:
    """The last site of a region that a guard leaves through, while nothing is written that Python would see there."""

    writes: Writes
    _order: dict[int, int] = field(default_factory=dict[int, int])  # site -> when it was passed
    _passed: OpenSite | None = None
    _left: OpenSite | None = None

    def pass_node(self, node: Node) -> Node:
        """The next node of the region; an allocation with the site it can best leave through."""
        match node:
            case Site(number=number):
                self._passed = open_site(node)
                self._order[number] = len(self._order) + 1
            case Guard(site=number) if self._passed is not None and number == self._passed.number:
                self._left = self._passed
            case Alloc(site=number) if self._left is not None:
                if self._order.get(number, 0) < self._order[self._left.number]:
                    node = replace(node, site=self._left.number)
            case _:
                pass
        if self._passed is not None and self.writes.close(node, self._passed):
            self._passed = None
        if self._left is not None and self.writes.close(node, self._left):
            self._left = None
        return node


def rewrite_inside(
    node: Node,
    known: Sequence[Facts],
    site: OpenSite | None,
    writes: Writes,
    rewrite: Callable[[Region, Facts, OpenSite | None], Region],
) -> Node:
    """A node with its regions rewritten: under the facts that hold in each, with the site that is open at its head."""
    match node:
        case Map() | Loop() | While():
            kept = None if site is None or writes.close(node, site) else site
            body = rewrite(node.body, known[0], kept)
            return node if body is node.body else replace(node, body=body)
        case Branch():
            then, orelse = rewrite(node.then, known[0], site), rewrite(node.orelse, known[1], site)
            return node if then is node.then and orelse is node.orelse else replace(node, then=then, orelse=orelse)
        case _:
            return node
