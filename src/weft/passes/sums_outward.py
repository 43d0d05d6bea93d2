"""Sums inside of a map become one sum over all of its points, where these are neighbours in memory and terms are not.

before:  map (j) in [0:n] { alloc T; reduce add T[] = elements at (k) { A[k] * B[k, j] }; t = T[]; write C[j] = t }
after:   alloc S[n]; reduce add S[:] = elements at (j, k) { A[k] * B[k, j] } axes (1)
         map (j) in [0:n] { t = S[j]; write C[j] = t }

before:  map (j) in [0:n] { alloc T; reduce add T[] = ...; t = T[]; write C[j] = t; map (i) {...t...} }
after:   reduce add C[0:n] = ...
         map (j) in [0:n] { t = C[j]; map (i) {...t...} }

The points of a map do not meet, so all sums may come before what is done with them. A sum that is stored as it is needs
no memory of its own, if nobody reads that place before. It pays where fewer of the numbers
that are read lie apart from each other along the map's last parameter than along the last of the sum: then rows are
added to a row of sums, in vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from weft.analysis.uses import read_by, written_by
from weft.ir.exprs import Expr, Value, const_index, index, values_in
from weft.ir.nodes import (
    Alloc,
    Axis,
    Elements,
    Let,
    Map,
    Memlet,
    Node,
    Program,
    Reduce,
    Region,
    Storage,
    Tasklet,
    View,
)
from weft.ir.substitution import Substitution, with_fresh_values
from weft.ir.traverse import all_nodes, values_defined_in, values_used_in
from weft.passes.base import Bench, Session
from weft.passes.interchange_maps import jumps
from weft.passes.map_walk import MapWalk
from weft.passes.open_sites import OpenSite
from weft.support.records import record


@record
class SumsOutward:
    """Take sums out of maps."""

    name: ClassVar[str] = "sums-outward"

    def run(self, program: Program, session: Session) -> Program:
        """The program with rows of sums instead of sums in rows."""
        maps = (node for node in all_nodes(program.body) if isinstance(node, Map))
        if not any(isinstance(inner, Reduce) for node in maps for inner in node.body.nodes):
            return program
        return MapWalk(Bench(self.name, program, session), outward).program()


@record
class _Sum:
    """A sum in a map: what stands before and after it, and what it needs of the values before it."""

    node: Reduce
    terms: Elements
    before: tuple[Node, ...]
    after: tuple[Node, ...]
    steady: tuple[Let, ...]


@record
class _Row:
    """Where the sums of all points go: all of them, and that of one point; `after` is what then follows at a point."""

    whole: View
    one: Memlet
    after: tuple[Node, ...]
    own: tuple[Alloc, ...] = ()


def outward(node: Node, walk: MapWalk, site: OpenSite | None) -> list[Node] | None:
    """The sums of a map, and the map without them; None where they stay."""
    if not isinstance(node, Map):
        return None
    bench = walk.bench
    found = _sum_in(node, bench)
    if found is None or not _pays(node, found.terms, bench):
        return None
    row = _stored(node, found, bench) or _kept(node, found, walk, site)
    if row is None:
        return None
    reduce, terms = found.node, found.terms
    extents = tuple(stop - start for start, stop in node.ranges)
    params = tuple(
        replace(param, id=bench.number(), floor=extent * 0, ceiling=extent - 1, low=0, high=None)
        for param, extent in zip(node.params, extents, strict=True)
    )
    points: Mapping[Value, Expr] = {
        old: start + index(new) for old, new, (start, _) in zip(node.params, params, node.ranges, strict=True)
    }
    outer = replace(
        reduce,
        output=row.whole,
        input=replace(terms, params=(*params, *terms.params), shape=(*extents, *terms.shape)),
        axes=tuple(range(len(params), len(params) + len(terms.params))),
    )
    after = [_reading(inner, reduce.output.container, row.one) for inner in row.after]
    bench.note("the sums of all points are made together", reduce, done=True)
    nodes: list[Node] = [Tasklet(lets=found.steady, id=bench.number(), span=node.span)] if found.steady else []
    nodes += row.own
    nodes += with_fresh_values([Substitution(points).node(outer)], bench.number, {})
    rest = tuple(n for n in (*found.before, *after) if not isinstance(n, Tasklet) or n.reads or n.lets or n.writes)
    return [*nodes, replace(node, body=Region(rest))] if rest else nodes


def has_row_of_sums(node: Map, bench: Bench) -> bool:
    """Whether the sums of a map could be made together, and follow memory then."""
    found = _sum_in(node, bench)
    return found is not None and _pays(node, found.terms, bench)


def _kept(node: Map, found: _Sum, walk: MapWalk, site: OpenSite | None) -> _Row | None:
    """The sums in an array of their own, if there is a place to allocate it."""
    name = found.node.output.container
    extents = tuple(stop - start for start, stop in node.ranges)
    place = tuple(index(param) - start for param, (start, _) in zip(node.params, node.ranges, strict=True))
    room = walk.allocate(name.partition(".")[0], walk.bench.containers[name].dtype, extents, site, found.node.span)
    return None if room is None else _Row(room.view, Memlet(room.view.container, place), found.after, room.allocs)


def _stored(node: Map, found: _Sum, bench: Bench) -> _Row | None:
    """The sums where the first node after them stores them, if that is a box and nobody has read it by then."""
    first = found.after[0] if found.after else None
    if not isinstance(first, Tasklet):
        return None
    name = found.node.output.container
    sums = {value for value, memlet in first.reads if memlet.container == name}
    # In the next tasklet, if the first one is the read alone.
    nodes = list(found.after[:2]) if not first.writes and not first.lets else [first]
    for number, tasklet in enumerate(nodes):
        if not isinstance(tasklet, Tasklet):
            return None
        for place, (memlet, expr) in enumerate(tasklet.writes):
            if expr in sums and not memlet.conflict:
                whole = _box(node, memlet)
                if whole is None or not _is_unread(memlet.container, found, nodes[: number + 1], place, bench):
                    return None
                writes = tasklet.writes[:place] + tasklet.writes[place + 1 :]
                after = (*found.after[:number], replace(tasklet, writes=writes), *found.after[number + 1 :])
                return _Row(whole, memlet, after)
    return None


def _is_unread(stored: str, found: _Sum, nodes: Sequence[Node], place: int, bench: Bench) -> bool:
    """Whether nothing else in the sum, before it, or up to the store, touches the container of the store."""
    if bench.containers[stored].dtype != bench.containers[found.node.output.container].dtype:
        return False
    tasklets = [*found.terms.body, *(node for node in nodes if isinstance(node, Tasklet))]
    touched = [memlet.container for tasklet in tasklets for _, memlet in tasklet.reads]
    touched += [memlet.container for node in nodes if isinstance(node, Tasklet) for memlet, _ in node.writes[:place]]
    touched += [name for node in all_nodes(Region(found.before)) for name in (*read_by(node), *written_by(node))]
    own = found.node.output.container
    overlap = bench.legality.memory.may_overlap
    return not any(overlap(stored, name) for name in touched if name != own)


def _box(node: Map, memlet: Memlet) -> View | None:
    """All places of a store over the points of a map: a box, one of its axes per parameter."""
    starts: Mapping[Value, Expr] = {param: start for param, (start, _) in zip(node.params, node.ranges, strict=True)}
    known = values_defined_in(node) - set(node.params)
    axes: list[Axis] = []
    seen: list[int] = []
    for coordinate in memlet.index:
        if not known.isdisjoint(coordinate.values):
            return None
        moving = [number for number, param in enumerate(node.params) if param in coordinate.values]
        if len(moving) > 1 or any((coordinate - index(node.params[n])).values & {node.params[n]} for n in moving):
            return None
        offset = Substitution(starts).index(coordinate)
        axes.append(Axis(offset, tuple((number, const_index(1)) for number in moving)))
        seen += moving
    if sorted(seen) != list(range(len(node.params))):
        return None
    return View(memlet.container, tuple(stop - start for start, stop in node.ranges), tuple(axes))


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
    before = _without_alloc(node.body.nodes[:place], name)
    after = _without_alloc(node.body.nodes[place + 1 :], name)
    overlap = bench.legality.memory.may_overlap
    written = {other for inner in all_nodes(Region(before)) for other in written_by(inner)}
    read = {memlet.container for tasklet in terms.body for _, memlet in tasklet.reads}
    if any(overlap(one, other) for one in read for other in written):
        return None
    for inner in all_nodes(Region(after)):
        if name in written_by(inner) or (inner not in after and name in read_by(inner)):
            return None
    return _with_steady_lets(node, reduce, terms, before, after)


def _without_alloc(nodes: tuple[Node, ...], name: str) -> tuple[Node, ...]:
    return tuple(inner for inner in nodes if not (isinstance(inner, Alloc) and inner.container == name))


def _with_steady_lets(
    node: Map, reduce: Reduce, terms: Elements, before: tuple[Node, ...], after: tuple[Node, ...]
) -> _Sum | None:
    """What the terms need of the values before them must be the same at all points: it goes out with them."""
    varying = set(node.params)
    steady: list[Let] = []
    for tasklet in before:
        if not isinstance(tasklet, Tasklet):
            varying |= values_defined_in(tasklet)
            continue
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
    kept = tuple(
        replace(item, lets=tuple(let for let in item.lets if let.value not in moved))
        if isinstance(item, Tasklet)
        else item
        for item in before
    )
    return _Sum(reduce, terms, kept, after, tuple(steady))


def _pays(node: Map, terms: Elements, bench: Bench) -> bool:
    along, across = jumps(Region(terms.body), (node.params[-1], terms.params[-1]), bench.program)
    return along < across


def _reading(node: Node, name: str, place: Memlet) -> Node:
    if not isinstance(node, Tasklet):
        return node
    return replace(
        node, reads=tuple((value, place if memlet.container == name else memlet) for value, memlet in node.reads)
    )
