"""The outermost maps of a program run in parallel.

before:  map (p0, p1) in [0:n, 0:m] { ... }
after:   map (p0, p1) in [0:n, 0:m] parallel { ... }

Iterations of a map are independent by definition, so this needs no proof; generated code uses threads only where there
is enough work at run time. Maps whose body is more than tasklets stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from weft.ir.nodes import Map, Node, Program, Schedule, Tasklet
from weft.passes.base import rewrite_nodes


@dataclass(frozen=True, slots=True)
class ParallelizeMaps:
    """Schedule maps of plain tasklets on the thread pool."""

    name: ClassVar[str] = "parallelize-maps"

    def run(self, program: Program) -> Program:
        """The program with its maps scheduled."""
        body = rewrite_nodes(program.body, _schedule)
        return program if body is program.body else replace(program, body=body)


def _schedule(node: Node) -> tuple[Node, ...] | None:
    if not isinstance(node, Map) or node.schedule is not Schedule.SEQUENTIAL:
        return None
    if not all(isinstance(inner, Tasklet) for inner in node.body.nodes):
        return None
    return (replace(node, schedule=Schedule.PARALLEL),)
