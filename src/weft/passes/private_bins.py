"""Loops that add to elements at positions found in data run in parts, each with elements of its own.

before:  for i in 0:n { at = idx[i]; h = H[at]; t = h + w[i]; write H[at] = t; continue }

after:   if n >= 65536 and n >= 32 * bins and bins <= 8192 {
           alloc B: [16, bins]
           map (part) in [0:16] {
             map (b) in [0:bins] { write B[part, b] = 0 }
             for i in a sixteenth of 0:n { at = idx[i]; h = B[part, at]; t = h + w[i]; write B[part, at] = t; continue }
           }
           map (b) in [0:bins] { write H[b] = H[b] + B[0, b] + ... + B[15, b] }
         } else { the loop as it was }

Legal where a turn does nothing but add to one element of H what it computes of arrays that share no memory with H: the
order of a sum is free, and there are sixteen parts whatever the number of threads. The sum of no floats is -0.0, which
changes no other number. Where there is no memory for B the program leaves through a site in front of the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from weft.analysis.facts import Facts
from weft.analysis.memory import Memory
from weft.analysis.uses import read_by
from weft.ir.dtypes import NP_BOOL, PY_INT, ScalarType
from weft.ir.exprs import Expr, Index, Op, Value, const, const_index, index, op, values_in
from weft.ir.nodes import (
    Alloc,
    Continue,
    Layout,
    Let,
    Loop,
    Map,
    Memlet,
    Node,
    Program,
    Region,
    Site,
    Storage,
    Tasklet,
)  # fmt: skip
from weft.ir.substitution import Substitution, with_fresh_values
from weft.ir.traverse import all_nodes, site_left_through
from weft.passes.base import Bench, Session
from weft.passes.loop_bodies import Count, counted, only_if, straight
from weft.passes.open_sites import OpenSite, open_site, rewrite_inside, writes_of
from weft.support.records import record

_PARTS: Final = 16
_ENOUGH: Final = 65536  # turns
_TURNS_A_BIN: Final = 2 * _PARTS  # or there is more to clear and to join than to add
_MOST_BINS: Final = 8192  # those of all parts together are a megabyte
_APART: Final = 16  # elements between the bins of two parts: threads share no line of the cache


@record
class PrivateBins:
    """Give threads elements of their own to add to."""

    name: ClassVar[str] = "private-bins"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer loops in order."""
        bench = Bench(self.name, program, session)
        body = _Walk(bench).region(program.body, session.facts, None)
        return program if body is program.body else replace(program, body=body, containers=dict(bench.containers))


@record
class Sum:
    """What a loop does: it adds to an element of `target`, in an operation that warns at `warn`."""

    target: Memlet
    type: ScalarType
    warn: int


def added_up(body: Sequence[Node], memory: Memory) -> Sum | None:
    """What a straight body adds up; None where it does anything else."""
    if not all(isinstance(node, Tasklet) for node in body):
        return None
    tasklets = [node for node in body if isinstance(node, Tasklet)]
    writes = [write for tasklet in tasklets for write in tasklet.writes]
    if len(writes) != 1 or writes[0][0].conflict:
        return None
    target, expr = writes[0]
    name = target.container
    reads = [read for tasklet in tasklets for read in tasklet.reads if read[1].container == name]
    others = {read for tasklet in tasklets for read in read_by(tasklet)} - {name}
    if len(reads) != 1 or reads[0][1] != target or any(memory.may_overlap(name, other) for other in others):
        return None
    positions = [position for tasklet in tasklets for _, memlet in tasklet.reads for position in memlet.index]
    if any(reads[0][0] in position.values for position in (*positions, *target.index)):
        return None
    lets = [let for tasklet in tasklets for let in tasklet.lets]
    return _sum(target, reads[0][0], expr, lets)


def _sum(target: Memlet, old: Value, expr: Expr, lets: Sequence[Let]) -> Sum | None:
    """Whether the new element is the old one and something else, and the old one is used for nothing else."""
    named = {let.value: let for let in lets}
    warn, chain = -1, set[Value]()
    while isinstance(expr, Value) and expr in named:
        chain.add(expr)
        warn, expr = named[expr].warn, named[expr].expr
    if not isinstance(expr, Op) or expr.name != "add" or expr.type != old.type or old not in expr.args:
        return None
    other = expr.args[1] if expr.args[0] == old else expr.args[0]
    used = [values_in(let.expr) for let in lets if let.value not in chain]
    if old in values_in(other) or any(old in values or not chain.isdisjoint(values) for values in used):
        return None
    if old.type.dtype.kind not in "iufc":
        return None
    return Sum(target, old.type, warn)


class _Walk:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.memory = bench.legality.memory
        self.writes = writes_of(bench.program, self.memory)
        left = (node for node in all_nodes(bench.program.body) if not isinstance(node, Alloc))
        self.named = frozenset(site for node in left if (site := site_left_through(node)) is not None)

    def region(self, region: Region, facts: Facts, site: OpenSite | None) -> Region:
        """A region whose loops add up in parts; `site` is open at its head."""
        nodes: list[Node] = []
        for node in region.nodes:
            if isinstance(node, Site):
                site = open_site(node)
            made = self.in_parts(node, facts, site) if isinstance(node, Loop) and site is not None else None
            if made is None:
                inner = node if isinstance(node, Map) else self.inside(node, facts, site)
                made = [inner]
            nodes += made
            facts = facts.after(node)
            if site is not None and self.writes.close(node, site):
                site = None
        return region if tuple(nodes) == region.nodes else Region(tuple(nodes))

    def inside(self, node: Node, facts: Facts, site: OpenSite | None) -> Node:
        return rewrite_inside(node, facts.inside(node, self.memory), site, self.writes, self.region)

    def in_parts(self, loop: Loop, facts: Facts, site: OpenSite) -> list[Node] | None:
        body = None if loop.carries else straight(loop, self.named)
        found = added_up(body, self.memory) if body is not None else None
        count = counted(loop, facts, self.bench) if found is not None else None
        if body is None or found is None or count is None:
            return None
        container = self.bench.containers[found.target.container]
        if container.storage is Storage.REF or not container.shape:
            return None
        self.bench.note(f"the loop over {loop.var.name} adds up in parts", loop, done=True)
        return list(_Parts(self.bench, loop, body, found, count).build(site))


@record
class _InBins(Substitution):
    """A substitution by which the elements of one array are those of a part."""

    target: str = ""
    bins: str = ""
    part: Index = const_index(0)

    def memlet(self, memlet: Memlet) -> Memlet:
        """A memlet."""
        made = Substitution.memlet(self, memlet)
        if made.container != self.target:
            return made
        return replace(made, container=self.bins, index=(self.part, *made.index))


class _Parts:
    """A loop that adds up, and what stands for it."""

    def __init__(self, bench: Bench, loop: Loop, body: Sequence[Node], found: Sum, count: Count) -> None:
        self.bench, self.loop, self.body, self.found, self.count = bench, loop, body, found, count
        target = bench.containers[found.target.container]
        self.shape = target.shape
        *head, last = self.shape
        name = f"bins.{bench.number()}"
        shape = (const_index(_PARTS), *head, last + _APART)
        self.bins = bench.containers[name] = replace(
            target, name=name, shape=shape, storage=Storage.TRANSIENT, layout=Layout.C, slot=-1, base="", may_alias=()
        )

    def build(self, site: OpenSite) -> Iterator[Node]:
        """The loop in parts, under the condition that it pays."""
        bench, span = self.bench, self.loop.span
        turns = replace(bench.value("turns", PY_INT), low=0)
        yield self.tasklet((*self.count.lets, Let(turns, self.count.trips)))
        alloc = Alloc(container=self.bins.name, site=site.number, id=bench.number(), span=span)
        made = only_if(self.worth(index(turns)), [alloc, *self.parts(index(turns)), self.joined()], span, bench)
        yield replace(made, orelse=Region((self.loop, *made.orelse.nodes)))

    def worth(self, turns: Index) -> Expr:
        """Many turns, and few bins."""
        bins = const_index(1)
        for extent in self.shape:
            bins = bins * extent
        limits = (
            (turns, const_index(_ENOUGH)), (const_index(_MOST_BINS), bins), (turns, bins * _TURNS_A_BIN),
        )  # fmt: skip
        first, second, third = (op("greater_equal", pair, NP_BOOL) for pair in limits)
        return op("logical_and", (op("logical_and", (first, second), NP_BOOL), third), NP_BOOL)

    def parts(self, turns: Index) -> list[Node]:
        """The map over parts."""
        bench, span, parts = self.bench, self.loop.span, const_index(_PARTS)
        chunk = replace(bench.value("chunk", PY_INT), low=0)
        part = Value(bench.number(), "part", PY_INT, 0, _PARTS - 1, const_index(0), parts - 1)
        begin = replace(bench.value("begin", PY_INT), low=0)
        size = replace(bench.value("size", PY_INT), low=0, ceiling=index(chunk))
        first = op("minimum", (index(part) * index(chunk), turns), PY_INT)
        lets = (Let(begin, first), Let(size, op("minimum", (index(chunk), turns - index(begin)), PY_INT)))
        turn = Value(bench.number(), "turn", PY_INT, 0, None, const_index(0), index(size) - 1)
        loop = Loop(
            var=turn, start=const_index(0), stop=index(size), step=const_index(1), carries=(),
            body=Region((*self.at_turn(index(begin) + index(turn), index(part)), Continue(()))),
            id=bench.number(), span=span,
        )  # fmt: skip
        body = Region((self.tasklet(lets), self.cleared(index(part)), loop))
        made = Map(params=(part,), ranges=((const_index(0), parts),), body=body, id=bench.number(), span=span)
        shares = op("floor_divide", (turns + (_PARTS - 1), parts), PY_INT)
        return [self.tasklet((Let(chunk, shares),)), made]

    def at_turn(self, turn: Index, part: Index) -> list[Node]:
        """The body at one turn, on the elements of a part."""
        fresh = replace(self.loop.var, id=self.bench.number(), floor=None, ceiling=None)
        place = self.tasklet((Let(fresh, self.count.start + turn * self.count.step),))
        inside = _InBins(target=self.found.target.container, bins=self.bins.name, part=part)
        bindings: dict[Value, Expr] = {self.loop.var: fresh}
        return [place, *(inside.node(node) for node in with_fresh_values(self.body, self.bench.number, bindings))]

    def cleared(self, part: Index) -> Map:
        """Sums of nothing."""
        params = self.points()
        kind = self.found.type.dtype.kind
        zero = const({"f": -0.0, "c": complex(-0.0, -0.0)}.get(kind, 0), ScalarType(self.found.type.dtype))
        memlet = Memlet(self.bins.name, (part, *map(index, params)))
        return self.map(params, Tasklet(writes=((memlet, zero),), id=self.bench.number(), span=self.loop.span))

    def joined(self) -> Map:
        """The sums of all parts are added to the elements, in order."""
        bench, params, type_ = self.bench, self.points(), ScalarType(self.found.type.dtype)
        target = Memlet(self.found.target.container, tuple(map(index, params)))
        places = [Memlet(self.bins.name, (const_index(n), *map(index, params))) for n in range(_PARTS)]
        values = [bench.value("h", type_) for _ in range(_PARTS + 1)]
        lets: list[Let] = []
        total = values[0]
        for value in values[1:]:
            following = bench.value("t", type_)
            lets.append(Let(following, op("add", (total, value), type_), self.found.warn))
            total = following
        reads = tuple(zip(values, (target, *places), strict=True))
        tasklet = Tasklet(
            reads=reads, lets=tuple(lets), writes=((target, total),), id=bench.number(), span=self.loop.span
        )
        return self.map(params, tasklet)

    def points(self) -> tuple[Value, ...]:
        return tuple(
            Value(self.bench.number(), "b", PY_INT, 0, None, const_index(0), extent - 1) for extent in self.shape
        )

    def map(self, params: tuple[Value, ...], tasklet: Tasklet) -> Map:
        ranges = tuple((const_index(0), extent) for extent in self.shape)
        return Map(params=params, ranges=ranges, body=Region((tasklet,)), id=self.bench.number(), span=self.loop.span)

    def tasklet(self, lets: tuple[Let, ...]) -> Tasklet:
        return Tasklet(lets=lets, id=self.bench.number(), span=self.loop.span)
