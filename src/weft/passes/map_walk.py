"""The maps of a program that stand in no other map, with places to allocate memory for what goes out of them.

in:   a rule that gives the nodes to put for a map, or None for "not mine"
out:  the program with the rule applied, and what the rule allocated in front of the map or of a loop around it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from weft.ir.dtypes import DType
from weft.ir.exprs import Index, const_index
from weft.ir.nodes import Alloc, Axis, Branch, Loop, Map, Node, Program, Region, Site, View, While, full_view
from weft.passes.base import Bench
from weft.passes.open_sites import Around, OpenSite, Writes, allocate_outside, most_outside, open_site
from weft.support.spans import Span

MapRule: TypeAlias = "Callable[[Map, MapWalk, OpenSite | None], list[Node] | None]"


@dataclass(frozen=True, slots=True)
class Room:
    """An array, and what allocates it in front of the map; nothing where that stands further out."""

    view: View
    allocs: tuple[Alloc, ...]


class MapWalk:
    """All maps that stand in no other map, innermost loops first; `rule` gives what to put for one, or None."""

    def __init__(self, bench: Bench, rule: MapRule) -> None:
        self.bench = bench
        self.rule = rule
        self.writes = Writes(bench.legality.memory)
        self.around: list[Around] = []

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
                inner = self.inside(node, site)
                nodes += self.around.pop().allocs
            else:
                inner = self.inside(node, site)
            made = self.rule(inner, self, site) if isinstance(inner, Map) else None
            nodes += [inner] if made is None else made
            if site is not None and self.writes.close(node, site):
                site = None
        return region if tuple(nodes) == region.nodes else Region(tuple(nodes))

    def inside(self, node: Node, site: OpenSite | None) -> Node:
        match node:
            case Loop() | While():
                kept = None if site is None or self.writes.close(node, site) else site
                body = self.region(node.body, kept)
                return node if body is node.body else replace(node, body=body)
            case Branch():
                then, orelse = self.region(node.then, site), self.region(node.orelse, site)
                return node if then is node.then and orelse is node.orelse else replace(node, then=then, orelse=orelse)
            case _:  # memory cannot be allocated in a map
                return node

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
