"""Loops over points that become fewer: all arrays a loop carries are, turn by turn, what a mask leaves of them.

in:   a loop
out:  `Survivors`: what a part of the points needs to go through all turns on its own; or why it cannot

    while len(z): z = f(z); gone = z > 2; out[place[gone]] = z[gone]; z, place = z[~gone], place[~gone]

The elements at one position of all arrays that are as long as each other belong to one point. A turn may compute point
by point, count the points a mask chooses, collect them, and write to outer arrays where a carried array of positions
says. What was only ever collected from such an array holds nothing that was not there before the first turn: what turns
ask of positions can be asked once of all of them, and where they are increasing, two points never write to one element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from weft.analysis.compactions import Apart, Compaction, compaction, starts_at_zero
from weft.analysis.dependences import Legality
from weft.analysis.facts import Facts
from weft.ir.dtypes import NP_BOOL, DType
from weft.ir.exprs import Const, Expr, Index, Op, Value, index, op, values_in
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Carry,
    Container,
    Continue,
    Elements,
    Guard,
    Let,
    Loop,
    Map,
    Memlet,
    Node,
    Reduce,
    Region,
    Site,
    Storage,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.ir.substitution import Substitution
from weft.ir.traverse import values_defined_in
from weft.passes.point_counts import PointCounts, question
from weft.support.records import record

Columns = tuple[str, ...]  # for each coordinate the array whose elements it is; "" for anything else


@record
class Survivors:
    """A loop whose points can go through all turns in parts.

    `inits` are the arrays it carries as they are before the first turn; `lengths` says for every value that is a number
    of points by which one it is called here. `checks` must hold for each point, and the `orders` of positions increase.
    """

    loop: Loop | While
    inits: Mapping[str, View]
    others: tuple[tuple[Carry, Expr], ...]  # numbers it carries, and how they go on
    nodes: tuple[Node, ...]  # of a turn, without what is asked
    lengths: Mapping[Value, Index]
    arrays: tuple[str, ...]  # allocated in a turn, an element for each of some points
    numbers: tuple[str, ...]  # and for all of them together
    left: Columns  # what goes on to the next turn, by carry
    sources: Mapping[str, str]  # what is collected from what
    count: Index  # how many points that is
    checks: tuple[Elements, ...]  # of elements of the arrays carried
    holding: frozenset[Value]  # what says in a turn that they hold
    orders: tuple[Columns, ...]
    changed: frozenset[str]  # arrays carried that a turn writes to


def survivors(loop: Loop | While, legality: Legality, apart: Apart) -> Survivors | str:
    """What parts of the points of a loop need; or why they cannot go on their own. "" for a loop of another kind."""
    names = [carry.target for carry in loop.carries if isinstance(carry.target, str)]
    shapes = [legality.memory.containers[name].shape for name in names]
    if not names or not all(len(shape) == 1 and _is_value(shape[0]) for shape in shapes):
        return ""
    if not any(isinstance(node, Loop) and node.carries for node in loop.body.nodes):
        return ""
    turn = _Turn(loop, legality, apart)
    for node in loop.body.nodes:
        reason = turn.node(node)
        if reason is not None:
            return reason
    return turn.result()


@record
class _Access:
    """An element of an outer array, for one point."""

    container: str
    columns: Columns
    is_write: bool


class _Turn:
    """A turn, node by node."""

    def __init__(self, loop: Loop | While, legality: Legality, apart: Apart) -> None:
        self.loop, self.legality, self.apart = loop, legality, apart
        self.containers: Mapping[str, Container] = legality.memory.containers
        self.inits = {c.target: c.init for c in loop.carries if isinstance(c.target, str) and isinstance(c.init, View)}
        extents = [next(iter(self.containers[name].shape[0].values)) for name in self.inits]
        self.counts = PointCounts(extents)
        self.length_of: dict[str, Index] = dict.fromkeys(self.inits, self.counts.points)
        self.column: dict[str, str] = {name: name for name in self.inits}  # what an array was collected from
        self.sources: dict[str, str] = {}
        self.versions: Counter[str] = Counter()
        self.numbers: list[str] = []
        self.proved: set[str | Value] = set()
        self.checks: list[Elements] = []
        self.accesses: list[_Access] = []
        self.kept: list[Node] = []
        self.ends: list[tuple[Index, int]] = []  # lengths at which the loop is left, and where
        self.left: Columns = ()
        self.others: list[tuple[Carry, Expr]] = []

    def node(self, node: Node) -> str | None:
        """Take a node up; why that cannot be."""
        match node:
            case Site():
                return None
            case Guard(condition=condition):
                return None if self._holds(condition) else "it checks in every turn"
            case Alloc():
                return self._alloc(node)
            case Tasklet():
                return self._tasklet(node)
            case Reduce():
                return self._reduce(node)
            case Branch():
                return self._leaves(node)
            case Continue(values=values):
                return self._continues(values)
            case _:
                return self._points(node)

    def _points(self, node: Node) -> str | None:
        match node:
            case Map(params=(param,), ranges=((start, stop),)) if start.constant == 0:
                return self._each(node, param, stop, node.body.nodes)
            case Loop(carries=(_,)):
                return self._collects(node)
            case Loop(carries=()) if node.start.constant == 0 and node.step.constant == 1:
                *body, last = node.body.nodes
                return self._each(node, node.var, node.stop, body if isinstance(last, Continue) else [last])
            case _:
                return f"it holds a {type(node).__name__.lower()}"

    def result(self) -> Survivors | str:
        """What is known after the last node."""
        if not self.left:
            return "its turns do not end with what a mask leaves"
        count, orders = self.length_of[self.left[0]], self._orders()
        if isinstance(orders, str):
            return orders
        for length, place in self.ends:
            rest = all(isinstance(node, Tasklet | Branch) for node in self.kept[place:])
            if length != self.counts.points and (length != count or not rest):
                return "it may end while there are points left"
        used = {memlet.container for check in self.checks for t in check.body for _, memlet in t.reads}
        used.update(name for columns in orders for name in columns)
        for name, left in zip(self.inits, self.left, strict=True):
            if name in used and self.column.get(left) != name:
                return f"{_plain(name)} is not only collected"
        return Survivors(
            loop=self.loop,
            inits=self.inits,
            others=tuple(self.others),
            nodes=tuple(filter(None, map(self.counts.without_counts, self.kept))),
            lengths={value: self.counts.known(length) for value, length in self.counts.lengths.items()},
            arrays=tuple(name for name in self.length_of if name not in self.inits),
            numbers=tuple(filter(self.counts.is_count, self.numbers)),
            left=self.left,
            sources=self.sources,
            count=self.counts.known(count),
            checks=tuple(self.checks),
            holding=frozenset(value for value in self.proved if isinstance(value, Value)),
            orders=orders,
            changed=frozenset(name for name in self.inits if self.versions[name]),
        )

    def _orders(self) -> tuple[Columns, ...] | str:
        """The positions that must be increasing, so that no two points meet on an element."""
        memory, orders = self.legality.memory, dict[Columns, None]()
        written = dict.fromkeys(access.container for access in self.accesses if access.is_write)
        inits = [*self.inits, *(init.container for init in self.inits.values())]
        for name in written:
            if any(memory.may_overlap(name, init) for init in inits):
                return f"{_plain(name)} may be one of the arrays that it carries"
            meeting = [a for a in self.accesses if memory.may_overlap(name, a.container)]
            columns = {access.columns for access in meeting}
            if {access.container for access in meeting} != {name} or not _is_one_place(columns):
                return f"points may meet on an element of {_plain(name)}"
            orders[tuple(filter(None, columns.pop()))] = None
        for name in filter(lambda name: self.versions[name], self.inits):
            if any(memory.may_overlap(name, access.container) for access in self.accesses):
                return f"{_plain(name)} is also read in another way"
        left = dict(zip(self.inits, self.left, strict=True))
        for name, other in permutations(self.inits, 2):
            met = memory.may_overlap(self.inits[name].container, self.inits[other].container)
            if self.versions[name] and (met or left[name] == left[other]):
                return f"{_plain(name)} may be another of the arrays that it carries"
        return tuple(orders)

    # -- nodes

    def _holds(self, condition: Expr) -> bool:
        if isinstance(condition, Value) and condition in self.proved:
            return True
        return self.legality.proves(Substitution(self.counts.lengths).expr(condition), Facts())

    def _alloc(self, node: Alloc) -> str | None:
        shape = self.containers[node.container].shape
        if not shape:
            self.numbers.append(node.container)
            return None
        length = self.counts.length(shape[0]) if len(shape) == 1 else None
        if length is None or self.containers[node.container].storage not in (Storage.TRANSIENT, Storage.STACK):
            return f"{_plain(node.container)} does not have an element for each point"
        self.length_of[node.container] = length
        return None

    def _tasklet(self, node: Tasklet) -> str | None:
        """Numbers outside of maps: counts, and what is the same for all points."""
        if node.writes:
            return "it writes a number in every turn"
        for value, memlet in node.reads:
            if memlet.container in self.proved:
                self.proved.add(value)
            elif self.counts.read(value, memlet.container):
                continue
            elif (reason := self._access(memlet, None, None, {}, is_write=False)) is not None:
                return reason
        lets: list[Let] = []
        if any(let.warn >= 0 for let in node.lets):
            return "it may warn in turns without points"
        for let in node.lets:
            expr = let.expr if self.counts.measure(let.value, let.expr) else self._settled(let.expr)
            if expr is None:
                return "it computes with the number of points"
            lets.append(replace(let, expr=expr))
        reads = tuple((value, memlet) for value, memlet in node.reads if value not in self.proved)
        if reads or lets:
            self.kept.append(replace(node, reads=reads, lets=tuple(lets)))
        return None

    def _settled(self, expr: Expr) -> Expr | None:
        """What an expression is as long as there are points, if their number does not matter then."""
        found = self.counts.settled(expr)
        if found is None:
            return None
        settled, asked = found
        self.ends += [(length, len(self.kept)) for length in asked]
        return settled

    def _sees(self, expr: Expr, param: Value | None) -> bool:
        """Whether an expression at a point depends on which of the points it is."""
        values = values_in(expr)
        return param in values or not self.counts.is_apart(values)

    def _each(self, node: Node, param: Value, stop: Index, body: Sequence[Node]) -> str | None:
        """Something that is done for each point."""
        length, tasklets = self.counts.length(stop), [inner for inner in body if isinstance(inner, Tasklet)]
        if length is None or len(tasklets) < len(body):
            return "it holds a loop over something else than points"
        self.kept.append(node)
        return self._at_point(tasklets, param, length)

    def _at_point(self, tasklets: Sequence[Tasklet], param: Value, length: Index) -> str | None:
        columns: dict[Value, str] = {}
        for tasklet in tasklets:
            for value, memlet in tasklet.reads:
                reason = self._access(memlet, param, length, columns, is_write=False)
                if reason is not None:
                    return reason
                exact = value.type.dtype.kind in "iu" and value.type.dtype is not DType.UINT64
                columns[value] = self.column.get(memlet.container, "") if exact else ""
            for let in tasklet.lets:
                if self._sees(let.expr, param):
                    return "it computes with the places of points"
                columns[let.value] = _column(let.expr, columns)
            for memlet, expr in tasklet.writes:
                if self._sees(expr, param):
                    return "it computes with the places of points"
                reason = self._access(memlet, param, length, columns, is_write=True)
                if reason is not None:
                    return reason
        return None

    def _access(
        self, memlet: Memlet, param: Value | None, length: Index | None, columns: Mapping[Value, str], *, is_write: bool
    ) -> str | None:
        """An element read or written at a point, or outside of points."""
        name = memlet.container
        if name in self.numbers or memlet.conflict:
            return f"all points meet in {_plain(name)}"
        if name in self.length_of:
            if param is None or memlet.index != (index(param),) or self.length_of[name] != length:
                return f"points read each other in {_plain(name)}"
            if is_write:
                self._changes(name)
            return None
        if any(self._sees(coordinate, param) for coordinate in memlet.index):
            return f"points read {_plain(name)} by their places"
        self.accesses.append(_Access(name, tuple(_column(at, columns) for at in memlet.index), is_write))
        return None

    def _changes(self, name: str) -> None:
        self.versions[name] += 1
        self.column.pop(name, None)

    def _reduce(self, node: Reduce) -> str | None:
        """A count of the points a mask chooses, or a check of all of them."""
        (name, elements), source = (node.output.container, node.input), node.input
        if name not in self.numbers or node.output.shape:
            return "it combines points"
        if isinstance(source, View):
            param = Value(0, "p", source.shape[0].type) if source.rank == 1 else None
            if param is None:
                return "it combines points"
            flag = Value(0, "flag", NP_BOOL)
            at = source.at((index(param),))
            is_flag = self.containers[at.container].dtype is DType.BOOL
            elements = Elements((param,), source.shape, (Tasklet(reads=((flag, at),)),), flag if is_flag else index(0))
        assert isinstance(elements, Elements)
        (param, *others), length = elements.params, self.counts.length(elements.shape[0])
        if others or length is None or elements.expr.type.dtype is not DType.BOOL:
            return "it combines points"
        reason = self._at_point(elements.body, param, length)
        if reason is not None or self._sees(elements.expr, param):
            return reason or "it computes with the places of points"
        match node.op, node.initial:
            case "add", Const(value=0):
                self.counts.ask(name, question(elements.expr, elements.body, param, length, self.versions))
                self.kept.append(node)
                return None
            case "logical_and", Const(value=True):
                return self._check(name, elements)
            case _:
                return "it combines points"

    def _check(self, name: str, elements: Elements) -> str | None:
        """Something that must hold for positions; asked of all of them, it holds in every turn."""
        inside, body = values_defined_in(self.loop), list[Tasklet]()
        own = {*elements.params, *(v for t in elements.body for v, _ in t.reads), *_lets(elements.body)}
        for tasklet in elements.body:
            if not inside.isdisjoint(_used(tasklet) - own):
                return "it checks in every turn"
            reads: list[tuple[Value, Memlet]] = []
            for value, memlet in tasklet.reads:
                column = self.column.get(memlet.container)
                if column is None:
                    return f"it checks {_plain(memlet.container)} in every turn"
                reads.append((value, Memlet(column, memlet.index)))
            body.append(Tasklet(reads=tuple(reads), lets=tasklet.lets, id=tasklet.id, span=tasklet.span))
        if not inside.isdisjoint(values_in(elements.expr) - own):
            return "it checks in every turn"
        self.checks.append(Elements(elements.params, elements.shape, tuple(body), elements.expr))
        self.proved.add(name)
        return None

    def _collects(self, node: Loop) -> str | None:
        """A loop that collects the points a mask chooses, which have been counted."""
        parts = compaction(node, self.legality.memory, self.apart)
        length = self.counts.length(node.stop)
        if parts is None or length is None or parts.within or not starts_at_zero(node):
            return "it holds a loop that carries something"
        reason = self._at_point(parts.before, node.var, length)
        if reason is not None or node.var in values_in(parts.condition):
            return reason or "it computes with the places of points"
        asked = question(parts.condition, parts.before, node.var, length, self.versions)
        reason = self._collected(parts, node.var, self.counts.collect(asked, parts.number))
        self.kept.append(node)
        return reason

    def _collected(self, parts: Compaction, var: Value, length: Index | None) -> str | None:
        for target, source in parts.sources() or ():
            name = target.container
            if (
                not isinstance(source, Memlet)
                or source.index != (index(var),)
                or source.container not in self.length_of
            ):
                return "it collects something else than points"
            if length is None or self.length_of.get(name) != length or name in self.inits or self.versions[name]:
                return f"{_plain(name)} has another length than what it collects"
            column = self.column.get(source.container)
            self._changes(name)
            self.sources[name] = source.container
            if column is not None:
                self.column[name] = column
        return None if parts.sources() else "it computes while it collects"

    def _leaves(self, node: Branch) -> str | None:
        """A branch that leaves the loop where no point is left."""
        match node.then.nodes, node.orelse.nodes, node.results:
            case (Break(depth=0),), (Yield(),), ():
                condition = node.condition
            case (Yield(),), (Break(depth=0),), ():
                condition = op("logical_not", (node.condition,), NP_BOOL)
            case _:
                return "it holds a branch"
        settled = self._settled(condition)
        if settled is None:
            return "it may end while there are points left"
        if not (isinstance(settled, Const) and settled.value is False):
            leave, stay = Region((Break(),)), Region((Yield(),))
            self.kept.append(replace(node, condition=settled, then=leave, orelse=stay))
        return None

    def _continues(self, values: Sequence[Expr | View]) -> str | None:
        names: list[str] = []
        for carry, value in zip(self.loop.carries, values, strict=True):
            if isinstance(value, View):
                names.append(value.container)
            elif not self.counts.is_apart(values_in(value)):
                return "it computes with the number of points"
            else:
                self.others.append((carry, value))
        lengths = {self.length_of.get(name) for name in names}
        fresh = all(self.versions[name] and name not in self.inits for name in names)
        if len(lengths) > 1 or None in lengths or not fresh:
            return "its turns do not end with what a mask leaves"
        self.left = tuple(names)
        return None


def _is_value(extent: Index) -> bool:
    """Whether an extent is a name: as many as there are in a turn."""
    return len(extent.values) == 1 and extent == index(next(iter(extent.values)))


def _column(expr: Expr, columns: Mapping[Value, str]) -> str:
    """The array whose element an expression is, if that is not negative; "" for any other."""
    match expr:
        case Value():
            return columns.get(expr, "")
        case Index(terms=(((value,), 1),)):
            return columns.get(value, "")
        case Op(name="cast", args=(inner,)) if expr.type.dtype is DType.INT64:
            return _column(inner, columns)
        case Op(name="select", args=(Op(name="less", args=(tested, zero)), _, kept)) if _is_zero(zero):
            column = _column(tested, columns)
            return column if column == _column(kept, columns) else ""
        case _:
            return ""


def _is_one_place(columns: set[Columns]) -> bool:
    """Whether all go to the elements that the same positions say."""
    return len(columns) == 1 and any(any(places) for places in columns)


def _is_zero(expr: Expr) -> bool:
    return expr.constant == 0 if isinstance(expr, Index) else isinstance(expr, Const) and expr.value == 0


def _lets(tasklets: Sequence[Tasklet]) -> list[Value]:
    return [let.value for tasklet in tasklets for let in tasklet.lets]


def _used(tasklet: Tasklet) -> set[Value]:
    coordinates = [coordinate.values for _, memlet in tasklet.reads for coordinate in memlet.index]
    return set[Value]().union(*coordinates, *(values_in(let.expr) for let in tasklet.lets))


def _plain(name: str) -> str:
    return name.partition(".")[0]
