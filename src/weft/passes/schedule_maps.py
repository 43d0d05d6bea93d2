"""The outermost maps and reductions of a program run in parallel.

before:  map (i) in [0:n] { alloc t; reduce add t[] = elements at (j) over [m] { ... }; x = t[]; write y[i] = x }
after:   map (i) in [0:n] parallel { alloc t; reduce add t[] = elements at (j) over [m] { ... }; ... }

Iterations of a map are independent by definition, so this needs no proof. A map that holds more than computation
(memory from the heap, ways out of the program, calls of Python, names bound at run time) stays in order, and so does
one whose points combine what they write: two threads would lose a part of it. Then what is inside may be parallel.
Generated code uses threads only where there is enough work at run time, and vectors in the innermost maps whatever
their schedule. A row in two loops that are as long as it is (`for i in range(n): for j in range(i): a[j:n] += ...`)
stays in order: were it long enough for threads, the loops would not come to an end, and a short one costs more to hand
over than to compute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from weft.analysis.cost import tasklet_weight
from weft.ir.exprs import Value
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Container,
    Continue,
    Loop,
    Map,
    MatMul,
    Node,
    Program,
    Reduce,
    Region,
    Scan,
    Schedule,
    Storage,
    Tasklet,
    While,
    Yield,
)  # fmt: skip
from weft.passes.base import Bench, Session
from weft.support.records import record

_LIGHT: Final = 16  # operations for each point


@record
class ScheduleMaps:
    """Schedule outermost maps and reductions on the thread pool."""

    name: ClassVar[str] = "schedule-maps"

    def run(self, program: Program, session: Session) -> Program:
        """The program with its maps scheduled."""
        body = _scheduled(program.body, Bench(self.name, program, session), ())
        return program if body is program.body else replace(program, body=body)


def _scheduled(region: Region, bench: Bench, around: Sequence[frozenset[Value]]) -> Region:
    """`around`: for each loop around, what its length depends on."""
    nodes = tuple(_node(node, bench, around) for node in region.nodes)
    return region if all(a is b for a, b in zip(nodes, region.nodes, strict=True)) else Region(nodes)


def _node(node: Node, bench: Bench, around: Sequence[frozenset[Value]]) -> Node:
    match node:
        case Map():
            return _map(node, bench, around)
        case Reduce():
            if node.schedule is not Schedule.SEQUENTIAL:
                return node
            bench.note("a reduction runs in parallel", node, done=True)
            return replace(node, schedule=Schedule.PARALLEL)
        case Loop() | While():
            inside = (*around, node.start.values | node.stop.values) if isinstance(node, Loop) else around
            body = _scheduled(node.body, bench, inside)
            return node if body is node.body else replace(node, body=body)
        case Branch():
            then, orelse = _scheduled(node.then, bench, around), _scheduled(node.orelse, bench, around)
            return node if then is node.then and orelse is node.orelse else replace(node, then=then, orelse=orelse)
        case _:
            return node


def _map(node: Map, bench: Bench, around: Sequence[frozenset[Value]]) -> Map:
    if node.schedule is not Schedule.SEQUENTIAL:
        return node
    names = ", ".join(param.name for param in node.params)
    reason = why_in_order(node.body, bench.containers) or _why_short(node, around)
    if reason is None and node.params:
        bench.note(f"the map over {names} runs in parallel", node, done=True)
        return replace(node, schedule=Schedule.PARALLEL)
    bench.note(f"the map over {names} runs in order: {reason or 'it has one point'}", node, done=False)
    body = _scheduled(node.body, bench, around)
    return node if body is node.body else replace(node, body=body)


def _why_short(node: Map, around: Sequence[frozenset[Value]]) -> str | None:
    """Whether a map is no longer than loops around it that would take forever if it were long."""
    if len(node.params) != 1:
        return None
    tasklets = [inner for inner in node.body.nodes if isinstance(inner, Tasklet)]
    if len(tasklets) < len(node.body.nodes) or sum(map(tasklet_weight, tasklets)) > _LIGHT:
        return None
    ((start, stop),) = node.ranges
    alike = [length for length in around if length & (start.values | stop.values)]
    return "two loops around are as long" if len(alike) > 1 else None


def why_in_order(region: Region, containers: Mapping[str, Container]) -> str | None:
    """What keeps threads out of a region."""
    for node in region.nodes:
        reason = _why_not(node, containers)
        if reason is not None:
            return reason
    return None


def _why_not(node: Node, containers: Mapping[str, Container]) -> str | None:
    match node:
        case Tasklet(writes=writes):
            combined = [memlet.container for memlet, _ in writes if memlet.conflict]
            return f"its points combine what they write to {combined[0]}" if combined else None
        case Alloc(container=name):
            return None if containers[name].storage is Storage.STACK else f"it allocates {name}"
        case Map(body=body):
            return why_in_order(body, containers)
        case Loop(carries=carries, body=body) | While(carries=carries, body=body):
            names = [carry.target for carry in carries if isinstance(carry.target, str)]
            return f"{names[0]} is bound at run time" if names else why_in_order(body, containers)
        case Branch(results=results, then=then, orelse=orelse):
            names = [result for result in results if isinstance(result, str)]
            if names:
                return f"{names[0]} is bound at run time"
            return why_in_order(then, containers) or why_in_order(orelse, containers)
        case Reduce() | Scan() | MatMul() | Continue() | Break() | Yield():
            return None
        case _:
            return f"it holds a {type(node).__name__.lower()}"
