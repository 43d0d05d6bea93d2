"""Element-wise fusion: where a temporary is read, its elements are computed instead.

before:  map (p) in [0:n] { write T[p] = add(A[p], B[p]) }
         map (q) in [0:n - 1] { write C[q] = multiply(T[q], T[q + 1]) }
after:   map (q) in [0:n - 1] { write C[q] = multiply(add(A[q], B[q]), add(A[q + 1], B[q + 1])) }

Legal when the temporary has this one producer, is seen by nobody but the readers, every element read is one that the
producer writes (exact subsets), and nothing overwrites what the producer reads before the readers are done; slices that
the reader itself overwrites at other points are copied first (`snapshots.py`). Worth it when each element is read once,
or is cheap; loops that collect what a mask chooses look at it in passes, so that only masks of masks are computed
there. Elements nobody reads are no longer computed, and do not warn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import ClassVar

from weft.analysis.compactions import collects
from weft.analysis.cost import tasklet_weight
from weft.analysis.dependences import Kind
from weft.analysis.effects import Access, effects_of
from weft.analysis.facts import Facts
from weft.analysis.uses import Uses, container_uses
from weft.ir.dtypes import PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Index, Value, const_index, index, op
from weft.ir.nodes import (
    Alloc,
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
    View,
    While,
)
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, inner_regions, touched_containers
from weft.passes.base import Bench, Session, rewrite_nodes, rewrite_regions
from weft.passes.snapshots import conflicts, snapshot
from weft.passes.tasklets import explicit, is_plain, tidy, tidy_elements
from weft.passes.wording import lines_of
from weft.support.records import record

# Computing an element again costs less than storing and loading it, up to so many additions.
RECOMPUTE = 24
# A body with more operations than this no longer fits the registers, and takes the C compiler long.
LARGEST = 320


@record
class InlineProducers:
    """Replace reads of temporaries by the code that computes their elements."""

    name: ClassVar[str] = "inline-producers"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer temporaries."""
        bench = Bench(self.name, program, session)
        uses = container_uses(program)
        return rewrite_regions(bench, lambda region, facts: _Inlining(bench, uses).region(region, facts))


@record
class _Producer:
    """A map that computes a temporary: element `offsets + params` of it is `value` after `body`."""

    node: Map
    container: str
    body: tuple[Tasklet, ...]
    value: Expr
    dimensions: tuple[tuple[int | None, Index], ...]  # per axis of the container: parameter, offset
    weight: int
    full: bool

    def at(self, position: tuple[Index, ...], result: Value, bench: Bench) -> list[Node]:
        """The code that gives `result` the element at a position."""
        bindings: dict[Value, Expr] = {}
        for coordinate, (param, offset) in zip(position, self.dimensions, strict=True):
            if param is not None:
                bindings[self.node.params[param]] = coordinate - offset
        defining = Tasklet(lets=(Let(result, _as_type(self.value, result)),), span=self.node.span)
        nodes = with_fresh_values((*self.body, replace(defining, id=bench.number())), bench.number, bindings)
        last = nodes[-1]
        assert isinstance(last, Tasklet)
        final = Let(result, last.lets[0].expr)  # `result` keeps its own name
        return [*nodes[:-1], replace(last, lets=(final,))]


def _as_type(expr: Expr, result: Value) -> Expr:
    return expr if expr.type == result.type else op("cast", (expr,), result.type)


class _Inlining:
    def __init__(self, bench: Bench, uses: dict[str, Uses]) -> None:
        self.bench = bench
        self.uses = uses
        self.known: dict[int, tuple[Node, frozenset[str]]] = {}

    def touched(self, node: Node) -> frozenset[str]:
        """The containers in a node; every producer asks all nodes after it."""
        known = self.known.get(id(node))
        if known is None or known[0] is not node:
            known = self.known[id(node)] = (node, touched_containers(node))
        return known[1]

    def region(self, region: Region, facts: Facts) -> Region:
        nodes = list(region.nodes)
        allocated = {node.container: node.site for node in nodes if isinstance(node, Alloc)}
        position = 0
        while position < len(nodes):
            node = nodes[position]
            producer = self.producer(node, allocated) if isinstance(node, Map) else None
            replaced = None if producer is None else self.inline(producer, nodes, position, facts, allocated)
            if replaced is None:
                facts = facts.after(node)
                position += 1
                continue
            nodes = replaced
        return region if nodes == list(region.nodes) else Region(tuple(nodes))

    # ---- what can be a producer ----

    def producer(self, node: Map, allocated: dict[str, int]) -> _Producer | None:
        if not is_plain(node):
            return None
        tasklets = [inner for inner in node.body.nodes if isinstance(inner, Tasklet)]
        writes = [write for tasklet in tasklets for write in tasklet.writes]
        if len(writes) != 1 or writes[0][0].conflict:
            return None
        target = writes[0][0]
        name = target.container
        uses = self.uses.get(name)
        if name not in allocated or uses is None or uses.writers != 1 or uses.escapes:
            return None
        if self.bench.containers[name].storage is not Storage.TRANSIENT:
            return None
        if any(memlet.container == name for tasklet in tasklets for _, memlet in tasklet.reads):
            return None
        dimensions = _dimensions(target, node)
        if dimensions is None:
            return None
        clear = explicit(node, self.bench)
        body = tuple(replace(inner, writes=()) for inner in clear.body.nodes if isinstance(inner, Tasklet))
        value = next(expr for inner in clear.body.nodes if isinstance(inner, Tasklet) for _, expr in inner.writes)
        weight = sum(tasklet_weight(tasklet) for tasklet in tasklets)
        return _Producer(clear, name, body, value, dimensions, weight, self.is_full(node, dimensions, name))

    def is_full(self, node: Map, dimensions: tuple[tuple[int | None, Index], ...], name: str) -> bool:
        """Whether it writes all of the temporary, so that no read can miss."""
        for (param, offset), extent in zip(dimensions, self.bench.containers[name].shape, strict=True):
            if param is None:
                if offset.constant != 0 or extent.constant != 1:
                    return False
                continue
            start, stop = node.ranges[param]
            if (start + offset).constant != 0 or stop + offset is not extent:
                return False
        return True

    # ---- inlining ----

    def inline(
        self, producer: _Producer, nodes: list[Node], position: int, facts: Facts, allocated: dict[str, int]
    ) -> list[Node] | None:
        """The region with the producer gone, or None with the reason noted."""
        readers = [n for n in range(position + 1, len(nodes)) if producer.container in self.touched(nodes[n])]
        if not readers:
            return None
        problem = self.obstacle(producer, [nodes[n] for n in readers], facts)
        if problem is None:
            problem = self.overwritten(producer, nodes[position + 1 : readers[-1] + 1], readers, position, facts)
        if problem is not None:
            self.bench.note(f"{producer.container} stays: {problem}", producer.node, done=False)
            return None
        changed: dict[int, list[Node]] = {}
        around = facts.after(nodes[position])
        for number in range(position + 1, readers[-1] + 1):
            if number in readers:
                fused = self.into(nodes[number], producer, around, allocated[producer.container])
                if fused is None:
                    self.bench.note(
                        f"{producer.container} stays: its reader overwrites what it is computed from",
                        producer.node,
                        done=False,
                    )
                    return None
                changed[number] = fused
            around = around.after(nodes[number])
        where = lines_of((nodes[number] for number in readers), besides=producer.node)
        text = f"{producer.container} is computed where it is read{where and ', in '}{where}"
        self.bench.note(text, producer.node, done=True)
        del self.bench.containers[producer.container]
        result: list[Node] = []
        for number, node in enumerate(nodes):
            if number == position or (isinstance(node, Alloc) and node.container == producer.container):
                continue
            result += changed.get(number, [node])
        return result

    def obstacle(self, producer: _Producer, readers: list[Node], facts: Facts) -> str | None:
        """What makes the readers unfit, or the whole thing not worth it."""
        reads: list[Access] = []
        for reader in readers:
            if not _reads_elements(reader, producer.container):
                return "it is read as a whole"
            effects = effects_of(reader, facts.definitions)
            reads += (access for access in effects.accesses if access.container == producer.container)
        distinct = {(access.index, access.iterators) for access in reads}
        if any(map(_collects, readers)) and not self.is_of_flags(producer):
            return "a loop that collects looks at it again and again"
        if producer.weight and any(_idle(access) for access in reads):
            return "it would be computed again and again"
        if (len(distinct) - 1) * producer.weight > RECOMPUTE:
            return f"its elements are read {len(distinct)} times and cost {producer.weight}"
        size = sum(_size(reader) for reader in readers) + len(distinct) * len(producer.body[0].lets)
        if size > LARGEST:
            return "the fused loop would be too large"
        if not producer.full:
            written = effects_of(producer.node, facts.definitions).writes[0]
            if not all(self.bench.legality.contains(written, access, facts) for access in reads):
                return "elements are read that it does not write"
        return None

    def is_of_flags(self, producer: _Producer) -> bool:
        """Whether it computes truth values of others: next to nothing, and the same wherever it is done."""
        names = [memlet.container for tasklet in producer.body for _, memlet in tasklet.reads]
        lets = [let for tasklet in producer.body for let in tasklet.lets]
        flags = all(self.bench.containers[name].dtype is DType.BOOL for name in (*names, producer.container))
        return flags and all(let.warn < 0 and let.value.type.dtype is DType.BOOL for let in lets)

    def overwritten(
        self, producer: _Producer, between: list[Node], readers: list[int], position: int, facts: Facts
    ) -> str | None:
        """What is written before the last reader is done, among what the producer reads."""
        for number, node in enumerate(between, start=position + 1):
            if number == readers[-1] and is_plain(node):
                continue  # judged by `into`, which also knows the points
            if self.is_overwritten(producer, node, facts):
                return "what it is computed from is written first"
        return None

    def is_overwritten(self, producer: _Producer, node: Node, facts: Facts) -> bool:
        """Whether a node may write what the producer reads."""
        return any(d.kind is Kind.ANTI for d in self.bench.legality.between(producer.node, node, facts))

    def into(self, reader: Node, producer: _Producer, facts: Facts, site: int) -> list[Node] | None:
        """The reader with the producer's code in it, after the copies it may need."""
        bench = self.bench
        if isinstance(reader, Tasklet):
            return _merge_into(reader, producer, bench)
        fused = rewrite_nodes(Region((reader,)), lambda node: _replace_reads(node, producer, bench)).nodes[0]
        if not isinstance(fused, Map):
            return [fused]
        fused = tidy(explicit(fused, bench), bench)
        if not is_plain(fused):
            return [fused]
        if len(fused.body.nodes) > 1 and self.is_overwritten(producer, reader, facts):
            return None  # by another tasklet of the body, perhaps before it is read
        found = conflicts(fused, facts, bench)
        if not found:
            return [fused]
        copied = snapshot(fused, found, site, facts, bench)
        if copied is None:
            return None
        bench.note("the slices it overwrites are copied first", fused, done=True)
        return [*copied.before, copied.node]


def _dimensions(target: Memlet, node: Map) -> tuple[tuple[int | None, Index], ...] | None:
    """How the element written follows from the parameters: each axis by one of them, plus an offset."""
    found: list[tuple[int | None, Index]] = []
    used: set[int] = set()
    inside = set(node.params)
    for tasklet in node.body.nodes:
        if isinstance(tasklet, Tasklet):
            inside |= {value for value, _ in tasklet.reads} | {let.value for let in tasklet.lets}
    for coordinate in target.index:
        chosen = [n for n, param in enumerate(node.params) if param in coordinate.values]
        if not chosen:
            if coordinate.values & inside:
                return None
            found.append((None, coordinate))
            continue
        offset = coordinate - index(node.params[chosen[0]])
        if offset.values & inside or chosen[0] in used:
            return None
        used.add(chosen[0])
        found.append((chosen[0], offset))
    return tuple(found) if len(used) == len(node.params) else None


def _reads_elements(node: Node, container: str) -> bool:
    """Whether it reads the container element by element: in tasklets, or as the input of a reduction."""
    for inner in all_nodes(Region((node,))):
        match inner:
            case Tasklet() | Map():
                continue
            case While():
                return False  # nobody knows how often
            case Reduce(output=output, input=source):
                if output.container == container:
                    return False
                if isinstance(source, View) and inner.op in ("argmin", "argmax") and source.container == container:
                    return False
            case _:
                if container in _own(inner):
                    return False
    return True


def _collects(node: Node) -> bool:
    return any(isinstance(inner, Loop) and collects(inner) for inner in all_nodes(Region((node,))))


def _own(node: Node) -> frozenset[str]:
    inside = frozenset[str]().union(
        *(touched_containers(below) for region in inner_regions(node) for below in region.nodes)
    )
    return touched_containers(node) - inside if inner_regions(node) else touched_containers(node)


def _idle(access: Access) -> bool:
    """Whether an iterator around a read does not move it: the element is read again and again."""
    moved = frozenset[Value]().union(*(coordinate.values for coordinate in access.index))
    return any(iterator.value not in moved for iterator in access.iterators)


def _size(node: Node) -> int:
    total = 0
    for inner in all_nodes(Region((node,))):
        match inner:
            case Tasklet(reads=reads, lets=lets):
                total += len(reads) + len(lets)
            case Reduce(input=Elements(body=body)):
                total += sum(len(tasklet.reads) + len(tasklet.lets) for tasklet in body)
            case _:
                continue
    return total


# ---- putting the code in --------------------------------------------------------------------------------------------


def _replace_reads(node: Node, producer: _Producer, bench: Bench) -> tuple[Node, ...] | None:
    match node:
        case Tasklet():
            return tuple(_merge_into(node, producer, bench)) if _reads(node, producer) else None
        case Reduce(input=View(container=container) as view) if container == producer.container:
            return (replace(node, input=_as_elements(view, producer, bench)),)
        case Reduce(input=Elements() as source) if any(_reads(tasklet, producer) for tasklet in source.body):
            body = tuple(_only_tasklets(_replaced(source.body, producer, bench)))
            return (replace(node, input=tidy_elements(replace(source, body=body), bench)),)
        case _:
            return None


def _reads(tasklet: Tasklet, producer: _Producer) -> bool:
    return any(memlet.container == producer.container for _, memlet in tasklet.reads)


def _replaced(body: Iterable[Tasklet], producer: _Producer, bench: Bench) -> Iterator[Node]:
    for tasklet in body:
        yield from _merge_into(tasklet, producer, bench)


def _only_tasklets(nodes: Iterable[Node]) -> Iterator[Tasklet]:
    return (node for node in nodes if isinstance(node, Tasklet))


def _merge_into(tasklet: Tasklet, producer: _Producer, bench: Bench) -> list[Node]:
    before: list[Node] = []
    kept: list[tuple[Value, Memlet]] = []
    for value, memlet in tasklet.reads:
        if memlet.container == producer.container:
            before += producer.at(memlet.index, value, bench)
        else:
            kept.append((value, memlet))
    return [*before, replace(tasklet, reads=tuple(kept))]


def _as_elements(view: View, producer: _Producer, bench: Bench) -> Elements:
    params = tuple(
        Value(bench.number(), f"p{axis}", PY_INT, low=0, floor=const_index(0), ceiling=extent - 1)
        for axis, extent in enumerate(view.shape)
    )
    dtype = bench.containers[producer.container].dtype
    result = bench.value("x", ScalarType(dtype))
    memlet = view.at(tuple(index(param) for param in params))
    body = tuple(_only_tasklets(producer.at(memlet.index, result, bench)))
    return tidy_elements(Elements(params, view.shape, body, result), bench)
