"""A map in a map that would run along memory without the rest of the outer one is taken out of it.

before:  map (j) in [0:n] { s = S[j]; write R[j] = s; map (i) in [0:m] { a = A[i, j]; write A[i, j] = a * s } }
after:   map (j) in [0:n] { s = S[j]; write R[j] = s }
         map (j, i) in [0:n, 0:m] { s = S[j]; a = A[i, j]; write A[i, j] = a * s }

The points of a map do not meet, so each of its nodes may be done for all points before the next one is: what stands
before the inner map, that map, and what stands after it become maps of their own. Numbers that one part computes for
another are computed again there, which is right where nothing they are read from is written in the map. It pays where
fewer accesses of the inner map jump along the last parameter of the outer one than along its own: the map of both can
then run along rows (`stride-1`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from weft.analysis.ranges import is_nonnegative
from weft.analysis.uses import read_by, written_by
from weft.ir.exprs import values_in
from weft.ir.nodes import Let, Map, Node, Program, Region, Tasklet
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, allocated_by, values_defined_in, values_used_in
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.passes.interchange_maps import jumps, only_computes
from weft.passes.tasklets import can_warn, explicit
from weft.support.records import record


@record
class SplitMaps:
    """Take inner maps out of maps."""

    name: ClassVar[str] = "split-maps"

    def run(self, program: Program, session: Session) -> Program:
        """The program with flat maps instead of maps with several parts."""
        bench = Bench(self.name, program, session)
        body = rewrite_nodes(program.body, lambda node: _split(node, bench) if isinstance(node, Map) else None)
        return program if body is program.body else replace(program, body=body)


def _split(node: Map, bench: Bench) -> tuple[Node, ...] | None:
    own = values_defined_in(node)
    for place, inner in enumerate(node.body.nodes):
        if (
            isinstance(inner, Map)
            and inner.schedule is node.schedule
            and only_computes(inner.body)
            and not any(bound.values & own for bounds in inner.ranges for bound in bounds)
        ):
            made = _parts(explicit(node, bench), place, bench)
            if made is not None:
                bench.note(f"the map over {inner.params[-1].name} runs on its own", inner, done=True)
                return made
    return None


def _parts(node: Map, place: int, bench: Bench) -> tuple[Node, ...] | None:
    before, inner, after = node.body.nodes[:place], node.body.nodes[place], node.body.nodes[place + 1 :]
    assert isinstance(inner, Map)
    if _share_memory(before, (inner,), after):
        return None
    again = _again(node, before, (inner,), bench)
    rest = _again(node, before, after, bench)
    if again is None or rest is None:
        return None
    along, across = jumps(Region((*again, *inner.body.nodes)), (node.params[-1], inner.params[-1]), bench.program)
    if along >= across:
        return None
    flat = replace(
        inner,
        params=node.params + inner.params,
        ranges=node.ranges + inner.ranges,
        body=Region((*again, *inner.body.nodes)),
    )
    made: list[Node] = []
    if _has_effect(before, inner):
        made.append(replace(node, body=Region(before)))
    made += _fresh(flat, bench)
    if after:
        (last,) = _fresh(replace(node, body=Region((*rest, *after)), id=bench.number()), bench)
        assert isinstance(last, Map)
        made += _split(last, bench) or (last,)
    return tuple(made)


def _share_memory(*parts: Sequence[Node]) -> bool:
    """Whether a part allocates what another one uses."""
    for part in parts:
        own = {name for node in all_nodes(Region(tuple(part))) for name in allocated_by(node)}
        others = (node for other in parts if other is not part for node in all_nodes(Region(tuple(other))))
        if own and any(name in own for node in others for name in (*read_by(node), *written_by(node))):
            return True
    return False


def _again(node: Map, before: Sequence[Node], part: Sequence[Node], bench: Bench) -> tuple[Tasklet, ...] | None:
    """What a part needs of the numbers before it, as tasklets without writes; None if they cannot be had again."""
    needed = set(values_used_in(Region(tuple(part))))
    overlap = bench.legality.memory.may_overlap
    written = {name for item in all_nodes(node.body) for name in written_by(item)}
    found: list[Tasklet] = []
    for item in reversed(before):
        if needed.isdisjoint(values_defined_in(item)):
            continue
        if not isinstance(item, Tasklet):
            return None
        lets: list[Let] = []
        for let in reversed(item.lets):
            if let.value in needed:
                needed |= values_in(let.expr)
                lets.append(let)
        reads = tuple((value, memlet) for value, memlet in item.reads if value in needed)
        if any(overlap(memlet.container, name) for _, memlet in reads for name in written):
            return None
        for _, memlet in reads:
            needed.update(*(coordinate.values for coordinate in memlet.index))
        found.append(replace(item, reads=reads, lets=tuple(reversed(lets)), writes=(), id=bench.number()))
    return tuple(reversed(found))


def _has_effect(nodes: Sequence[Node], inner: Map) -> bool:
    """Whether something is left to do of nodes whose numbers are computed again at all points of an inner map."""
    has_points = all(is_nonnegative(stop - start - 1) for start, stop in inner.ranges)
    for node in nodes:
        if not isinstance(node, Tasklet) or node.writes:
            return True
        if not has_points and any(can_warn(let.expr) for let in node.lets):
            return True
    return False


def _fresh(node: Map, bench: Bench) -> list[Node]:
    """A part with values of its own: each is defined once in a program."""
    return with_fresh_values([node], bench.number, {})
