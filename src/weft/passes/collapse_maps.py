"""Maps with nothing to run over go, maps that hold nothing but a map become one with it.

before:  map (i) in [0:n] { map (j) in [0:m] { map (k) in [2:3] { write A[i, j, k] = 0.0 } } }
after:   map (i, j) in [0:n, 0:m] { write A[i, j, 2] = 0.0 }

A parameter with one value is that value; a map without parameters is its body; a map with an empty body is nothing. Two
maps become one when the ranges of the inner one do not depend on the outer: a map runs over a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from weft.ir.exprs import Expr, Value
from weft.ir.nodes import Map, Node, Program, Region, Tasklet
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import values_defined_in
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.passes.loop_bodies import shapes_fixed
from weft.passes.tasklets import explicit
from weft.support.records import record


@record
class CollapseMaps:
    """Make nests of maps as flat as they can be."""

    name: ClassVar[str] = "collapse-maps"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer maps."""
        bench = Bench(self.name, program, session)
        body = rewrite_nodes(program.body, lambda node: _flat(node, bench))
        return program if body is program.body else replace(program, body=body)


def _flat(node: Node, bench: Bench) -> tuple[Node, ...] | None:
    if not isinstance(node, Map):
        return None
    simpler = _simpler(node, bench)
    return None if len(simpler) == 1 and simpler[0] is node else tuple(simpler)


def _simpler(node: Map, bench: Bench) -> list[Node]:
    body = _without_nothing(node.body)
    if not body.nodes:
        bench.note("a map of nothing is gone", node, done=True)
        return []
    single = [number for number, (start, stop) in enumerate(node.ranges) if (stop - start).constant == 1]
    if single:
        return _without(node, single, bench)
    current = node if body is node.body else replace(node, body=body)
    collapsed = _collapsed(current, bench)
    return [current] if collapsed is current else _simpler(collapsed, bench)


def _without_nothing(body: Region) -> Region:
    nodes = tuple(
        node for node in body.nodes
        if not isinstance(node, Tasklet) or node.reads or node.lets or node.writes
    )  # fmt: skip
    return body if len(nodes) == len(body.nodes) else Region(nodes)


def _without(node: Map, single: Sequence[int], bench: Bench) -> list[Node]:
    """The map without the parameters that have one value."""
    defined = frozenset(node.params).union(*(values_defined_in(inner) for inner in node.body.nodes))
    if not shapes_fixed(node.body.nodes, defined, bench):
        return [node]
    known: dict[Value, Expr] = {node.params[number]: node.ranges[number][0] for number in single}
    left = [number for number in range(len(node.params)) if number not in single]
    bench.note(f"the map over {', '.join(value.name for value in known)} has one point", node, done=True)
    if not left:
        return with_fresh_values(explicit(node, bench).body.nodes, bench.number, known)
    # The parameters that stay keep their names: their bounds are those of ranges outside.
    kept: dict[Value, Expr] = {node.params[number]: node.params[number] for number in left}
    body = with_fresh_values(node.body.nodes, bench.number, {**known, **kept})
    params, ranges = tuple(node.params[number] for number in left), tuple(node.ranges[number] for number in left)
    return _simpler(replace(node, params=params, ranges=ranges, body=Region(tuple(body))), bench)


def _collapsed(node: Map, bench: Bench) -> Map:
    """One map with the only map in it, if that runs over a box whatever the point of this one."""
    if len(node.body.nodes) != 1:
        return node
    inner = node.body.nodes[0]
    if not isinstance(inner, Map) or inner.schedule is not node.schedule:
        return node
    own = frozenset(node.params)
    if any(bound.values & own for bounds in inner.ranges for bound in bounds):
        return node
    bench.note(f"the maps over {_names(node)} and {_names(inner)} are one", node, done=True)
    warn = inner.warn if inner.warn >= 0 else node.warn
    return replace(
        node, params=node.params + inner.params, ranges=node.ranges + inner.ranges, body=inner.body, warn=warn
    )


def _names(node: Map) -> str:
    return ", ".join(param.name for param in node.params)
