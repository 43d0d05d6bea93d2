"""An array that every turn of a loop computes anew, point by point from itself, is computed in one place.

before:  alloc X; X = ...                              after:   alloc X; X = ...
         for t in 0:n carry (r = X) {                           for t in 0:n {
             alloc T                                                map (p) { x = X[p]; write X[p] = f(x) }
             map (p) { x = r[p]; write T[p] = f(x) }                continue
             continue T                                         }
         }                                                      return X
         return r

That is `z = z * z + c` in a loop. Legal where the map covers all of T and reads r only at the point it writes, T and r
have no other uses in the loop, X is of the same type and shape and is not used by that name from the loop on, and the
program cannot leave through a site that shows one of them as it was. Then r, T and X are one array at every moment one
of them is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from weft.analysis.facts import Constraint, Facts
from weft.ir.exprs import Expr, Value, index
from weft.ir.nodes import (
    Alloc,
    Carry,
    Container,
    Continue,
    Layout,
    Loop,
    Map,
    Node,
    Program,
    Region,
    Site,
    Storage,
    Tasklet,
    View,
    full_view,
)  # fmt: skip
from weft.ir.substitution import Substitution
from weft.ir.traverse import all_nodes, site_left_through
from weft.passes.base import Bench, Session, rewrite_regions
from weft.passes.loop_bodies import has_loops
from weft.passes.tasklets import is_plain
from weft.support.records import record


@record
class CarriedInPlace:
    """Compute arrays that loops carry where they are."""

    name: ClassVar[str] = "carried-in-place"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer refs and allocations in loops."""
        if not has_loops(program):
            return program
        bench = Bench(self.name, program, session)
        return rewrite_regions(bench, lambda region, facts: _region(region, facts, bench))


def _region(region: Region, facts: Facts, bench: Bench) -> Region:
    current = region
    position = 0
    while position < len(current.nodes):
        node = current.nodes[position]
        if isinstance(node, Loop):
            current = _steady(current, position, facts, bench)
        facts = facts.after(current.nodes[position])
        position += 1
    return current


@record
class _Carried:
    """A carry and its three names for one array: what it starts as, what it is in a turn, what the turn makes."""

    number: int
    start: Container
    ref: Container
    made: Container


def _steady(region: Region, position: int, facts: Facts, bench: Bench) -> Region:
    """The region with the arrays that the loop at a position carries in place, where they may be."""
    loop = region.nodes[position]
    assert isinstance(loop, Loop)
    match loop.body.nodes:
        case (*before, Map() as points, Continue() as last) if points.params and is_plain(points):
            pass
        case _:
            return region
    if not all(isinstance(node, Site | Alloc) for node in before):
        return region
    found = [c for number in range(len(loop.carries)) if (c := _carried(loop, number, last, points, bench)) is not None]
    chosen = [c for c in found if _may_be_one(c, region, position, points, facts, bench)]
    if not chosen or not _only_leaves_for(chosen, before):
        return region
    names = ", ".join(carried.ref.name.partition(".")[0] for carried in chosen)
    bench.note(f"{names} is computed in place in every turn", loop, done=True)
    return _rewritten(region, position, chosen, bench)


def _carried(loop: Loop, number: int, last: Continue, points: Map, bench: Bench) -> _Carried | None:
    """A carry that starts as a whole temporary and goes on with a whole array that the turn allocates."""
    carry, given = loop.carries[number], last.values[number]
    if not isinstance(carry.target, str) or not isinstance(carry.init, View) or not isinstance(given, View):
        return None
    names = (carry.init.container, carry.target, given.container)
    if not all(names) or len(set(names)) < 3:
        return None
    start, ref, made = (bench.containers[name] for name in names)
    allocated = [node.container for node in loop.body.nodes if isinstance(node, Alloc)]
    plain = start.storage is Storage.TRANSIENT and start.layout is made.layout is Layout.C and start.dtype is made.dtype
    whole = carry.init == full_view(start) and given == full_view(made) and made.name in allocated
    if not plain or not whole or [item for item in last.values if item == given] != [given]:
        return None
    return _Carried(number, start, ref, made) if _is_pointwise(points, ref, made) else None


def _is_pointwise(points: Map, ref: Container, made: Container) -> bool:
    """Whether each point writes its element of the one, and reads at most that of the other."""
    here = tuple(index(param) for param in points.params)
    tasklets = [node for node in points.body.nodes if isinstance(node, Tasklet)]
    writes = [memlet for tasklet in tasklets for memlet, _ in tasklet.writes if memlet.container == made.name]
    reads = [memlet for tasklet in tasklets for _, memlet in tasklet.reads]
    own = [memlet for memlet in reads if memlet.container == ref.name]
    if len(writes) != 1 or writes[0].index != here or writes[0].conflict or not own:
        return False
    # A later tasklet would read what an earlier one wrote.
    last = max(number for number, tasklet in enumerate(tasklets) for _, m in tasklet.reads if m.container == ref.name)
    first = min(
        number for number, tasklet in enumerate(tasklets) for m, _ in tasklet.writes if m.container == made.name
    )
    return last <= first and all(m.index == here for m in own) and all(m.container != made.name for m in reads)


def _may_be_one(carried: _Carried, region: Region, position: int, points: Map, facts: Facts, bench: Bench) -> bool:
    start, ref, made = carried.start.name, carried.ref.name, carried.made.name
    loop, after = region.nodes[position], region.nodes[position + 1 :]
    before = region.nodes[:position]
    assert isinstance(loop, Loop)
    if not any(isinstance(node, Alloc) and node.container == start for node in before):
        return False
    others = [c for c in bench.containers.values() if c.name not in (start, ref, made)]
    if any(name in (other.base, *other.may_alias) for other in others for name in (start, ref, made)):
        return False
    rest = replace(loop, carries=tuple(c for n, c in enumerate(loop.carries) if n != carried.number))
    if any(_mentions(node, (start,)) for node in (rest, *after)) or any(_mentions(node, (made,)) for node in after):
        return False
    counted = [node for node in rest.body.nodes if _mentions(node, (made,))]
    if len(counted) != 3:  # its allocation, the map, and what goes on
        return False
    return _same_shape(carried, points, facts, bench) and not _leaves_back(loop, before, after, start)


def _same_shape(carried: _Carried, points: Map, facts: Facts, bench: Bench) -> bool:
    """Whether the start has the shape that turns make, all of which the map goes over."""
    ref, start = carried.ref.shape, carried.start.shape
    known = {value: start[axis] for axis, extent in enumerate(ref) for value in extent.values if extent == index(value)}
    holds = bench.legality.holds
    if len(carried.made.shape) != len(start) or len(points.ranges) != len(start):
        return False
    for extent, made, (low, high) in zip(start, carried.made.shape, points.ranges, strict=True):
        if low.constant != 0:
            return False
        for other in (made, high):
            if not holds(Constraint(other.substitute(known) - extent, equal=True), facts):
                return False
    return True


def _leaves_back(loop: Loop, before: Sequence[Node], after: Sequence[Node], start: str) -> bool:
    """Whether the program may leave, in the loop or after it, through a site above that shows the start."""
    later = {site_left_through(node) for node in all_nodes(Region((*loop.body.nodes, *after)))}
    above = (node for node in all_nodes(Region(tuple(before))) if isinstance(node, Site))
    return any(site.number in later and _mentions(site, (start,)) for site in above)


def _only_leaves_for(chosen: Iterable[_Carried], before: Sequence[Node]) -> bool:
    """Whether nothing in the loop leaves but allocations that go."""
    gone = {carried.made.name for carried in chosen}
    return all(node.container in gone or node.site < 0 for node in before if isinstance(node, Alloc))


def _mentions(node: Node, names: Iterable[str]) -> bool:
    return Substitution(containers=dict.fromkeys(names, "?")).node(node) is not node


def _rewritten(region: Region, position: int, chosen: Sequence[_Carried], bench: Bench) -> Region:
    loop = region.nodes[position]
    assert isinstance(loop, Loop)
    numbers = {carried.number for carried in chosen}
    gone = {carried.made.name for carried in chosen}
    extents: dict[Value, Expr] = {}
    names: dict[str, str] = {}
    for carried in chosen:
        names |= {carried.ref.name: carried.start.name, carried.made.name: carried.start.name}
        for extent, start in zip(carried.ref.shape, carried.start.shape, strict=True):
            extents |= {value: start for value in extent.values if extent == index(value)}
    last = loop.body.nodes[-1]
    assert isinstance(last, Continue)
    kept: tuple[Carry, ...] = tuple(c for n, c in enumerate(loop.carries) if n not in numbers)
    given = tuple(item for n, item in enumerate(last.values) if n not in numbers)
    stays = [
        node
        for node in loop.body.nodes[:-1]
        if not isinstance(node, Site) and not (isinstance(node, Alloc) and node.container in gone)
    ]
    turned = replace(loop, carries=kept, body=Region((*stays, Continue(given))))
    one = Substitution(extents, names)
    for name in (*names, *gone):
        bench.containers.pop(name, None)
    for name, container in bench.containers.items():
        shape = tuple(one.index(extent) for extent in container.shape)
        if shape != container.shape:
            bench.containers[name] = replace(container, shape=shape)
    tail = [one.node(node) for node in (turned, *region.nodes[position + 1 :])]
    return Region((*region.nodes[:position], *tail))
