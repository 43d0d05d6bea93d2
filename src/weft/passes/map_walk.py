"""The maps and loops of a program that stand in no map, with places to allocate memory for what goes out of them.

in:   a rule that gives the nodes to put for such a node, or None for "not mine"
out:  the program with the rule applied, and what the rule allocated in front of the node or of a loop around it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from weft.analysis.facts import Facts
from weft.ir.dtypes import DType
from weft.ir.exprs import Index, const_index
from weft.ir.nodes import Alloc, Axis, Branch, Loop, Node, Program, Region, Site, View, While, full_view
from weft.passes.base import Bench
from weft.passes.open_sites import Around, OpenSite, allocate_outside, most_outside, open_site, writes_of
from weft.support.records import record
from weft.support.spans import Span

Rule: TypeAlias = "Callable[[Node, MapWalk, OpenSite | None], list[Node] | None]"


@record
class Room:
    """An array, and what allocates it in front of the map; nothing where that stands further out."""

    view: View
    allocs: tuple[Alloc, ...]


class MapWalk:
    """All nodes that stand in no map, innermost loops first; `rule` gives what to put for one, or None.

    `facts` hold where the present node stands, `loops` are those around it with the facts in front of them.
    """

    def __init__(self, bench: Bench, rule: Rule) -> None:
        self.bench = bench
        self.rule = rule
        self.writes = writes_of(bench.program, bench.legality.memory)
        self.around: list[Around] = []
        self.loops: list[tuple[Loop | While, Facts]] = []
        self.facts = bench.session.facts

    def program(self) -> Program:
        """The program with the rule applied."""
        program = self.bench.program
        body = self.region(program.body, None)
        if body is program.body:
            return program
        return replace(program, body=body, containers=dict(self.bench.containers))

    def region(self, region: Region, site: OpenSite | None) -> Region:
        """A region; `site` is open at its head."""
        nodes: list[Node] = []
        for node in region.nodes:
            if isinstance(node, Site):
                site = open_site(node)
            if isinstance(node, Loop | While):
                self.around.append(Around(site, self.bench.defines(node)))
                self.loops.append((node, self.facts))
                inner = self.inside(node, site)
                self.loops.pop()
                nodes += self.around.pop().allocs
            else:
                inner = self.inside(node, site)
            made = self.rule(inner, self, site)
            nodes += [inner] if made is None else made
            self.facts = self.facts.after(node)
            if site is not None and self.writes.close(node, site):
                site = None
        return region if tuple(nodes) == region.nodes else Region(tuple(nodes))

    def inside(self, node: Node, site: OpenSite | None) -> Node:
        """A node with the rule applied inside of it."""
        known = self.facts.inside(node, self.bench.legality.memory)
        match node:
            case Loop() | While():
                kept = None if site is None or self.writes.close(node, site) else site
                body = self._under(known[0], node.body, kept)
                return node if body is node.body else replace(node, body=body)
            case Branch():
                then, orelse = self._under(known[0], node.then, site), self._under(known[1], node.orelse, site)
                return node if then is node.then and orelse is node.orelse else replace(node, then=then, orelse=orelse)
            case _:  # memory cannot be allocated in a map
                return node

    def _under(self, facts: Facts, region: Region, site: OpenSite | None) -> Region:
        outer, self.facts = self.facts, facts
        made = self.region(region, site)
        self.facts = outer
        return made

    def allocate(
        self, name: str, dtype: DType, extents: tuple[Index, ...], site: OpenSite | None, span: Span | None
    ) -> Room | None:
        """Memory for an array: here if a site is open, or in front of a loop around; None if there is no such place.

        In front of loops on which its extents depend, once for all turns, it is as large as it ever needs to be.
        """
        alloc = Alloc(container="", site=-1, id=self.bench.number(), span=span)
        most = tuple(m for extent in extents if (m := most_outside(extent, self.around)) is not None)
        if len(most) == len(extents) and (site is None or most != extents):
            made = self.bench.container(name, dtype, most)
            if allocate_outside(replace(alloc, container=made.name), made, self.around):
                return Room(_corner(made.name, extents), ())
            del self.bench.containers[made.name]
        if site is None:
            return None
        made = self.bench.container(name, dtype, extents)
        return Room(full_view(made), (replace(alloc, container=made.name, site=site.number),))


def _corner(name: str, extents: tuple[Index, ...]) -> View:
    """The elements that come first along each axis."""
    one = const_index(1)
    return View(name, extents, tuple(Axis(one * 0, ((axis, one),)) for axis in range(len(extents))))
