"""Temporary memory is allocated once, and used again.

before:  site 1 {...}                                  after:   site 1 {...}
         for ... { alloc T site 3; ...; continue }              alloc T site 1
                                                                for ... { ...; continue }

before:  alloc T; ... T ...; alloc U; ... U ...        after:   alloc T; ... T ...; ... T ...

An allocation leaves a loop if its extents do not depend on the loop, and if nothing but the nodes of an iteration sees
the memory while the loop runs: it is not bound to a ref or under another shape. Where it leaves the program, no further
iteration follows. Contents are undefined after `alloc`, so an iteration that reads an element has written it before:
what an earlier one left is never seen. A loop
that does not run only wastes the memory (an extent that is not negative inside the loop may be so in front of it: then
there is none). Where there is none to be had, the program leaves through a site in front of the loop, since which
nothing was written that Python could see; if there is no such site, in front of a loop further out. Points of maps do
not share memory: nothing leaves a map. Run this when loops have become maps: it makes iterations dependent.

An allocation that stays leaves, should there be no memory, through the last site that some guard leaves through and
since which nothing was written that Python could see there: what only earlier sites show need not be kept until then.

before:  site 1 {y}; t = f(y); site 2 {t}; guard ... else site 2; alloc U site 1
after:   site 1 {y}; t = f(y); site 2 {t}; guard ... else site 2; alloc U site 2

Two temporaries of a region that nothing else sees share memory if they have the same type and shape, and the last node
that touches the one stands above the allocation of the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from weft.analysis.facts import Facts
from weft.analysis.uses import container_uses
from weft.ir.exprs import Value
from weft.ir.nodes import Alloc, Container, Loop, Node, Program, Region, Site, Storage, While
from weft.ir.substitution import Substitution
from weft.ir.traverse import bound_extents, touched_containers, values_defined_in
from weft.passes.base import Bench, Session
from weft.passes.open_sites import Around, LastSite, OpenSite, allocate_outside, open_site, rewrite_inside, writes_of
from weft.support.records import record


@record
class HoistAllocs:
    """Move allocations in front of loops, and let temporaries share memory."""

    name: ClassVar[str] = "hoist-allocations"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer allocations."""
        walk = _Walk(Bench(self.name, program, session))
        body = walk.region(program.body, session.facts, None)
        if body is program.body:
            return program
        containers = {name: container for name, container in program.containers.items() if name not in walk.shared}
        return replace(program, body=body, containers=containers)


class _Walk:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.memory = bench.legality.memory
        self.writes = writes_of(bench.program, self.memory)
        uses = container_uses(bench.program)
        own = [name for name, container in bench.containers.items() if container.storage is Storage.TRANSIENT]
        self.private = frozenset(name for name in own if not uses[name].escapes)
        self.unbound = frozenset(name for name in own if uses[name].escapes == uses[name].leaves)
        self.shared: dict[str, str] = {}
        self.around: list[Around] = []

    def region(self, region: Region, facts: Facts, site: OpenSite | None) -> Region:
        """A region whose loops allocate in front of them, and whose temporaries share memory."""
        nodes: list[Node] = []
        last = LastSite(self.writes)
        for node in map(last.pass_node, region.nodes):
            if isinstance(node, Site):
                site = open_site(node)
            if isinstance(node, Loop | While):
                self.around.append(Around(site, self.varying(node)))
                inner = self.inside(node, facts, site)
                nodes += self.around.pop().allocs
                assert isinstance(inner, Loop | While)
                allocs, inner = self.hoist(inner, facts, site)
                nodes += allocs
            else:
                inner = self.inside(node, facts, site)
            nodes.append(inner)
            facts = facts.after(inner)
            if site is not None and self.writes.close(node, site):
                site = None
        nodes = self.share(nodes)
        return region if tuple(nodes) == region.nodes else Region(tuple(nodes))

    def inside(self, node: Node, facts: Facts, site: OpenSite | None) -> Node:
        return rewrite_inside(node, facts.inside(node, self.memory), site, self.writes, self.region)

    # -- out of loops

    def hoist(self, loop: Loop | While, facts: Facts, site: OpenSite | None) -> tuple[list[Alloc], Loop | While]:
        inside = [node for node in loop.body.nodes if isinstance(node, Alloc) and self.is_heap(node)]
        if not inside:
            return [], loop
        known = facts.inside(loop, self.memory)[0]
        varying = self.varying(loop)
        moved: list[Alloc] = []
        names: set[str] = set()
        for node in inside:
            reason = self.obstacle(node, varying, known)
            name = node.container.partition(".")[0]
            if not reason and site is not None:
                moved.append(replace(node, site=site.number))
            elif not reason and not allocate_outside(node, self.bench.containers[node.container], self.around):
                reason = "there is no way back to the head of the loop"
            if reason:
                self.bench.note(f"{name} is allocated in every iteration: {reason}", node, done=False)
            else:
                names.add(node.container)
                self.bench.note(f"{name} is allocated once, in front of the loop", node, done=True)
        if not names:
            return [], loop
        kept = tuple(n for n in loop.body.nodes if not (isinstance(n, Alloc) and n.container in names))
        return moved, replace(loop, body=Region(kept))

    def varying(self, loop: Loop | While) -> frozenset[Value]:
        return values_defined_in(loop) | frozenset(bound_extents(loop, self.bench.containers))

    def is_heap(self, node: Alloc) -> bool:
        return self.bench.containers[node.container].storage is Storage.TRANSIENT

    def obstacle(self, node: Alloc, varying: frozenset[Value], facts: Facts) -> str:
        container = self.bench.containers[node.container]
        if node.container not in self.unbound:
            return "it is seen from outside of the iteration"
        if any(not extent.values.isdisjoint(varying) for extent in container.shape):
            return "its size depends on the loop"
        if not all(self.bench.legality.is_nonnegative(extent, facts) for extent in container.shape):
            return "its size may be negative"
        return ""

    # -- sharing

    def share(self, nodes: list[Node]) -> list[Node]:
        """Temporaries whose turns do not overlap in one container."""
        allocs = [node for node in nodes if isinstance(node, Alloc) and node.container in self.private]
        if len(allocs) < 2:
            return nodes
        last: dict[str, int] = {}
        for place, node in enumerate(nodes):
            for name in touched_containers(node):
                last[name] = place
        free = _Pool(self.bench.containers)
        names: dict[str, str] = {}
        for place, node in enumerate(nodes):
            if not isinstance(node, Alloc) or node.container not in self.private:
                continue
            owner = free.take(node.container, place, last)
            if owner is not None:
                names[node.container] = owner
                last[owner] = last[node.container]
                words = f"{node.container.partition('.')[0]} uses the memory of {owner.partition('.')[0]}"
                self.bench.note(words, node, done=True)
        if not names:
            return nodes
        self.shared.update(names)
        chosen = Substitution(containers=names)
        return [chosen.node(n) for n in nodes if not (isinstance(n, Alloc) and n.container in names)]


class _Pool:
    """Containers by type, layout and shape."""

    def __init__(self, containers: Mapping[str, Container]) -> None:
        self.containers = containers
        self.known: dict[object, list[str]] = {}

    def take(self, name: str, place: int, last: Mapping[str, int]) -> str | None:
        """One like this that is not touched from here on; this one is known from now on, if there is none."""
        container = self.containers[name]
        alike = self.known.setdefault((container.dtype, container.layout, container.shape), [])
        for other in alike:
            if last[other] < place:
                return other
        alike.append(name)
        return None
