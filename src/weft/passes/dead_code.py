"""What nobody can see is left out.

before:  alloc T site 0; elementwise T[:] ...; %x.1: f8 = A[0]; for ... { %y.2: f8 = multiply(%x.1, 2.0:f8) }
after:   nothing

Values nobody uses, containers that are written but never read, carries and results of branches nobody looks at, maps,
loops and branches in which nothing is left, sites nobody leaves through. What may warn stays, and so do guards and
loops without an end. With `loop_sites`, sites stay that passes may still want: in front of loops, for what may move out
of them, and of operations on overlapping views.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import is_
from typing import ClassVar, TypeVar

from weft.analysis.liveness import Live, find_live
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Carry,
    Container,
    Continue,
    Elements,
    Elementwise,
    Loop,
    Map,
    MatMul,
    Node,
    Program,
    Reduce,
    Region,
    Scan,
    Site,
    Storage,
    Tasklet,
    While,
    Yield,
)  # fmt: skip
from weft.passes.base import Record, Session
from weft.support.records import record

_T = TypeVar("_T")
_Kept = tuple[bool, ...]  # which carries of a loop, or results of a branch, stay


@record
class DropDeadCode:
    """Leave out what has no effect."""

    name: ClassVar[str] = "dead-code"
    loop_sites: bool = False

    def run(self, program: Program, session: Session) -> Program:
        """The program without what nobody sees."""
        live = find_live(program, loop_sites=self.loop_sites)
        body = _Sweep(live).region(program.body, _Around())
        containers = _containers(program.containers, live)
        if body is program.body and containers == program.containers:
            return program
        for name, container in program.containers.items():
            if name not in containers and container.storage in (Storage.TRANSIENT, Storage.STACK):
                session.records.append(Record(self.name, True, f"{name.partition('.')[0]} is never read"))
        return replace(program, body=body, containers=containers)


def _containers(containers: dict[str, Container], live: Live) -> dict[str, Container]:
    kept = {name: container for name, container in containers.items() if live.has(name)}
    for name, container in kept.items():
        if any(other not in kept for other in container.may_alias):
            kept[name] = replace(container, may_alias=tuple(other for other in container.may_alias if other in kept))
    return kept


@record
class _Around:
    """Which carries of the loops around stay (innermost last), and which results of the branch."""

    loops: tuple[_Kept, ...] = ()
    results: _Kept = ()


class _Sweep:
    """Rebuilds regions from what is live; counts scopes as `find_live` does."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.scopes = 0

    def region(self, region: Region, around: _Around) -> Region:
        nodes: list[Node] = []
        for node in region.nodes:
            kept = self.node(node, around)
            if kept is not None:
                nodes.append(kept)
        same = len(nodes) == len(region.nodes) and all(map(is_, nodes, region.nodes))
        return region if same else Region(tuple(nodes))

    def node(self, node: Node, around: _Around) -> Node | None:
        live = self.live
        match node:
            case Tasklet():
                return self.tasklet(node)
            case Elementwise() | Reduce() | Scan() | MatMul():
                return self.operation(node) if live.writes(node.output.container) else None
            case Alloc(container=name):
                return node if live.has(name) else None
            case Site(number=number):
                return node if live.has_site(number) else None
            case Map() | Loop() | While() | Branch():
                return self.scope(node, around)
            case Yield(values=items):
                return _with_values(node, items, around.results)
            case Continue(values=items):
                return _with_values(node, items, around.loops[-1])
            case Break(values=items, depth=depth):
                return _with_values(node, items, around.loops[-1 - depth])
            case _:
                return node

    def tasklet(self, node: Tasklet) -> Tasklet | None:
        live = self.live
        reads = _chosen(node.reads, (live.has(value) for value, _ in node.reads))
        lets = _chosen(node.lets, (live.has(let.value) for let in node.lets))
        writes = _chosen(node.writes, (live.writes(memlet.container) for memlet, _ in node.writes))
        if not reads and not lets and not writes:
            return None
        if reads is node.reads and lets is node.lets and writes is node.writes:
            return node
        return replace(node, reads=reads, lets=lets, writes=writes)

    def operation(self, node: Elementwise | Reduce | Scan | MatMul) -> Node:
        match node:
            case Elementwise():
                inputs = _chosen(node.inputs, (self.live.has(value) for value, _ in node.inputs))
                return node if inputs is node.inputs else replace(node, inputs=inputs)
            case Reduce(input=Elements() as source):
                tasklets = [self.tasklet(tasklet) for tasklet in source.body]
                body = tuple(tasklet for tasklet in tasklets if tasklet is not None)
                return node if body == source.body else replace(node, input=replace(source, body=body))
            case _:
                return node

    def scope(self, node: Map | Loop | While | Branch, around: _Around) -> Node | None:
        own, self.scopes = self.scopes, self.scopes + 1
        match node:
            case Map():
                changed = self._with_body(node, around)
            case Loop() | While():
                kept = tuple(self.live.has(carry.target) for carry in node.carries)
                carries: tuple[Carry, ...] = _chosen(node.carries, kept)
                slim = node if carries is node.carries else replace(node, carries=carries)
                changed = self._with_body(slim, replace(around, loops=(*around.loops, kept), results=()))
            case Branch():
                kept = tuple(self.live.has(result) for result in node.results)
                inside = replace(around, results=kept)
                then, orelse = self.region(node.then, inside), self.region(node.orelse, inside)
                results = _chosen(node.results, kept)
                same = then is node.then and orelse is node.orelse and results is node.results
                changed = node if same else replace(node, then=then, orelse=orelse, results=results)
        return changed if self.live.has_scope(own) else None

    def _with_body(self, node: Map | Loop | While, around: _Around) -> Map | Loop | While:
        body = self.region(node.body, around)
        return node if body is node.body else replace(node, body=body)


def _chosen(items: tuple[_T, ...], kept: Iterable[bool]) -> tuple[_T, ...]:
    chosen = tuple([item for item, stays in zip(items, kept, strict=True) if stays])
    return items if len(chosen) == len(items) else chosen


def _with_values(node: Yield | Continue | Break, items: Sequence[object], kept: _Kept) -> Node:
    values = _chosen(node.values, kept)
    return node if len(values) == len(items) else replace(node, values=values)
