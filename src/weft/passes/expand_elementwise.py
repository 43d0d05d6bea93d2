"""Elementwise operations become maps over their points.

before:  C[:, :] = elementwise (p0, p1) a = A[:, :]: add(a, 1)
after:   map (p0, p1) in [0:n, 0:m] { a = A[p0, p1]; write C[p0, p1] = add(a, 1) }

An operation reads all its inputs before its first write. Where an input may overlap the output other than element by
element, it goes through a temporary of the output's shape first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

from weft.ir.dtypes import ScalarType
from weft.ir.exprs import Const, Index, Value, const_index, index
from weft.ir.nodes import (
    Alloc,
    Branch,
    Container,
    Elementwise,
    Guard,
    Let,
    Loop,
    Map,
    Node,
    Program,
    Region,
    Site,
    Storage,
    Tasklet,
    View,
    While,
    full_view,
)
from weft.passes.base import rewrite_nodes


@dataclass(frozen=True, slots=True)
class ExpandElementwise:
    """Turn every Elementwise node into a Map."""

    name: ClassVar[str] = "expand-elementwise"

    def run(self, program: Program) -> Program:
        """The program without Elementwise nodes."""
        state = _State(program)
        body = state.region(program.body, -1)
        if body is program.body:
            return program
        return replace(program, body=body, containers={**program.containers, **state.added})


class _State:
    """What one run makes: fresh numbers, and the temporaries it needs."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.added: dict[str, Container] = {}
        self.numbers: Iterator[int] = count(largest_id(program) + 1)

    def region(self, region: Region, site: int) -> Region:
        """Rewrite a region; `site` is the last one passed, through which a temporary may leave."""
        nodes: list[Node] = []
        changed = False
        for node in region.nodes:
            if isinstance(node, Site):
                site = node.number
            if isinstance(node, Elementwise):
                nodes += self.expand(node, site)
                changed = True
                continue
            inner = self.inside(node, site)
            changed |= inner is not node
            nodes.append(inner)
        return Region(tuple(nodes)) if changed else region

    def inside(self, node: Node, site: int) -> Node:
        match node:
            case Map() | Loop() | While():
                body = self.region(node.body, site)
                return node if body is node.body else replace(node, body=body)
            case Branch():
                then, orelse = self.region(node.then, site), self.region(node.orelse, site)
                return node if then is node.then and orelse is node.orelse else replace(node, then=then, orelse=orelse)
            case _:
                return node

    def expand(self, node: Elementwise, site: int) -> list[Node]:
        if not any(self.conflicts(node.output, view) for _, view in node.inputs):
            return [self.as_map(node)]
        name = f"copy.{next(self.numbers)}"
        output = node.output
        dtype = self.program.containers[output.container].dtype
        self.added[name] = Container(name, dtype, output.shape, Storage.TRANSIENT)
        temporary = full_view(self.added[name])
        params = tuple(replace(param, id=next(self.numbers)) for param in node.params)
        element = Value(next(self.numbers), "x", ScalarType(dtype))
        back = Elementwise(
            output=output, params=params, inputs=((element, temporary),), expr=element,
            id=next(self.numbers), span=node.span,
        )  # fmt: skip
        alloc = Alloc(container=name, site=site, id=next(self.numbers), span=node.span)
        return [alloc, self.as_map(replace(node, output=temporary)), self.as_map(back)]

    def conflicts(self, output: View, source: View) -> bool:
        """Whether a write to one point may change what another point reads."""
        return source != output and self.may_overlap(output.container, source.container)

    def may_overlap(self, left: str, right: str) -> bool:
        return bool(self.memory(left) & self.memory(right))

    def memory(self, name: str) -> set[str]:
        """The containers whose memory a container may be."""
        found: set[str] = set()
        pending = [name]
        while pending:
            current = pending.pop()
            if current in found:
                continue
            found.add(current)
            container = self.program.containers[current]
            pending += [other for other in (container.base, *container.may_alias) if other]
        return found

    def as_map(self, node: Elementwise) -> Node:
        point = tuple(index(param) for param in node.params)
        result = Value(next(self.numbers), "r", node.expr.type)
        tasklet = Tasklet(
            reads=tuple((value, view.at(point)) for value, view in node.inputs),
            lets=() if isinstance(node.expr, Const | Value | Index) else (Let(result, node.expr),),
            writes=((node.output.at(point), _written(node, result)),),
            id=next(self.numbers),
            span=node.span,
        )
        if not node.params:
            return tasklet
        ranges = tuple((const_index(0), extent) for extent in node.output.shape)
        return Map(
            params=node.params, ranges=ranges, body=Region((tasklet,)), warn=node.warn, id=node.id, span=node.span
        )


def _written(node: Elementwise, result: Value) -> Const | Value | Index:
    return node.expr if isinstance(node.expr, Const | Value | Index) else result


def largest_id(program: Program) -> int:
    """The largest number in use, so that fresh ones do not collide."""
    numbers = [0, *(value.id for _, value in program.scalars)]
    numbers += [value.id for container in program.containers.values() for e in container.shape for value in e.values]
    rewrite_nodes(program.body, lambda node: numbers.extend(_numbers(node)))
    return max(numbers)


def _numbers(node: Node) -> list[int]:
    match node:
        case Tasklet():
            return [node.id, *(value.id for value, _ in node.reads), *(let.value.id for let in node.lets)]
        case Elementwise():
            return [node.id, *(param.id for param in node.params), *(value.id for value, _ in node.inputs)]
        case Map():
            return [node.id, *(param.id for param in node.params)]
        case Loop():
            targets = [carry.target.id for carry in node.carries if isinstance(carry.target, Value)]
            return [node.id, node.var.id, *targets]
        case While():
            return [node.id, *(carry.target.id for carry in node.carries if isinstance(carry.target, Value))]
        case Branch():
            return [node.id, *(result.id for result in node.results if isinstance(result, Value))]
        case Guard() | Site():
            return []
        case _:
            return [getattr(node, "id", 0)]
