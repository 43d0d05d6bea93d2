"""Small temporaries of constant size live on the stack.

before:  array T: f8[3] transient C; alloc T site 1
after:   array T: f8[3] stack C; alloc T

Only if no view of them outlives the region: none is in what leaves the program, bound to a ref or under another shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import ClassVar

from weft.analysis.uses import container_uses
from weft.ir.nodes import Alloc, Container, Node, Program, Storage
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.support.records import record


@record
class StackArrays:
    """Keep temporaries of up to `most_bytes` on the stack, and no more than `most_bytes_in_all`."""

    name: ClassVar[str] = "stack-arrays"
    most_bytes: int = 4096
    most_bytes_in_all: int = 65536

    def run(self, program: Program, session: Session) -> Program:
        """The program with small temporaries on the stack."""
        bench = Bench(self.name, program, session)
        uses = container_uses(program)
        there = (c for c in program.containers.values() if c.storage is Storage.STACK)
        left = self.most_bytes_in_all - sum(_constant_bytes(container) or 0 for container in there)
        for node in all_nodes(program.body):
            if not isinstance(node, Alloc):
                continue
            container = bench.containers[node.container]
            size_bytes = _constant_bytes(container)
            if size_bytes is None or container.storage is not Storage.TRANSIENT:
                continue
            reason = self._obstacle(size_bytes, left, seen=uses[container.name].escapes > 0)
            name = container.name.partition(".")[0]
            if reason:
                bench.note(f"{name} is not kept on the stack: {reason}", node, done=False)
                continue
            left -= size_bytes
            bench.containers[container.name] = replace(container, storage=Storage.STACK)
            bench.note(f"{name} is kept on the stack", node, done=True)
        if bench.containers == program.containers:
            return program
        body = rewrite_nodes(program.body, lambda node: _without_site(node, bench.containers))
        return replace(program, body=body, containers=dict(bench.containers))

    def _obstacle(self, size_bytes: int, left: int, *, seen: bool) -> str:
        if seen:
            return "it is seen from outside"
        if size_bytes > self.most_bytes:
            return f"it has {size_bytes} bytes"
        return "there are too many" if size_bytes > left else ""


def _without_site(node: Node, containers: Mapping[str, Container]) -> tuple[Node, ...] | None:
    """There is always memory on the stack, so nothing leaves."""
    if isinstance(node, Alloc) and node.site >= 0 and containers[node.container].storage is Storage.STACK:
        return (replace(node, site=-1),)
    return None


def _constant_bytes(container: Container) -> int | None:
    extents = [extent.constant for extent in container.shape]
    known = [extent for extent in extents if extent is not None]
    if len(known) < len(extents) or any(extent <= 0 for extent in known):
        return None
    return prod(known) * container.dtype.itemsize
