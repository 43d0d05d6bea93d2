"""What the nests of a program move and compute: per point, and as an estimate of where the time goes.

in:   a program after all passes
out:  for each map, sum, product and loop: points, bytes and operations per point, nanoseconds at nominal sizes

Bytes are compulsory ones: an array is read once and written once per point, whatever neighbours a point looks at.
Extents that are not known are NOMINAL. It is said in listings and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final

from weft.analysis.cost import operation_weight, tasklet_weight
from weft.analysis.memory import Memory
from weft.analysis.sweeps import sweeps_of
from weft.ir.exprs import Expr, Index, Op, Value
from weft.ir.nodes import (
    Branch,
    Elements,
    Loop,
    Map,
    MatMul,
    Node,
    NumpyCall,
    Program,
    Reduce,
    Region,
    Scan,
    Schedule,
    Tasklet,
    View,
    While,
)
from weft.support.records import record

NOMINAL: Final = 1000
# A fixed machine: one core's share of the memory, its vector units, and what a loop in order takes.
_NS_PER_BYTE: Final = 0.1
_NS_PER_OPERATION: Final = 0.06
_NS_PER_SERIAL_OPERATION: Final = 0.6
_NS_PER_PRODUCT: Final = 0.02
_TURNS: Final = 16  # of a loop of which nothing is known


@record
class Traffic:
    """Of one nest: `bytes` and `operations` are those of a point."""

    points: float
    bytes: int
    operations: int
    nanoseconds: float
    is_memory_bound: bool

    def words(self) -> str:
        """As a listing says it."""
        if not self.bytes and not self.operations:
            return ""
        operations = f"{self.operations} operation{'s' if self.operations != 1 else ''}"
        limit = "memory-bound" if self.is_memory_bound else "compute-bound"
        return f"({self.bytes} bytes, {operations} a point; {limit})"


def traffic_of(program: Program) -> Iterator[tuple[Node, Traffic]]:
    """The nests of a program, outer ones before those in them."""
    return _Walk(program).region(program.body, 1.0, shared=False)


@record
class _Walk:
    program: Program
    known: dict[Value, float] = field(default_factory=dict[Value, float])

    def region(self, region: Region, times: float, *, shared: bool) -> Iterator[tuple[Node, Traffic]]:
        sweeps = sweeps_of(region, Memory(self.program.containers))
        for place, node in enumerate(region.nodes):
            if place in sweeps.along:
                yield node, Traffic(times, 0, 0, 0.0, is_memory_bound=True)
            elif place in sweeps.joint:
                yield node, self.product(sweeps.joint[place][0], times, 4)  # for both: they read the matrix once
            else:
                yield from self.node(node, times, shared=shared)

    def node(self, node: Node, times: float, *, shared: bool) -> Iterator[tuple[Node, Traffic]]:
        match node:
            case Map(params=params, ranges=ranges, body=body):
                parallel = shared or node.schedule is Schedule.PARALLEL
                for param, (start, stop) in zip(params, ranges, strict=True):
                    self.known[param] = (self.value(start) + self.value(stop)) / 2
                points = times * self.extent([stop - start for start, stop in ranges])
                yield node, self.tasklets(body, points, parallel=parallel)
                yield from self.region(body, points, shared=parallel)
            case Loop(var=var, start=start, stop=stop, step=step, body=body):
                self.known[var] = (self.value(start) + self.value(stop)) / 2
                turns = max(abs(self.value(stop - start) / (step.constant or 1)), 1.0)
                yield node, self.serial(body, times * turns)
                yield from self.region(body, times * turns, shared=shared)
            case While(body=body):
                yield node, self.serial(body, times * _TURNS)
                yield from self.region(body, times * _TURNS, shared=shared)
            case Branch(then=then, orelse=orelse):
                yield from self.region(then, times, shared=shared)
                yield from self.region(orelse, times / 2, shared=shared)
            case Reduce(input=Elements() as terms):
                points = times * self.extent(terms.shape)
                yield node, self.estimate(terms.body, points, parallel=shared or node.schedule is Schedule.PARALLEL)
            case Reduce(input=View() as source) | Scan(input=source):
                points = times * self.extent(source.shape)
                size = self.program.containers[source.container].dtype.itemsize
                yield node, Traffic(points, size, 1, points * size * _NS_PER_BYTE, is_memory_bound=True)
            case MatMul():
                yield node, self.product(node, times)
            case NumpyCall():
                yield node, Traffic(times, 0, 0, times * NOMINAL, is_memory_bound=False)
            case _:
                return

    def product(self, node: MatMul, times: float, operations: int = 2) -> Traffic:
        """A product, or all that one sweep through a matrix makes."""
        points = times * self.extent([*node.output.shape, node.lhs.shape[-1]])
        if not node.sweep:
            return Traffic(points, 0, operations, points * _NS_PER_PRODUCT, is_memory_bound=False)
        size = self.program.containers[node.output.container].dtype.itemsize
        return Traffic(points, size, operations, points * size * _NS_PER_BYTE / 2, is_memory_bound=True)

    def tasklets(self, body: Region, points: float, *, parallel: bool) -> Traffic:
        """What a map does itself at its points; the arms of branches in it are both counted."""
        return self.estimate(list(_own(body)), points, parallel=parallel)

    def estimate(self, tasklets: Sequence[Tasklet], points: float, *, parallel: bool) -> Traffic:
        read = {memlet.container for tasklet in tasklets for _, memlet in tasklet.reads if memlet.index}
        written = {memlet.container for tasklet in tasklets for memlet, _ in tasklet.writes if memlet.index}
        sizes = [self.program.containers[name].dtype.itemsize for name in (*sorted(read), *sorted(written))]
        moved, weight = sum(sizes) * _NS_PER_BYTE, sum(map(tasklet_weight, tasklets)) * _NS_PER_OPERATION
        time = points * max(moved, weight) / (2 if parallel else 1)
        return Traffic(points, sum(sizes), sum(map(_operations, tasklets)), time, is_memory_bound=moved >= weight)

    def serial(self, body: Region, turns: float) -> Traffic:
        """What a loop in order does itself."""
        tasklets = list(_own(body))
        reads = sum(len(tasklet.reads) + len(tasklet.writes) for tasklet in tasklets)
        weight = reads + sum(map(tasklet_weight, tasklets))
        operations = sum(map(_operations, tasklets))
        return Traffic(turns, 0, operations, turns * weight * _NS_PER_SERIAL_OPERATION, is_memory_bound=False)

    def extent(self, extents: Sequence[Index]) -> float:
        product = 1.0
        for extent in extents:
            product *= max(self.value(extent), 1.0)
        return product

    def value(self, polynomial: Index) -> float:
        """A polynomial at nominal sizes."""
        total = 0.0
        for monomial, coefficient in polynomial.terms:
            term = float(coefficient)
            for value in monomial:
                term *= self.known.get(value, _nominal(value))
            total += term
        return total


def _nominal(value: Value) -> float:
    return float(min(NOMINAL, value.high)) if value.high is not None else float(NOMINAL)


def _own(region: Region) -> Iterator[Tasklet]:
    for node in region.nodes:
        if isinstance(node, Tasklet):
            yield node
        elif isinstance(node, Branch):
            yield from _own(node.then)
            yield from _own(node.orelse)


def _operations(tasklet: Tasklet) -> int:
    """How many operations a tasklet computes; copies and casts are none."""
    expressions = [*(let.expr for let in tasklet.lets), *(expr for _, expr in tasklet.writes)]
    return sum(_count(expr) for expr in expressions)


def _count(expr: Expr) -> int:
    if not isinstance(expr, Op):
        return 0
    return (operation_weight(expr.name) > 0) + sum(map(_count, expr.args))
