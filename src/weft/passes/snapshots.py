"""Copies of the slices that a map reads at one point and overwrites at another.

before:  map (i, j) in [0:n, 0:n] { x = P[i, k]; y = P[k, j]; write P[i, j] = minimum(P[i, j], add(x, y)) }
after:   map (i) in [0:n] { write S[i] = P[i, k] }
         map (j) in [0:n] { write T[j] = P[k, j] }
         map (i, j) in [0:n, 0:n] { x = S[i]; y = T[j]; write P[i, j] = ... }

Only a read that does not move with all parameters of the map is worth it: its slice is smaller than a whole temporary.
"""

from __future__ import annotations

from dataclasses import replace

from weft.analysis.dependences import Dependence
from weft.analysis.facts import Facts
from weft.ir.dtypes import ScalarType
from weft.ir.exprs import Index, Value, index
from weft.ir.nodes import Alloc, Map, Memlet, Node, Region, Tasklet
from weft.ir.traverse import values_defined_in
from weft.passes.base import Bench
from weft.support.records import record


@record
class Snapshot:
    """The nodes that copy, to stand before the map, and the map that reads the copies."""

    before: tuple[Node, ...]
    node: Map


def conflicts(node: Map, facts: Facts, bench: Bench) -> list[Dependence]:
    """What the points of a would-be map do to each other: empty if it is a map."""
    return bench.legality.elsewhere(node, node, facts)


def snapshot(node: Map, found: list[Dependence], site: int, facts: Facts, bench: Bench) -> Snapshot | None:
    """Copy the slices that stand in the way; None if that does not help or costs a whole temporary."""
    if any(dependence.source.writes and dependence.sink.writes for dependence in found):
        return None
    accesses = {(d.sink if d.source.writes else d.source) for d in found}
    guilty = {(access.container, access.index) for access in accesses}
    before: list[Node] = []
    copies: dict[tuple[str, tuple[Index, ...]], Memlet] = {}
    for key in sorted(guilty, key=str):
        made = _copy(key, node, site, bench)
        if made is None:
            return None
        nodes, copies[key] = made
        before += nodes
    body = Region(tuple(_with_copies(inner, copies, facts) for inner in node.body.nodes))
    changed = replace(node, body=body)
    if conflicts(changed, facts, bench):
        return None
    return Snapshot(tuple(before), changed)


def _with_copies(node: Node, copies: dict[tuple[str, tuple[Index, ...]], Memlet], facts: Facts) -> Node:
    if not isinstance(node, Tasklet):
        return node
    reads: list[tuple[Value, Memlet]] = []
    for value, memlet in node.reads:
        resolved = tuple(coordinate.substitute(facts.definitions) for coordinate in memlet.index)
        reads.append((value, copies.get((memlet.container, resolved), memlet)))
    return replace(node, reads=tuple(reads))


def _copy(key: tuple[str, tuple[Index, ...]], node: Map, site: int, bench: Bench) -> tuple[list[Node], Memlet] | None:
    container, position = key
    used = frozenset[Value]().union(*(coordinate.values for coordinate in position))
    inside = frozenset[Value]().union(*(values_defined_in(inner) for inner in node.body.nodes))
    chosen = [number for number, param in enumerate(node.params) if param in used]
    if len(chosen) >= len(node.params) or used & inside or site < 0:
        return None
    ranges = [node.ranges[number] for number in chosen]
    shape = tuple(stop - start for start, stop in ranges)
    dtype = bench.containers[container].dtype
    copy = bench.container("slice", dtype, shape)
    params = tuple(replace(node.params[number], id=bench.number()) for number in chosen)
    moved = {node.params[number]: index(param) for number, param in zip(chosen, params, strict=True)}
    element = Value(bench.number(), "x", ScalarType(dtype))
    target = Memlet(copy.name, tuple(index(param) - start for param, (start, _) in zip(params, ranges, strict=True)))
    source = Memlet(container, tuple(coordinate.substitute(moved) for coordinate in position))
    tasklet = Tasklet(reads=((element, source),), writes=((target, element),), id=bench.number(), span=node.span)
    alloc = Alloc(container=copy.name, site=site, id=bench.number(), span=node.span)
    body: Node = tasklet
    if params:
        body = Map(params=params, ranges=tuple(ranges), body=Region((tasklet,)), id=bench.number(), span=node.span)
    there = tuple(index(node.params[number]) - start for number, (start, _) in zip(chosen, ranges, strict=True))
    return [alloc, body], Memlet(copy.name, there)
