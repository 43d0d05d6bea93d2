"""Sums and extremes of rows, and what is computed of the rows with them, go through memory row by row.

before:  reduce maximum M[:] = A[:, :] axes (1)
         map (p, q) in [0:n, 0:m] { write B[p, q] = exp(A[p, q] - M[p]) }
         reduce add S[:] = B[:, :] axes (1)
         map (p, q) in [0:n, 0:m] { write B[p, q] = B[p, q] / S[p] }

after:   if n * m >= 2097152 and 32 <= m <= 8192 {
           map (p) in [0:n] {
             reduce maximum M[p] = A[p, :] axes (0);  a = M[p]
             map (q) in [0:m] { write B[p, q] = exp(A[p, q] - a) }
             reduce add S[p] = B[p, :] axes (0);  b = S[p]
             map (q) in [0:m] { write B[p, q] = B[p, q] / b }
           }
         } else { as it was }

Legal when no row of one node depends on a different row of another (`Legality.elsewhere`, of each node as a map over
its rows). A row stays in the nearest cache from the first node to the last. Very short rows would cost more to start
than to compute, very long ones do not stay, and arrays that fit in the caches come from there anyway: for those it
remains as it was.
Allocations in between come first: there is no site between them and the head of the group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from weft.analysis.facts import Facts
from weft.analysis.uses import read_by, written_by
from weft.ir.dtypes import NP_BOOL, PY_INT
from weft.ir.exprs import Expr, Index, Value, const_index, index, op
from weft.ir.nodes import Alloc, Axis, Elements, Map, Memlet, Node, Program, Reduce, Region, Tasklet, View
from weft.ir.substitution import Substitution, with_fresh_values
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench, Session, rewrite_regions
from weft.passes.loop_bodies import only_if
from weft.passes.tasklets import is_plain
from weft.support.records import record

_ELEMENTS: Final = 2**21  # of an array that does not fit in the caches; of rows as long as may be there are 256
_SHORTEST, _LONGEST = 32, 8192  # elements of a row
_OPERATIONS: Final = frozenset(("add", "multiply", "minimum", "maximum", "logical_and", "logical_or"))


@record
class FuseRows:
    """Take rows from reductions to the maps that need them and on, one by one."""

    name: ClassVar[str] = "fuse-rows"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer ways through memory."""
        bench = Bench(self.name, program, session)
        maps = (node for node in all_nodes(program.body) if isinstance(node, Map))
        inside = frozenset(
            inner.id for node in maps for inner in all_nodes(node.body) if isinstance(inner, Map | Reduce)
        )
        return rewrite_regions(bench, lambda region, facts: _fuse(region, facts, bench, inside))


@record
class _Rowed:
    """A node as a map over its rows. `length` are the extents of a row that is summed up, of a reduction."""

    node: Map | Reduce
    rows: Map
    length: tuple[Index, ...] = ()


def _fuse(region: Region, facts: Facts, bench: Bench, inside: frozenset[int]) -> Region:
    nodes: list[Node] = []
    group = _Group(bench, inside)
    changed = False
    for node in region.nodes:
        if not group.take(node, facts):
            changed |= group.close(nodes)
            group = _Group(bench, inside)
            if not group.take(node, facts):
                nodes.append(node)
        facts = facts.after(node)
    changed |= group.close(nodes)
    return Region(tuple(nodes)) if changed else region


class _Group:
    """Nodes that stand one behind the other and may go through memory row by row, as far as they are found."""

    def __init__(self, bench: Bench, inside: frozenset[int]) -> None:
        self.bench = bench
        self.inside = inside  # what is in maps already
        self.originals: list[Node] = []
        self.allocs: list[Alloc] = []
        self.members: list[_Rowed] = []

    def take(self, node: Node, facts: Facts) -> bool:
        """Whether a node goes with those before it; then it is one of the group."""
        if isinstance(node, Map | Reduce) and node.id in self.inside:
            return False
        if isinstance(node, Alloc):
            if not self.members:
                return False
            self.allocs.append(node)
            self.originals.append(node)
            return True
        rank = len(self.members[0].rows.params) if self.members else None
        member = _rowed(node, rank, self.bench)
        if member is None or not self.fits(member, facts):
            return False
        self.members.append(member)
        self.originals.append(node)
        return True

    def fits(self, member: _Rowed, facts: Facts) -> bool:
        if not self.members:
            return bool(member.length)  # a group begins with a reduction
        if member.rows.ranges != self.members[0].rows.ranges:
            return False
        for other in self.members:
            meeting = self.bench.legality.elsewhere(other.rows, member.rows, facts)
            if meeting:
                name = meeting[0].sink.container.partition(".")[0]
                self.bench.note(f"rows are not taken on: {name} is needed of other rows", member.node, done=False)
                return False
        return True

    def close(self, nodes: list[Node]) -> bool:
        """Write the group down; whether it is row by row."""
        if not self.pays():
            nodes += self.originals
            return False
        first = self.members[0]
        rest = [node for node in self.originals if not isinstance(node, Alloc)]
        self.bench.note(f"{len(self.members)} steps go through memory row by row", first.node, done=True)
        made = only_if(_worth(first), [self.row_by_row()], first.node.span, self.bench)
        nodes += [*self.allocs, replace(made, orelse=Region((*rest, *made.orelse.nodes)))]
        return True

    def pays(self) -> bool:
        """Whether whole rows are looked at again, after a reduction that is needed for it."""
        found = set[str]()
        results = set[str]()
        for member in self.members:
            touched = {name for name, depends in _touched(member) if depends}
            read = {name for name, _ in _touched(member)}
            if not member.length and touched & found and read & results:
                return True
            found |= touched
            if member.length:
                results |= set(written_by(member.node))
        return False

    def row_by_row(self) -> Map:
        bench, first = self.bench, self.members[0].rows
        row = tuple(replace(bench.value("row", PY_INT), low=0, floor=const_index(0), ceiling=stop - 1)
                    for _, stop in first.ranges)  # fmt: skip
        body: list[Node] = []
        for member in self.members:
            bindings: dict[Value, Expr] = dict(zip(member.rows.params, row, strict=True))
            for node in with_fresh_values(member.rows.body.nodes, bench.number, bindings):
                body += _with_reads_outside(node, bench)
        return replace(first, params=row, body=Region(tuple(body)), id=bench.number())


def _worth(member: _Rowed) -> Expr:
    """Many elements, in rows that are neither very short nor very long."""
    length = const_index(1)
    for extent in member.length:
        length = length * extent
    total = length
    for _, stop in member.rows.ranges:
        total = total * stop
    limits = ((total, const_index(_ELEMENTS)), (length, const_index(_SHORTEST)), (const_index(_LONGEST), length))
    tests = [op("greater_equal", pair, NP_BOOL) for pair in limits]
    return op("logical_and", (op("logical_and", (tests[0], tests[1]), NP_BOOL), tests[2]), NP_BOOL)


# -- nodes as maps over rows


def _rowed(node: Node, rank: int | None, bench: Bench) -> _Rowed | None:
    match node:
        case Reduce() if node.op in _OPERATIONS and not node.joined:
            return _reduce_rows(node, bench)
        case Map() if rank is not None and is_plain(node) and _is_box(node, rank):
            inner = node.body.nodes
            if len(node.params) > rank:
                inner = (replace(node, params=node.params[rank:], ranges=node.ranges[rank:]),)
            rows = replace(node, params=node.params[:rank], ranges=node.ranges[:rank], body=Region(inner))
            return _Rowed(node, rows)
        case _:
            return None


def _is_box(node: Map, rank: int) -> bool:
    """Whether the rows of a map are all alike, and counted from 0."""
    starts = all(start.constant == 0 for start, _ in node.ranges[:rank])
    rows = frozenset(node.params[:rank])
    return starts and len(node.params) >= rank and all(
        rows.isdisjoint(start.values | stop.values) for start, stop in node.ranges
    )  # fmt: skip


def _reduce_rows(node: Reduce, bench: Bench) -> _Rowed | None:
    """A reduction over the last axes, at one point of the others."""
    rank = node.input.rank - len(node.axes)
    if rank == 0 or node.axes != tuple(range(rank, node.input.rank)) or node.output.rank != rank:
        return None
    extents, length = node.input.shape[:rank], node.input.shape[rank:]
    row = tuple(replace(bench.value("row", PY_INT), low=0, floor=const_index(0), ceiling=stop - 1) for stop in extents)
    taken = _elements_at(node.input, row) if isinstance(node.input, Elements) else _view_at(node.input, row)
    axes = tuple(axis - rank for axis in node.axes)
    inner = replace(node, output=_view_at(node.output, row), input=taken, axes=axes)
    ranges = tuple((const_index(0), stop) for stop in extents)
    rows = Map(params=row, ranges=ranges, body=Region((inner,)), id=bench.number(), span=node.span)
    return _Rowed(node, rows, length)


def _view_at(view: View, row: Sequence[Value]) -> View:
    """The rest of a view at a point of its first axes."""
    axes: list[Axis] = []
    for axis in view.axes:
        offset, terms = axis.offset, list[tuple[int, Index]]()
        for number, step in axis.terms:
            if number < len(row):
                offset = offset + step * index(row[number])
            else:
                terms.append((number - len(row), step))
        axes.append(Axis(offset, tuple(terms)))
    return View(view.container, view.shape[len(row) :], tuple(axes))


def _elements_at(elements: Elements, row: Sequence[Value]) -> Elements:
    """The same of elements that are computed."""
    bindings: dict[Value, Expr] = dict(zip(elements.params, row, strict=False))
    chosen = Substitution(bindings)
    body = tuple(chosen.tasklet(tasklet) for tasklet in elements.body)
    return Elements(elements.params[len(row) :], elements.shape[len(row) :], body, chosen.expr(elements.expr))


def _touched(member: _Rowed) -> list[tuple[str, bool]]:
    """The containers of a member, and whether it looks at more than one element of theirs in a row."""
    found: list[tuple[str, bool]] = []
    for node in member.rows.body.nodes:
        match node:
            case Map(params=params, body=body):
                found += [(m.container, _moves(m, frozenset(params))) for t in body.nodes for m in _memlets(t)]
            case Reduce(input=Elements(params=params, body=body)):
                found += [(m.container, _moves(m, frozenset(params))) for t in body for m in _memlets(t)]
                found += [(name, False) for name in written_by(node)]
            case Reduce(input=View(container=name)):
                found += [(name, True), *((name, False) for name in written_by(node))]
            case _:
                found += [(name, False) for name in (*read_by(node), *written_by(node))]
    return found


def _memlets(node: Node) -> list[Memlet]:
    if not isinstance(node, Tasklet):
        return []
    return [memlet for _, memlet in node.reads] + [memlet for memlet, _ in node.writes]


def _moves(memlet: Memlet, params: frozenset[Value]) -> bool:
    return any(not position.values.isdisjoint(params) for position in memlet.index)


def _with_reads_outside(node: Node, bench: Bench) -> list[Node]:
    """A map, after the reads that are the same for all of its points."""
    if not isinstance(node, Map) or not is_plain(node):
        return [node]
    written = {name for inner in node.body.nodes for name in written_by(inner)}
    params = frozenset(node.params)
    outside: list[tuple[Value, Memlet]] = []
    body: list[Node] = []
    defined = frozenset[Value]()
    for inner in node.body.nodes:
        assert isinstance(inner, Tasklet)
        fixed = [
            (value, memlet)
            for value, memlet in inner.reads
            if memlet.container not in written
            and all(position.values.isdisjoint(params | defined) for position in memlet.index)
        ]
        outside += fixed
        body.append(replace(inner, reads=tuple(read for read in inner.reads if read not in fixed)) if fixed else inner)
        defined |= bench.defines(inner)
    if not outside:
        return [node]
    head = Tasklet(reads=tuple(outside), id=bench.number(), span=node.span)
    return [head, replace(node, body=Region(tuple(body)))]
