"""Loops whose turns meet only in temporary memory run in parts, each part with memory of its own.

before:  for i in 0:n { alloc T site 1; ... T[j] ...; write y[i] = x; continue }
after:   if n > 1 and T is small {
           alloc U site 1                                # one T for every part
           map (p) in [0:parts] { for t in 0:size { i = p * chunk + t; ... U[p, j] ...; write y[i] = x; continue } }
         } else { the loop as it was }

Legal where the iterations are independent but for what they allocate (`Legality.carried`), and where nobody sees that
memory outside of an iteration. Contents are undefined after `alloc`, so a turn never reads what one before has left.
Small arrays of constant size are allocated on the stack, and the loop is a map. There is only a fixed number of parts,
whatever the number of threads: memory that grew with the turns would not stay in the cache. Large temporaries are left
alone: their own maps are parallel. Of loops right inside of each other the turns are counted together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from math import prod
from typing import ClassVar, Final, TypeVar

from weft.analysis.cost import ALONE
from weft.analysis.facts import Facts
from weft.analysis.uses import container_uses
from weft.ir.dtypes import NP_BOOL, PY_FLOAT, PY_INT
from weft.ir.exprs import Expr, Index, Value, const, const_index, index, op
from weft.ir.nodes import (
    Alloc,
    Axis,
    Container,
    Continue,
    Layout,
    Let,
    Loop,
    Map,
    MatMul,
    Memlet,
    Node,
    Program,
    Reduce,
    Region,
    Site,
    Storage,
    Tasklet,
    View,
    While,
)  # fmt: skip
from weft.ir.substitution import Substitution, with_fresh_values
from weft.ir.traverse import all_nodes, site_left_through, values_defined_in
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.passes.loop_bodies import Count, counted, only_if, shapes_fixed, straight
from weft.passes.loop_to_map import LoopToMap
from weft.passes.open_sites import (
    Around,
    OpenSite,
    allocate_outside,
    most_outside,
    open_site,
    rewrite_inside,
    writes_of,
)
from weft.passes.schedule_maps import why_in_order
from weft.support.records import record

NodeT = TypeVar("NodeT", bound=Node)

_PARTS: Final = 64
_MOST_BYTES: Final = 32768  # of the temporaries of a turn: those of all parts together are two megabytes
_STACK_BYTES: Final = 4096
_ENOUGH_TURNS: Final = 8  # for as many processors as there may be, where what is inside could be parallel, too
_APART: Final = (16, 2)  # elements, or rows, between the memory of two parts: threads share no line of the cache


@record
class PrivateArrays:
    """Give threads temporary arrays of their own."""

    name: ClassVar[str] = "private-arrays"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer loops that allocate."""
        bench = Bench(self.name, program, session)
        walk = _Walk(bench)
        body = walk.region(program.body, session.facts, None)
        return program if body is program.body else replace(program, body=body, containers=dict(bench.containers))


@record
class _Nest:
    """Loops right inside of each other, or the parameters of a map: the variables, their ranges, the body."""

    node: Loop | Map
    variables: tuple[Value, ...]
    counts: tuple[Count, ...]
    body: tuple[Node, ...]

    @property
    def names(self) -> str:
        """The variables, for those who read records."""
        return ", ".join(variable.name for variable in self.variables)


class _Walk:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.memory = bench.legality.memory
        self.writes = writes_of(bench.program, self.memory)
        left = (node for node in all_nodes(bench.program.body) if not isinstance(node, Alloc))
        self.named = frozenset(site for node in left if (site := site_left_through(node)) is not None)
        self.around: list[Around] = []

    def region(self, region: Region, facts: Facts, site: OpenSite | None) -> Region:
        """A region whose loops do not allocate, as far as possible; `site` is open at its head."""
        nodes: list[Node] = []
        for node in region.nodes:
            if isinstance(node, Site):
                site = open_site(node)
            made = self.apart(node, facts, site) if isinstance(node, Loop | Map) else None
            if made is not None:
                nodes += made
            elif isinstance(node, Loop | While):
                self.around.append(Around(site, values_defined_in(node)))
                inner = self.inside(node, facts, site)
                nodes += [*self.around.pop().allocs, inner]
            else:
                nodes.append(self.inside(node, facts, site))
            facts = facts.after(node)
            if site is not None and self.writes.close(node, site):
                site = None
        return region if tuple(nodes) == region.nodes else Region(tuple(nodes))

    def inside(self, node: Node, facts: Facts, site: OpenSite | None) -> Node:
        if isinstance(node, Map):
            return node
        return rewrite_inside(node, facts.inside(node, self.memory), site, self.writes, self.region)

    def apart(self, node: Loop | Map, facts: Facts, site: OpenSite | None) -> list[Node] | None:
        """A loop or map that allocates, in parts that have memory of their own; None where it stays as it is."""
        if not any(self.is_heap(inner) for inner in all_nodes(node.body)):
            return None
        nest = self.nest(node, facts)
        if nest is None:
            return None
        allocated = [
            inner for inner in all_nodes(Region(nest.body)) if isinstance(inner, Alloc) and self.is_heap(inner)
        ]
        containers = [self.bench.containers[alloc.container] for alloc in allocated]
        rooms = _Rooming(self.bench, nest, containers, facts.inside(node, self.memory)[0])
        reason = rooms.obstacle()
        if not reason and rooms.shared and not self.place(rooms, allocated[0], site):
            reason = "there is no way back to the head of the loop"
        if reason:
            self.bench.note(f"the loop over {nest.names} does not run in parts: {reason}", node, done=False)
            return None
        names = ", ".join(dict.fromkeys(container.name.partition(".")[0] for container in containers))
        self.forget(node)
        self.bench.note(f"the loop over {nest.names} runs in parts, each with its own {names}", node, done=True)
        return rooms.build()

    def forget(self, node: Loop | Map) -> None:
        """What was said about loops that are parallel now, or inside of one, is no reason any more."""
        spans = {inner.span for inner in all_nodes(Region((node,))) if isinstance(inner, Loop)}
        records = self.bench.session.records
        records[:] = [r for r in records if r.done or r.step != LoopToMap.name or r.span not in spans]

    def is_heap(self, node: Node) -> bool:
        return isinstance(node, Alloc) and self.bench.containers[node.container].storage is Storage.TRANSIENT

    def place(self, rooms: _Rooming, alloc: Alloc, site: OpenSite | None) -> bool:
        """Allocate the memory of all parts in front; False if there is no site for it."""
        for room in rooms.shared.values():
            made = replace(alloc, container=room.container.name, site=-1, id=self.bench.number())
            if site is not None:
                rooms.allocs.append(replace(made, site=site.number))
            elif not allocate_outside(made, room.container, self.around):
                return False
        return True

    # -- what is independent

    def nest(self, node: Loop | Map, facts: Facts) -> _Nest | None:
        """The outermost loops whose turns are independent, but for what they allocate."""
        if isinstance(node, Map):
            counts = tuple(Count(start, 1, stop - start) for start, stop in node.ranges)
            return _Nest(node, node.params, counts, node.body.nodes) if node.params else None
        body = self.turn(node, facts)
        count = counted(node, facts, self.bench) if body is not None else None
        if body is None or count is None:
            return None
        nest = _Nest(node, (node.var,), (count,), body)
        loop: Node = node
        while len(nest.body) == 1 and isinstance(nest.body[0], Loop) and _is_box(nest.variables, nest.body[0]):
            facts = facts.inside(loop, self.memory)[0]
            loop = nest.body[0]
            body = self.turn(loop, facts)
            count = counted(loop, facts, self.bench) if body is not None else None
            if body is None or count is None:
                break
            nest = _Nest(node, (*nest.variables, loop.var), (*nest.counts, count), body)
        return nest

    def turn(self, loop: Loop, facts: Facts) -> tuple[Node, ...] | None:
        """The body of a loop with independent turns."""
        if loop.carries:
            return None
        body = straight(loop, self.named)
        if body is None or self.bench.legality.carried(loop, facts, first=True):
            return None
        return body


@record
class _Room:
    """An array with room for all parts, and where a part finds its own: at the first axis, or at the last."""

    container: Container
    place: Index
    shape: tuple[Index, ...]  # of one part

    def axes(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        """How it is indexed."""
        own = Axis(self.place)
        return (*axes, own) if self.container.layout is Layout.F else (own, *axes)

    def index(self, position: tuple[Index, ...]) -> tuple[Index, ...]:
        """Where an element is."""
        return (*position, self.place) if self.container.layout is Layout.F else (self.place, *position)


@record
class _InRooms(Substitution):
    """A substitution by which arrays are parts of others."""

    rooms: Mapping[str, _Room] = field(default_factory=dict[str, _Room])

    def view(self, view: View) -> View:
        """A view."""
        made, room = Substitution.view(self, view), self.rooms.get(view.container)
        return made if room is None else View(room.container.name, made.shape, room.axes(made.axes))

    def memlet(self, memlet: Memlet) -> Memlet:
        """A memlet."""
        made, room = Substitution.memlet(self, memlet), self.rooms.get(memlet.container)
        return made if room is None else replace(made, container=room.container.name, index=room.index(made.index))


class _Rooming:
    """The arrays a nest allocates, and the nest with room for them."""

    def __init__(self, bench: Bench, nest: _Nest, containers: Sequence[Container], facts: Facts) -> None:
        self.bench = bench
        self.nest = nest
        self.containers = containers
        self.facts = facts
        self.part = Value(bench.number(), "part", PY_INT, low=0)
        self.shared: dict[str, _Room] = {}
        self.allocs: list[Alloc] = []
        self.bytes = 0
        self.inside = frozenset((*nest.variables, *(v for node in nest.body for v in values_defined_in(node))))

    def obstacle(self) -> str:
        """What keeps a nest from running in parts; the arrays with room for all are made on the way."""
        bench, nest = self.bench, self.nest
        uses = container_uses(replace(bench.program, body=Region(nest.body)))
        for container in self.containers:
            name = container.name.partition(".")[0]
            if uses[container.name].escapes:
                return f"{name} is seen from outside of the iteration"
            if self.on_stack(container):
                continue
            largest = [self.largest(extent) for extent in container.shape]
            known = [extent for extent in largest if extent is not None]
            if len(known) < len(largest):
                return f"the size of {name} depends on the loop"
            if not all(bench.legality.is_nonnegative(extent, self.facts) for extent in container.shape):
                return f"the size of {name} may be negative"
            self.shared[container.name] = self.room(container, known)
        own = frozenset(container.name for container in self.containers)
        others = tuple(n for n in nest.body if not (isinstance(n, Alloc) and n.container in own))
        if not shapes_fixed(_without_allocs(others, own), self.inside, bench):
            return "the shape of an array depends on the loop"
        stacked = {name: replace(bench.containers[name], storage=Storage.STACK) for name in own}
        return why_in_order(Region(nest.body), {**bench.containers, **stacked}) or ""

    def on_stack(self, container: Container) -> bool:
        """Whether an array is small and of constant size."""
        extents = [extent.constant for extent in container.shape]
        if any(extent is None or extent <= 0 for extent in extents):
            return False
        size = prod(extent or 0 for extent in extents) * container.dtype.itemsize
        self.bytes += size
        return size <= _STACK_BYTES and self.bytes <= 4 * _STACK_BYTES

    def room(self, container: Container, shape: Sequence[Index]) -> _Room:
        """Memory for all parts, a little apart."""
        longer, slow = list(shape), -1 if container.layout is Layout.F else 0
        if shape:
            longer[slow] = longer[slow] + _APART[len(shape) > 1]
        parts = const_index(_PARTS)
        made = (*longer, parts) if container.layout is Layout.F else (parts, *longer)
        name = f"{container.name.partition('.')[0]}.{self.bench.number()}"
        self.bench.containers[name] = replace(container, name=name, shape=made)
        return _Room(self.bench.containers[name], index(self.part), tuple(shape))

    # -- the nest

    def build(self) -> list[Node]:
        """What stands for the nest."""
        bench, node = self.bench, _come_true(self.nest.node)
        lets = tuple(let for count in self.nest.counts for let in count.lets)
        trips = const_index(1)
        for count in self.nest.counts:
            trips = trips * count.trips
        total = replace(bench.value("turns", PY_INT), low=0)
        first = Tasklet(lets=(*lets, Let(total, trips)), id=bench.number(), span=node.span)
        parallel = self.in_parts(index(total))
        condition = self.worth(index(total))
        if condition is None:
            return [first, *parallel]
        made = only_if(condition, parallel, node.span, bench)
        return [first, replace(made, orelse=Region((node, *made.orelse.nodes)))]

    def worth(self, turns: Index) -> Expr | None:
        """Enough turns, and temporaries that stay near; None where it is always worth it."""
        parallel = any(_may_be_parallel(node) for node in all_nodes(Region(self.nest.body)))
        if not parallel and not self.shared:
            return None
        condition: Expr = op("greater_equal", (turns, const_index(_ENOUGH_TURNS if parallel else 2)), NP_BOOL)
        sizes = (_product(room.shape, room.container.dtype.itemsize) for room in self.shared.values())
        limits = [_is_most(_sum(list(sizes)), _MOST_BYTES)] if self.shared else []
        limits += [_is_most(_product(terms, 1), ALONE) for terms in self.products()]
        for limit in limits:
            condition = op("logical_and", (condition, limit), NP_BOOL)
        return condition

    def products(self) -> Iterator[list[Index]]:
        """The extents of matrix products, as far as they are known in front: large ones are parallel themselves."""
        for node in all_nodes(Region(self.nest.body)):
            if isinstance(node, MatMul):
                extents = [self.largest(x) for x in (*node.output.shape[-2:], node.lhs.shape[-1])]
                known = [extent for extent in extents if extent is not None]
                if len(known) == len(extents):
                    yield known

    def largest(self, extent: Index) -> Index | None:
        """What an extent is at most in all turns."""
        return most_outside(extent, (Around(None, self.inside),))

    def in_parts(self, turns: Index) -> list[Node]:
        """The map over parts of the turns."""
        bench, span = self.bench, self.nest.node.span
        chunk = replace(bench.value("chunk", PY_INT), low=1)
        parts = replace(bench.value("parts", PY_INT), low=0, high=_PARTS)
        lets = (
            Let(chunk, op("maximum", (_floor(turns + (_PARTS - 1), const_index(_PARTS)), const_index(1)), PY_INT)),
            Let(parts, _floor(turns + index(chunk) - 1, index(chunk))),
        )
        part = replace(self.part, floor=const_index(0), ceiling=index(parts) - 1)
        begin = index(part) * index(chunk)
        size = replace(bench.value("size", PY_INT), low=0, ceiling=index(chunk))
        turn = Value(bench.number(), "turn", PY_INT, 0, None, const_index(0), index(size) - 1)
        loop = Loop(
            var=turn, start=const_index(0), stop=index(size), step=const_index(1), carries=(),
            body=Region((*self.at_turn(begin + index(turn), part), Continue(()))), id=bench.number(), span=span,
        )  # fmt: skip
        ends = Let(size, op("minimum", (index(chunk), turns - begin), PY_INT))
        body = Region((Tasklet(lets=(ends,), id=bench.number(), span=span), loop))
        made = Map(params=(part,), ranges=((const_index(0), index(parts)),), body=body, id=bench.number(), span=span)
        return [Tasklet(lets=lets, id=bench.number(), span=span), *self.allocs, made]

    def at_turn(self, turn: Index, part: Value) -> list[Node]:
        """The body at one turn, counted over all loops: first the variables, then the rest, under other names."""
        bench, lets, last = self.bench, list[Let](), len(self.nest.counts) - 1
        bindings: dict[Value, Expr] = {}
        for place in range(last, -1, -1):
            count, variable = self.nest.counts[place], self.nest.variables[place]
            own = turn
            if place:
                outer = replace(bench.value("turn", PY_INT), low=0)
                lets.append(Let(outer, _floor(turn, count.trips)))
                own, turn = turn - index(outer) * count.trips, index(outer)
            fresh = replace(variable, id=bench.number())
            bindings[variable] = fresh
            lets.append(Let(fresh, count.start + own * count.step))
        head = Tasklet(lets=tuple(lets), id=bench.number(), span=self.nest.node.span)
        rooms = {name: replace(room, place=index(part)) for name, room in self.shared.items()}
        names = self.on_stack_instead()
        body = map(_come_true, _without_allocs(self.nest.body, frozenset(self.shared)))
        inside = _InRooms(containers=names, rooms=rooms)
        renamed = (inside.node(node) for node in with_fresh_values(body, bench.number, bindings))
        return [head, *(_stacked(node, frozenset(names.values())) for node in renamed)]

    def on_stack_instead(self) -> dict[str, str]:
        """New names for what is allocated in a turn: arrays on the stack."""
        found: dict[str, str] = {}
        for node in all_nodes(Region(self.nest.body)):
            if isinstance(node, Alloc) and node.container not in self.shared:
                container = self.bench.containers[node.container]
                name = f"{container.name.partition('.')[0]}.{self.bench.number()}"
                self.bench.containers[name] = replace(container, name=name, storage=Storage.STACK)
                found[container.name] = name
        return found


def _product(extents: Sequence[Index], factor: int) -> Expr:
    """A product as a float, which does not overflow."""
    result: Expr = const(float(factor), PY_FLOAT)
    for extent in extents:
        result = op("multiply", (result, op("cast", (extent,), PY_FLOAT)), PY_FLOAT)
    return result


def _sum(parts: list[Expr]) -> Expr:
    result = parts[0]
    for part in parts[1:]:
        result = op("add", (result, part), PY_FLOAT)
    return result


def _is_most(size: Expr, limit: int) -> Expr:
    return op("less_equal", (size, const(float(limit), PY_FLOAT)), NP_BOOL)


def _is_box(outer: Sequence[Value], loop: Loop) -> bool:
    """Whether the range of a loop does not depend on variables."""
    return loop.start.values.isdisjoint(outer) and loop.stop.values.isdisjoint(outer)


def _floor(left: Index, right: Index) -> Expr:
    return op("floor_divide", (left, right), PY_INT)


def _without_allocs(nodes: Iterable[Node], names: frozenset[str]) -> tuple[Node, ...]:
    def rule(node: Node) -> tuple[Node, ...] | None:
        return () if isinstance(node, Alloc) and node.container in names else None

    return rewrite_nodes(Region(tuple(nodes)), rule).nodes


def _stacked(node: Node, names: frozenset[str]) -> Node:
    """A node in which arrays on the stack need no site."""

    def rule(inner: Node) -> tuple[Node, ...] | None:
        return (replace(inner, site=-1),) if isinstance(inner, Alloc) and inner.container in names else None

    return rewrite_nodes(Region((node,)), rule).nodes[0]


def _come_true(node: NodeT) -> NodeT:
    """A node whose loops are not wished parallel any more."""

    def rule(inner: Node) -> tuple[Node, ...] | None:
        return (replace(inner, wish=""),) if isinstance(inner, Loop) and inner.wish else None

    (made,) = rewrite_nodes(Region((node,)), rule).nodes
    assert isinstance(made, type(node))
    return made


def _may_be_parallel(node: Node) -> bool:
    """Whether a node is something that could run on all threads, if it is large enough."""
    match node:
        case Map(ranges=ranges):
            return any((stop - start).constant is None for start, stop in ranges)
        case Reduce(input=source):
            return any(extent.constant is None for extent in source.shape)
        case _:
            return isinstance(node, MatMul)
