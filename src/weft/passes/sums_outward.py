"""Sums inside of a map become one sum over all of its points, where these are neighbours in memory and terms are not.

before:  map (j) in [0:n] { alloc T; reduce add T[] = elements at (k) { A[k] * B[k, j] }; t = T[]; write C[j] = t }
after:   alloc S[n]; reduce add S[:] = elements at (j, k) { A[k] * B[k, j] } axes (1)
         map (j) in [0:n] { t = S[j]; write C[j] = t }

The points of a map do not meet, so all sums may come before what is done with them. It pays where fewer of the numbers
that are read lie apart from each other along the map's last parameter than along the last of the sum: then rows are
added to a row of sums, in vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from weft.ir.exprs import Expr, Value, index, values_in
from weft.ir.nodes import (
    Alloc,
    Branch,
    Elements,
    Let,
    Loop,
    Map,
    Memlet,
    Node,
    Program,
    Reduce,
    Region,
    Site,
    Storage,
    Tasklet,
    While,
    full_view,
)
from weft.ir.substitution import Substitution, with_fresh_values
from weft.ir.traverse import all_nodes, values_used_in
from weft.passes.base import Bench, Session
from weft.passes.interchange_maps import jumps
from weft.passes.open_sites import OpenSite, Writes, open_site


@dataclass(frozen=True, slots=True)
class SumsOutward:
    """Take sums out of maps."""

    name: ClassVar[str] = "sums-outward"

    def run(self, program: Program, session: Session) -> Program:
        """The program with rows of sums instead of sums in rows."""
        maps = (node for node in all_nodes(program.body) if isinstance(node, Map))
        if not any(isinstance(inner, Reduce) for node in maps for inner in node.body.nodes):
            return program
        walk = _Walk(Bench(self.name, program, session))
        body = walk.region(program.body, None)
        if body is program.body:
            return program
        return replace(program, body=body, containers=dict(walk.bench.containers))


class _Walk:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.writes = Writes(bench.legality.memory)

    def region(self, region: Region, site: OpenSite | None) -> Region:
        """A region; `site` is open at its head."""
        nodes: list[Node] = []
        for node in region.nodes:
            if isinstance(node, Site):
                site = open_site(node)
            inner = self.inside(node, site)
            made = None
            if isinstance(inner, Map) and site is not None:
                made = _outward(inner, site.number, self.bench)
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


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum in a map: what stands before and after it, and what it needs of the values before it."""

    node: Reduce
    terms: Elements
    before: tuple[Tasklet, ...]
    after: tuple[Tasklet, ...]
    steady: tuple[Let, ...]


def _outward(node: Map, site: int, bench: Bench) -> list[Node] | None:
    found = _sum_in(node, bench)
    if found is None or not _pays(node, found.terms, bench):
        return None
    reduce, terms = found.node, found.terms
    extents = tuple(stop - start for start, stop in node.ranges)
    name = reduce.output.container
    sums = bench.container(name.partition(".")[0], bench.containers[name].dtype, extents)
    params = tuple(
        replace(param, id=bench.number(), floor=extent * 0, ceiling=extent - 1, low=0, high=None)
        for param, extent in zip(node.params, extents, strict=True)
    )
    points: Mapping[Value, Expr] = {
        old: start + index(new) for old, new, (start, _) in zip(node.params, params, node.ranges, strict=True)
    }
    outer = replace(
        reduce,
        output=full_view(sums),
        input=replace(terms, params=(*params, *terms.params), shape=(*extents, *terms.shape)),
        axes=tuple(range(len(params), len(params) + len(terms.params))),
    )
    place = tuple(index(param) - start for param, (start, _) in zip(node.params, node.ranges, strict=True))
    after = [_reading(tasklet, name, Memlet(sums.name, place)) for tasklet in found.after]
    bench.note("the sums of all points are made together", reduce, done=True)
    nodes: list[Node] = [Tasklet(lets=found.steady, id=bench.number(), span=node.span)] if found.steady else []
    nodes.append(Alloc(container=sums.name, site=site, id=bench.number(), span=reduce.span))
    nodes += with_fresh_values([Substitution(points).node(outer)], bench.number, {})
    nodes.append(replace(node, body=Region((*found.before, *after))))
    return nodes


def _sum_in(node: Map, bench: Bench) -> _Sum | None:
    """The only sum of a map whose other nodes are tasklets; None if there is none that could be taken out."""
    reduces = [inner for inner in node.body.nodes if isinstance(inner, Reduce)]
    if len(reduces) != 1 or not isinstance(reduces[0].input, Elements) or reduces[0].output.rank:
        return None
    reduce, terms = reduces[0], reduces[0].input
    name = reduce.output.container
    place = node.body.nodes.index(reduce)
    own = [inner for inner in node.body.nodes if isinstance(inner, Alloc) and inner.container == name]
    if not own or bench.containers[name].storage is not Storage.STACK or bench.containers[name].rank:
        return None
    before = _tasklets(node.body.nodes[:place], name)
    after = _tasklets(node.body.nodes[place + 1 :], name)
    if before is None or after is None or any(tasklet.writes for tasklet in before):
        return None
    if any(memlet.container == name for tasklet in after for memlet, _ in tasklet.writes):
        return None
    return _with_steady_lets(node, reduce, terms, before, after)


def _tasklets(nodes: tuple[Node, ...], name: str) -> tuple[Tasklet, ...] | None:
    kept = [inner for inner in nodes if not (isinstance(inner, Alloc) and inner.container == name)]
    found = tuple(inner for inner in kept if isinstance(inner, Tasklet))
    return found if len(found) == len(kept) else None


def _with_steady_lets(
    node: Map, reduce: Reduce, terms: Elements, before: tuple[Tasklet, ...], after: tuple[Tasklet, ...]
) -> _Sum | None:
    """What the terms need of the values before them must be the same at all points: it goes out with them."""
    varying = set(node.params)
    steady: list[Let] = []
    for tasklet in before:
        varying.update(value for value, _ in tasklet.reads)
        for let in tasklet.lets:
            if let.warn < 0 and varying.isdisjoint(values_in(let.expr)):
                steady.append(let)
            else:
                varying.add(let.value)
    inner = varying - set(node.params)
    if not inner.isdisjoint(values_used_in(Region((reduce,)))) or any(
        not varying.isdisjoint(extent.values) for extent in terms.shape
    ):
        return None
    moved = frozenset(let.value for let in steady)
    rest = (replace(t, lets=tuple(let for let in t.lets if let.value not in moved)) for t in before)
    kept = tuple(t for t in rest if t.reads or t.lets)
    return _Sum(reduce, terms, kept, after, tuple(steady))


def _pays(node: Map, terms: Elements, bench: Bench) -> bool:
    along, across = jumps(Region(terms.body), (node.params[-1], terms.params[-1]), bench.program)
    return along < across


def _reading(tasklet: Tasklet, name: str, place: Memlet) -> Tasklet:
    reads = tuple((value, place if memlet.container == name else memlet) for value, memlet in tasklet.reads)
    return replace(tasklet, reads=reads)
