"""What a pass is, and how one rewrites every region of a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Protocol

from weft.ir.nodes import Branch, Loop, Map, Node, Program, Region, While


class Pass(Protocol):
    """A transformation with its options as fields."""

    name: ClassVar[str]

    def run(self, program: Program) -> Program:
        """The transformed program; the very same object if nothing changed."""
        ...


def rewrite_nodes(region: Region, rule: Callable[[Node], tuple[Node, ...] | None]) -> Region:
    """Replace nodes, innermost regions first; `rule` gives the replacement, or None for "not mine"."""
    nodes: list[Node] = []
    changed = False
    for node in region.nodes:
        inner = _rewrite_inside(node, rule)
        replacement = rule(inner)
        changed |= inner is not node or replacement is not None
        nodes += (inner,) if replacement is None else replacement
    return Region(tuple(nodes)) if changed else region


def _rewrite_inside(node: Node, rule: Callable[[Node], tuple[Node, ...] | None]) -> Node:
    match node:
        case Map() | Loop() | While():
            body = rewrite_nodes(node.body, rule)
            return node if body is node.body else replace(node, body=body)
        case Branch():
            then, orelse = rewrite_nodes(node.then, rule), rewrite_nodes(node.orelse, rule)
            return node if then is node.then and orelse is node.orelse else replace(node, then=then, orelse=orelse)
        case _:
            return node
