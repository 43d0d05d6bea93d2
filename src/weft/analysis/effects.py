"""Effects: what a node reads and writes, element by element, and how it may end.

in:   a node (with everything inside it) and the polynomials its values stand for
out:  `Effects`: one `Access` per memlet or view, with the iterators around it inside the node; the values it defines;
      the containers it allocates and binds; whether the program may leave in it

A view counts as one access with an iterator per axis. Values that are lets of polynomials are replaced by them, so that
an index speaks of iterators and of what is defined elsewhere as far as it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from weft.ir.exprs import Expr, Index, Value, const_index, index
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Continue,
    Elements,
    Elementwise,
    Guard,
    Loop,
    Map,
    MatMul,
    Memlet,
    Node,
    NumpyCall,
    Reduce,
    Region,
    Return,
    Scan,
    Site,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.ir.traverse import allocated_by, bound_items, bundle_views, call_views, leaving_bundles, values_defined_in
from weft.support.memos import once_for_each
from weft.support.records import record
from weft.support.spans import Span


@record
class Iterator:
    """A variable that takes the values start, start + step, ... below stop (above it, for a negative step)."""

    value: Value
    start: Index
    stop: Index
    step: Index


@record
class Access:
    """Elements of a container read or written: `container[index]` for every point of the iterators.

    `conditions` are the conditions of the branches around it, inside the node: (expression, its truth). `conflict` is
    the operation by which a write combines with what is there. `whole` marks an access of which only the container is
    known: it may touch any element.
    """

    container: str
    index: tuple[Index, ...]
    writes: bool
    iterators: tuple[Iterator, ...] = ()
    conditions: tuple[tuple[Expr, bool], ...] = ()
    conflict: str = ""
    whole: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Effects:
    """All a node does.

    `leaves`: the program may leave in it, so what Python could see then must be right: `seen` are the containers that
    go with it. `jumps`: it may end the loop or region around it. `varying` are the values it defines.
    """

    accesses: tuple[Access, ...]
    varying: frozenset[Value]
    allocates: frozenset[str]
    binds: frozenset[str]
    seen: frozenset[str]
    leaves: bool
    jumps: bool

    @property
    def reads(self) -> tuple[Access, ...]:
        """The accesses that read."""
        return tuple(access for access in self.accesses if not access.writes)

    @property
    def writes(self) -> tuple[Access, ...]:
        """The accesses that write."""
        return tuple(access for access in self.accesses if access.writes)


def effects_of(nodes: Node | Iterable[Node], definitions: Mapping[Value, Index] | None = None) -> Effects:
    """The effects of a node, or of several in order."""
    if not isinstance(nodes, Node):
        return _collected(tuple(nodes), definitions or {})
    plain = _plain(nodes)
    if not definitions or definitions.keys().isdisjoint(_speaks_of(nodes)):
        return plain
    return _collected((nodes,), definitions)


@once_for_each
def _plain(node: Node) -> Effects:
    return _collected((node,), {})


@once_for_each
def _speaks_of(node: Node) -> frozenset[Value]:
    """The values that definitions could replace in the effects of a node."""
    accesses = _plain(node).accesses
    bounds = (bound for a in accesses for i in a.iterators for bound in (i.start, i.stop, i.step))
    return frozenset[Value]().union(*(i.values for a in accesses for i in a.index), *(bound.values for bound in bounds))


def _collected(several: tuple[Node, ...], definitions: Mapping[Value, Index]) -> Effects:
    collector = _Collector(dict(definitions))
    for node in several:
        collector.node(node, _Around())
    varying: frozenset[Value] = frozenset[Value]().union(*(values_defined_in(node) for node in several))
    return Effects(
        tuple(collector.accesses),
        varying,
        frozenset(collector.allocates),
        frozenset(collector.binds),
        frozenset(collector.seen),
        collector.leaves,
        collector.jumps,
    )


@record
class _Around:
    iterators: tuple[Iterator, ...] = ()
    conditions: tuple[tuple[Expr, bool], ...] = ()
    loops: int = 0

    def within(self, *iterators: Iterator) -> _Around:
        return replace(self, iterators=self.iterators + iterators)


class _Collector:
    def __init__(self, definitions: dict[Value, Index]) -> None:
        self.definitions = definitions
        self.accesses: list[Access] = []
        self.allocates: set[str] = set()
        self.binds: set[str] = set()
        self.seen: set[str] = set()
        self.leaves = False
        self.jumps = False

    def region(self, region: Region, around: _Around) -> None:
        for node in region.nodes:
            self.node(node, around)

    def node(self, node: Node, around: _Around) -> None:
        match node:
            case Tasklet():
                self.tasklet(node, around)
            case Elementwise() | Reduce() | Scan() | MatMul():
                self.dataflow(node, around)
            case Map() | Loop() | While() | Branch():
                self.scope(node, around)
            case Alloc():
                self.allocates.add(node.container)
                self.leaves = True
            case NumpyCall():
                self.leaves = True
                self.call(node, around)
            case Guard():
                self.leaves = True
            case Site() | Return():
                self.leaves |= isinstance(node, Return)
                self.jumps |= isinstance(node, Return)
                self.observe(node)
            case Yield() | Continue():
                self.bound(node, around)
            case Break():
                self.jumps |= node.depth >= around.loops
                self.bound(node, around)

    def observe(self, node: Node) -> None:
        """What Python would see: it reads all of it."""
        for bundle in leaving_bundles(node):
            self.seen.update(view.container for view in bundle_views(bundle) if view.container)

    def bound(self, node: Node, around: _Around) -> None:
        """A view given to a ref may be read through it from then on, anywhere."""
        for item in bound_items(node):
            if isinstance(item, View) and item.container:
                self.add_view(item, around, writes=False, whole=True)

    def tasklet(self, node: Tasklet, around: _Around, *, also_writes: bool = True) -> None:
        for _, memlet in node.reads:
            self.add(memlet, around, writes=False, span=node.span)
        for let in node.lets:
            self.define(let.value, let.expr)
        if also_writes:
            for memlet, _ in node.writes:
                self.add(memlet, around, writes=True, span=node.span)

    def define(self, value: Value, expr: Expr) -> None:
        if isinstance(expr, Index):
            self.definitions[value] = expr.substitute(self.definitions)
        elif isinstance(expr, Value) and expr.type.dtype.kind in "iu":
            self.definitions[value] = index(expr).substitute(self.definitions)

    def dataflow(self, node: Elementwise | Reduce | Scan | MatMul, around: _Around) -> None:
        match node:
            case Elementwise(inputs=inputs):
                for _, view in inputs:
                    self.add_view(view, around, writes=False, span=node.span)
            case Reduce(input=Elements() as source):
                iterators = (
                    Iterator(param, const_index(0), extent, const_index(1))
                    for param, extent in zip(source.params, source.shape, strict=True)
                )
                inside = around.within(*iterators)
                for tasklet in source.body:
                    self.tasklet(tasklet, inside, also_writes=False)
            case Reduce(input=source) | Scan(input=source):
                assert isinstance(source, View)
                self.add_view(source, around, writes=False, span=node.span)
            case MatMul(lhs=lhs, rhs=rhs):
                self.add_view(lhs, around, writes=False, span=node.span)
                self.add_view(rhs, around, writes=False, span=node.span)
                if node.adds:
                    self.add_view(node.output, around, writes=False, span=node.span)
        self.add_view(node.output, around, writes=True, span=node.span)

    def call(self, node: NumpyCall, around: _Around) -> None:
        """It reads its arguments and writes what it makes or changes. Extents come with it: only names are known."""
        for view in call_views(node):
            self.add_view(view, around, writes=False, span=node.span)
        for view in node.changes:
            self.add_view(view, around, writes=True, span=node.span)
        for name in allocated_by(node):
            self.allocates.add(name)
            access = Access(name, (), True, around.iterators, around.conditions, whole=True, span=node.span)
            self.accesses.append(access)

    def scope(self, node: Map | Loop | While | Branch, around: _Around) -> None:
        self.binds.update(target for target in _targets(node) if isinstance(target, str))
        self.bound(node, around)
        match node:
            case Map():
                iterators = (
                    Iterator(param, self.resolve(start), self.resolve(stop), const_index(1))
                    for param, (start, stop) in zip(node.params, node.ranges, strict=True)
                )
                self.region(node.body, around.within(*iterators))
            case Loop():
                bounds = (self.resolve(bound) for bound in (node.start, node.stop, node.step))
                inside = around.within(Iterator(node.var, *bounds))
                self.region(node.body, replace(inside, loops=around.loops + 1))
            case While():
                self.leaves = True  # it may never end: what is observable must have happened before
                self.region(node.body, replace(around, loops=around.loops + 1))
            case Branch():
                for region, truth in ((node.then, True), (node.orelse, False)):
                    conditions = (*around.conditions, (node.condition, truth))
                    self.region(region, replace(around, conditions=conditions))

    def resolve(self, polynomial: Index) -> Index:
        return polynomial.substitute(self.definitions)

    def add(self, memlet: Memlet, around: _Around, *, writes: bool, span: Span | None = None) -> None:
        position = tuple(self.resolve(coordinate) for coordinate in memlet.index)
        self.accesses.append(
            Access(memlet.container, position, writes, around.iterators, around.conditions, memlet.conflict, span=span)
        )

    def add_view(
        self, view: View, around: _Around, *, writes: bool, whole: bool = False, span: Span | None = None
    ) -> None:
        points = tuple(Value(-1 - axis, "at", _INT) for axis in range(view.rank))
        iterators = tuple(
            Iterator(point, const_index(0), self.resolve(extent), const_index(1))
            for point, extent in zip(points, view.shape, strict=True)
        )
        position = tuple(self.resolve(i) for i in view.at(tuple(index(point) for point in points)).index)
        inside = around.within(*iterators)
        self.accesses.append(
            Access(view.container, position, writes, inside.iterators, around.conditions, whole=whole, span=span)
        )


_INT = const_index(0).type


def _targets(node: Map | Loop | While | Branch) -> tuple[Value | str, ...]:
    match node:
        case Loop(carries=carries) | While(carries=carries):
            return tuple(carry.target for carry in carries)
        case Branch(results=results):
            return results
        case Map():
            return ()
