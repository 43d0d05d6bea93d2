"""Transformations that ask nobody: each breaks some of the programs, and the harness must see it.

in:   a program at the array level
out:  the program an optimiser without any legality would make of it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from weft.ir.exprs import Index, Value, const_index, index
from weft.ir.nodes import (
    Branch,
    Break,
    Continue,
    Elementwise,
    Let,
    Loop,
    Map,
    Memlet,
    Node,
    Program,
    Region,
    Return,
    Storage,
    Tasklet,
    View,
    While,
    full_view,
)  # fmt: skip
from weft.passes.base import rewrite_nodes


def every_loop_in_any_order(program: Program) -> Program:
    """Loops that carry nothing and are not left early become maps."""
    return replace(program, body=rewrite_nodes(program.body, _loop_to_map))


def _loop_to_map(node: Node) -> tuple[Node, ...] | None:
    if not isinstance(node, Loop) or node.carries or node.step.constant != 1:
        return None
    *body, last = node.body.nodes
    if not isinstance(last, Continue) or any(_leaves(inner) for inner in body):
        return None
    return (Map(params=(node.var,), ranges=((node.start, node.stop),), body=Region(tuple(body)), id=node.id),)


def _leaves(node: Node) -> bool:
    """Whether a loop or the program may be left from here; loops inside end their own iterations."""
    if isinstance(node, Break | Return | Continue):
        return True
    inside = [inner for region in _regions(node) for inner in region.nodes]
    if isinstance(node, Loop | While):
        inside = [inner for inner in inside if not isinstance(inner, Continue | Break)]
    return any(_leaves(inner) for inner in inside)


def _regions(node: Node) -> Iterator[Region]:
    if isinstance(node, Branch):
        yield from (node.then, node.orelse)
    elif isinstance(node, Loop | While | Map):
        yield node.body


def every_temporary_where_it_is_read(program: Program) -> Program:
    """Elementwise operations become maps that compute what they read, instead of reading what was computed before."""
    return replace(program, body=_Inlining(program).region(program.body, {}))


class _Inlining:
    """Walks down a program with the operations that fill a whole temporary."""

    def __init__(self, program: Program) -> None:
        self.containers = program.containers

    def region(self, region: Region, producers: dict[str, Elementwise]) -> Region:
        producers = dict(producers)
        nodes: list[Node] = []
        for node in region.nodes:
            if isinstance(node, Elementwise) and node.params:
                nodes.append(self.map(node, producers))
                if self.is_whole_temporary(node.output):
                    producers[node.output.container] = node
            elif isinstance(node, Loop | While):
                nodes.append(replace(node, body=self.region(node.body, producers)))
            elif isinstance(node, Branch):
                then, orelse = self.region(node.then, producers), self.region(node.orelse, producers)
                nodes.append(replace(node, then=then, orelse=orelse))
            else:
                nodes.append(node)
        return Region(tuple(nodes))

    def is_whole_temporary(self, view: View) -> bool:
        container = self.containers.get(view.container)
        return container is not None and container.storage is Storage.TRANSIENT and view == full_view(container)

    def map(self, node: Elementwise, producers: dict[str, Elementwise]) -> Map:
        point = tuple(index(param) for param in node.params)
        reads, lets = self.element(node, point, producers)
        tasklet = Tasklet(reads=tuple(reads), lets=tuple(lets), writes=((node.output.at(point), node.expr),))
        ranges = tuple((const_index(0), extent) for extent in node.output.shape)
        return Map(params=node.params, ranges=ranges, body=Region((tasklet,)), id=node.id)

    def element(
        self, node: Elementwise, point: tuple[Index, ...], producers: dict[str, Elementwise]
    ) -> tuple[list[tuple[Value, Memlet]], list[Let]]:
        """What must be read and computed before the operation's expression has its value at a point."""
        reads: list[tuple[Value, Memlet]] = []
        lets: list[Let] = []
        for value, view in node.inputs:
            producer = producers.get(view.container)
            if producer is None or not self.is_whole_temporary(view):
                reads.append((value, view.at(point)))
                continue
            more_reads, more_lets = self.element(producer, point, producers)
            reads += more_reads
            lets += [Let(param, at) for param, at in zip(producer.params, point, strict=True)]
            lets += [*more_lets, Let(value, producer.expr)]
        return reads, lets
