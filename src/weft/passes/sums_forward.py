"""A turn of a loop gives what it has found to the sums of later turns, where that follows memory and pulling does not.

before:  for j in 0:n { t = sum over k in 0:j of x[k] * U[k, j]; write x[j] = b[j] - t }
after:   alloc S[n]; map (q) in [0:n] { write S[q] = 0 }
         for j in 0:n { t = S[j]; write x[j] = b[j] - t; map (q) in [j+1:n] { write S[q] = S[q] + x[j] * U[j, q] } }

The sum of a turn has one term for each turn before it, which alone writes the number `x[k]` that the term needs; what
else terms read, the loop does not write at all. So a term may be computed as soon as its number is there. Sums and the
greatest or least of numbers are formed alike, in the order of the turns. It pays where the other numbers lie apart on
the way of the sum and next to each other on that of the turns, and where no loop around is a map: maps share no S.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, Final

from weft.analysis.facts import Facts
from weft.analysis.uses import read_by, written_by
from weft.ir.dtypes import NP_BOOL, DType, ScalarType
from weft.ir.exprs import Const, Expr, Index, Value, const, index, op
from weft.ir.nodes import (
    Alloc,
    Continue,
    Elements,
    Let,
    Loop,
    Map,
    Memlet,
    Node,
    Program,
    Reduce,
    Region,
    Storage,
    Tasklet,
    While,
)
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, values_defined_in, values_used_in
from weft.passes.base import Bench, Session
from weft.passes.interchange_maps import jumps
from weft.passes.loop_bodies import is_less, named_sites, only_if, straight
from weft.passes.map_walk import MapWalk
from weft.passes.open_sites import OpenSite
from weft.passes.wording import why_serial
from weft.support.records import record

_KINDS: Final = {"add": "iufc", "maximum": "iuf", "minimum": "iuf"}  # types of elements, by operation


@record
class SumsForward:
    """Push terms to the sums of later turns."""

    name: ClassVar[str] = "sums-forward"

    def run(self, program: Program, session: Session) -> Program:
        """The program with these sums formed on the way."""
        loops = (node for node in all_nodes(program.body) if isinstance(node, Loop))
        if not any(isinstance(inner, Reduce) for loop in loops for inner in loop.body.nodes):
            return program
        named = named_sites(program)
        bench = Bench(self.name, program, session)
        return MapWalk(bench, lambda node, walk, site: _forward(node, walk, site, named)).program()


@record
class _Sum:
    """The only sum of a loop. `term` is the parameter of the term that the turn `loop.var` gives to the turn `later`.

    `others` is the loop with nothing in it but what terms read besides the numbers that turns give.
    """

    loop: Loop
    body: tuple[Node, ...]
    reduce: Reduce
    terms: Elements
    later: Value
    term: Index
    others: Loop

    @property
    def step(self) -> int:
        """1 or -1."""
        return self.loop.step.constant or 1

    @property
    def dtype(self) -> DType:
        """The type of the numbers combined."""
        return self.terms.expr.type.dtype

    def place(self, turn: Index) -> Index:
        """The number of a turn, from 0."""
        return (turn - self.loop.start) * self.step

    def range(self, first: Index) -> tuple[Index, Index]:
        """The turns from a first one on, counted upwards."""
        return (first, self.loop.stop) if self.step > 0 else (self.loop.stop + 1, first + 1)


def _forward(node: Node, walk: MapWalk, site: OpenSite | None, named: frozenset[int]) -> list[Node] | None:
    body = straight(node, named) if isinstance(node, Loop) and not node.carries else None
    if not isinstance(node, Loop) or body is None or node.step.constant not in (1, -1):
        return None
    bench = walk.bench
    found = _sum_in(node, body, bench)
    if found is None or bench.legality.between(found.others, node, walk.facts, instances=True):
        return None
    given = _given(found, bench)
    (pull,) = jumps(Region(found.terms.body), found.terms.params, bench.program)
    (push,) = jumps(Region(given.body), (found.later,), bench.program)
    if push >= pull or any(_is_map(loop, facts, bench, named) for loop, facts in walk.loops):
        return None
    low, high = found.range(node.start)
    room = walk.allocate("sums", found.dtype, (high - low,), site, found.reduce.span)
    if room is None:
        return None
    bench.note(f"each turn over {node.var.name} adds to the sums of later ones", found.reduce, done=True)
    start: list[Node] = [_started(found, room.view.container, bench)]
    if not bench.legality.is_nonnegative(high - low, walk.facts):
        start = [only_if(is_less(low, high), start, node.span, bench)]
    inner = [*_reading(found, room.view.container), _pushing(found, given, room.view.container, bench), Continue(())]
    return [*room.allocs, *start, replace(node, body=Region(tuple(inner)))]


def _is_map(loop: Loop | While, facts: Facts, bench: Bench, named: frozenset[int]) -> bool:
    return isinstance(loop, Loop) and why_serial(loop, facts, bench.legality, named) is None


# ---- what there is --------------------------------------------------------------------------------------------------


def _sum_in(loop: Loop, body: tuple[Node, ...], bench: Bench) -> _Sum | None:
    """The only sum of a body, if each turn before gives it a term."""
    reduces = [node for node in body if isinstance(node, Reduce)]
    if len(reduces) != 1 or not isinstance(reduces[0].input, Elements) or not _is_plain(reduces[0], body, bench):
        return None
    reduce, terms = reduces[0], reduces[0].input
    own = bench.defines(loop) - {loop.var} - values_defined_in(reduce)
    if not own.isdisjoint(values_used_in(Region((reduce,)))):
        return None
    stores = list(_stores(body[body.index(reduce) + 1 :]))
    present, up = index(loop.var), loop.step.constant == 1
    floor, ceiling = (present + 1, loop.stop - 1) if up else (loop.stop + 1, present - 1)
    later = replace(loop.var, id=bench.number(), floor=floor, ceiling=ceiling)
    given: dict[Memlet, Index] = {}
    for _, memlet in (read for tasklet in terms.body for read in tasklet.reads):
        for store in stores:
            term = _term(loop, terms, memlet, store, later)
            if term is not None and _is_only(store, body, reduce, bench):
                given[memlet] = term
    if len(set(given.values())) != 1:
        return None
    reads = [[read for read in tasklet.reads if read[1] not in given] for tasklet in terms.body]
    kept = tuple(Tasklet(reads=tuple(read)) for read in reads if read)
    alone = replace(reduce, input=replace(terms, body=kept, expr=reduce.initial))
    own_alloc = [node for node in body if isinstance(node, Alloc) and node.container == reduce.output.container]
    others = replace(loop, body=Region((*own_alloc, alone, Continue(()))))
    return _Sum(loop, body, reduce, terms, later, next(iter(given.values())), others)


def _is_plain(reduce: Reduce, body: tuple[Node, ...], bench: Bench) -> bool:
    """Whether it is a number of its own that tasklets of the body read, combined from elements of its type."""
    terms, name = reduce.input, reduce.output.container
    container = bench.containers[name]
    if not isinstance(terms, Elements) or len(terms.params) != 1 or not isinstance(reduce.initial, Const):
        return False
    if container.rank or container.storage is not Storage.STACK or terms.expr.type != ScalarType(container.dtype):
        return False
    if container.dtype.kind not in _KINDS.get(reduce.op, ""):
        return False
    place = body.index(reduce)
    if not any(isinstance(node, Alloc) and node.container == name for node in body[:place]):
        return False
    inside = [node for node in all_nodes(Region(body)) if node is not reduce and not isinstance(node, Alloc)]
    readers = [node for node in inside if name in read_by(node)]
    after = body[place + 1 :]
    return all(isinstance(node, Tasklet) and node in after for node in readers) and not any(
        name in written_by(node) for node in inside
    )


def _stores(nodes: tuple[Node, ...]) -> Iterator[Memlet]:
    for node in nodes:
        if isinstance(node, Tasklet):
            yield from (memlet for memlet, _ in node.writes if not memlet.conflict)


def _is_only(store: Memlet, body: tuple[Node, ...], reduce: Reduce, bench: Bench) -> bool:
    """Whether nothing else in a body writes to the container of a store."""
    written = [name for node in all_nodes(Region(body)) if node is not reduce for name in written_by(node)]
    return sum(bench.legality.memory.may_overlap(store.container, name) for name in written) == 1


def _term(loop: Loop, terms: Elements, read: Memlet, store: Memlet, later: Value) -> Index | None:
    """Of the term that reads what a turn stores, the parameter: a polynomial in the turn and the later one.

    None unless the terms of a sum are, one by one, those of all turns before it.
    """
    param, turn = terms.params[0], _turn(loop.var, read, store)
    if turn is None:
        return None
    sign = next((factor for monomial, factor in turn.terms if monomial == (param,)), 0)
    rest = turn - index(param) * sign
    if sign not in (1, -1) or param in rest.values:
        return None
    ends = (rest, rest + (terms.shape[0] - 1) * sign)
    first, last = loop.start, index(loop.var) - loop.step
    if not (ends[0] is first and ends[1] is last) and not (ends[0] is last and ends[1] is first):
        return None
    return (index(loop.var) - rest.substitute({loop.var: index(later)})) * sign


def _turn(var: Value, read: Memlet, store: Memlet) -> Index | None:
    """The turn whose store is what a read reads, as a polynomial."""
    if read.container != store.container:
        return None
    for wanted, written in zip(read.index, store.index, strict=True):
        sign = next((factor for monomial, factor in written.terms if monomial == (var,)), 0)
        rest = written - index(var) * sign
        if sign in (1, -1) and var not in rest.values:
            turn = (wanted - rest) * sign
            places = zip(read.index, store.index, strict=True)
            return turn if all(at.substitute({var: turn}) is place for place, at in places) else None
    return None


# ---- what is made ---------------------------------------------------------------------------------------------------


def _given(found: _Sum, bench: Bench) -> Elements:
    """The term that a turn gives to a later one."""
    points: Mapping[Value, Expr] = {found.terms.params[0]: found.term, found.loop.var: found.later}
    alone = replace(found.reduce, input=replace(found.terms, params=()))
    (moved,) = with_fresh_values([alone], bench.number, points)
    assert isinstance(moved, Reduce)
    assert isinstance(moved.input, Elements)
    return moved.input


def _started(found: _Sum, sums: str, bench: Bench) -> Map:
    """The map that gives every sum what it starts from; that of the first turn is empty."""
    low, high = found.range(found.loop.start)
    turn = replace(found.loop.var, id=bench.number())
    type_, initial = ScalarType(found.dtype), found.reduce.initial
    assert initial is not None
    start: Expr = const(_identity(found.reduce.op, found.dtype), type_)
    if start is not initial:
        is_first = op("equal", (index(turn), found.loop.start), NP_BOOL)
        start = op("select", (is_first, initial, start), type_)
    write = (Memlet(sums, (found.place(index(turn)),)), start)
    tasklet = Tasklet(writes=(write,), id=bench.number(), span=found.reduce.span)
    return Map(
        params=(turn,), ranges=((low, high),), body=Region((tasklet,)), id=bench.number(), span=found.reduce.span
    )


def _identity(operation: str, dtype: DType) -> complex | float | int:
    """What the operation leaves as it is."""
    if operation == "add":
        return {"f": 0.0, "c": 0j}.get(dtype.kind, 0)
    if dtype.kind == "f":
        return float("-inf") if operation == "maximum" else float("inf")
    return dtype.bounds[operation == "minimum"]


def _reading(found: _Sum, sums: str) -> list[Node]:
    """The body with the sum of the turn where it has been formed."""
    name = found.reduce.output.container
    place = Memlet(sums, (found.place(index(found.loop.var)),))
    nodes: list[Node] = []
    for node in found.body:
        if node is found.reduce or (isinstance(node, Alloc) and node.container == name):
            continue
        if isinstance(node, Tasklet):
            reads = tuple((value, place if memlet.container == name else memlet) for value, memlet in node.reads)
            nodes.append(replace(node, reads=reads))
        else:
            nodes.append(node)
    return nodes


def _pushing(found: _Sum, given: Elements, sums: str, bench: Bench) -> Map:
    """The map over later turns that adds the term of this one to their sums."""
    type_, span = ScalarType(found.dtype), found.reduce.span
    total, following = bench.value("sum", type_), bench.value("sum", type_)
    place = Memlet(sums, (found.place(index(found.later)),))
    warn = found.reduce.warn if found.reduce.op == "add" else -1
    let = Let(following, op(found.reduce.op, (total, given.expr), type_), warn)
    add = Tasklet(reads=((total, place),), lets=(let,), writes=((place, following),), id=bench.number(), span=span)
    low, high = found.range(index(found.loop.var) + found.step)
    body = Region((*given.body, add))
    return Map(params=(found.later,), ranges=((low, high),), body=body, id=bench.number(), span=span)
