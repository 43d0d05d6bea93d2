"""A `continue` in the middle of a loop becomes the other side of a branch: an iteration ends at its end.

before:  for i in 0:n { x = a[i]; if less(x, 0.0) { continue } else { yield }; write b[i] = x; continue }
after:   for i in 0:n { x = a[i]; if less(x, 0.0) { yield } else { write b[i] = x; yield }; continue }

What the loop carries becomes results of the branch. Only for branches in the body itself, not for those inside others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from weft.ir.exprs import Value
from weft.ir.nodes import Branch, Continue, Let, Loop, Node, Program, Region, Tasklet, View, Yield
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.support.records import record


@record
class StructureContinues:
    """Let iterations end at their end."""

    name: ClassVar[str] = "structure-continues"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer jumps."""
        bench = Bench(self.name, program, session)
        body = rewrite_nodes(program.body, lambda node: _structured(node, bench) if isinstance(node, Loop) else None)
        return program if body is program.body else replace(program, body=body)


def _structured(loop: Loop, bench: Bench) -> tuple[Node, ...] | None:
    targets = [carry.target for carry in loop.carries]
    values = [target for target in targets if isinstance(target, Value)]
    if len(values) != len(targets):
        return None
    body = _until_end(list(loop.body.nodes), values, bench)
    if body is None:
        return None
    bench.note(f"iterations of the loop over {loop.var.name} end at their end", loop, done=True)
    return (replace(loop, body=Region(tuple(body))),)


def _until_end(nodes: list[Node], values: list[Value], bench: Bench) -> list[Node] | None:
    """The nodes of a body with their last early end made a branch, and those before it; None if there is none."""
    changed = False
    for position in reversed(range(len(nodes))):
        node = nodes[position]
        if not isinstance(node, Branch) or not (_continues(node.then) or _continues(node.orelse)):
            continue
        if any(isinstance(result, str) for result in node.results):
            return None
        joined = _joined(node, nodes[position + 1 :], values, bench)
        if joined is None:
            return None
        nodes = [*nodes[:position], *joined]
        changed = True
    return nodes if changed else None


def _continues(region: Region) -> bool:
    return bool(region.nodes) and isinstance(region.nodes[-1], Continue)


def _joined(node: Branch, rest: list[Node], values: list[Value], bench: Bench) -> list[Node] | None:
    """A branch one side of which goes on with the rest."""
    sides: list[Region] = []
    for side in (node.then, node.orelse):
        last = side.nodes[-1] if side.nodes else None
        if isinstance(last, Continue):
            sides.append(Region((*side.nodes[:-1], Yield(last.values))))
        elif isinstance(last, Yield) and rest and isinstance(rest[-1], Continue) and not _both_go_on(node):
            given = _named(node, last, bench)
            sides.append(Region((*side.nodes[:-1], *given, *rest[:-1], Yield(rest[-1].values))))
        else:
            return None
    results = tuple(replace(value, id=bench.number()) for value in values)
    branch = replace(node, then=sides[0], orelse=sides[1], results=results)
    return [branch, Continue(results)]


def _both_go_on(node: Branch) -> bool:
    return not _continues(node.then) and not _continues(node.orelse)


def _named(node: Branch, end: Yield, bench: Bench) -> list[Node]:
    """What the branch gave to the rest, as definitions at its beginning."""
    lets = [
        Let(result, value)
        for result, value in zip(node.results, end.values, strict=True)
        if isinstance(result, Value) and not isinstance(value, View)
    ]
    return [Tasklet(lets=tuple(lets), id=bench.number(), span=node.span)] if lets else []
