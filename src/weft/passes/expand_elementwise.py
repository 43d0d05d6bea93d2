"""Elementwise operations become maps over their points.

before:  C[:, :] = elementwise (p0, p1) a = A[:, :]: add(a, 1)
after:   map (p0, p1) in [0:n, 0:m] { a = A[p0, p1]; write C[p0, p1] = add(a, 1) }

An operation reads all its inputs before its first write. Where a point reads what another point writes, only the slices
in question are copied first (`snapshots.py`); where they are as large as the output, it goes through a temporary.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from weft.analysis.facts import Facts
from weft.ir.dtypes import ScalarType
from weft.ir.exprs import Const, Index, Value, const_index, index
from weft.ir.nodes import Alloc, Elementwise, Let, Map, Node, Program, Region, Tasklet, full_view
from weft.passes.base import Bench, Session, rewrite_regions
from weft.passes.open_sites import sites_above
from weft.passes.snapshots import conflicts, snapshot
from weft.support.records import record


@record
class ExpandElementwise:
    """Turn every Elementwise node into a Map."""

    name: ClassVar[str] = "expand-elementwise"

    def run(self, program: Program, session: Session) -> Program:
        """The program without Elementwise nodes."""
        bench = Bench(self.name, program, session)
        sites = sites_above(program.body)
        return rewrite_regions(bench, lambda region, facts: _expand_region(region, facts, sites, bench))


def _expand_region(region: Region, facts: Facts, sites: dict[int, int], bench: Bench) -> Region:
    if not any(isinstance(node, Elementwise) for node in region.nodes):
        return region
    nodes: list[Node] = []
    for node in region.nodes:
        if isinstance(node, Elementwise):
            nodes += _expand(node, sites[node.id], facts, bench)
        else:
            nodes.append(node)
        facts = facts.after(node)
    return Region(tuple(nodes))


def _expand(node: Elementwise, site: int, facts: Facts, bench: Bench) -> list[Node]:
    plain = _as_map(node, bench)
    if not isinstance(plain, Map) or not bench.legality.memory.may_read_elsewhere(node, facts.apart):
        return [plain]
    found = conflicts(plain, facts, bench)
    if not found:
        return [plain]
    copied = snapshot(plain, found, site, facts, bench)
    if copied is not None:
        bench.note("the slices it overwrites are copied first", node, done=True)
        return [*copied.before, copied.node]
    bench.note(f"computed aside: it overwrites what other points read of {node.output.container}", node, done=True)
    return _through_temporary(node, site, bench)


def _through_temporary(node: Elementwise, site: int, bench: Bench) -> list[Node]:
    output = node.output
    dtype = bench.containers[output.container].dtype
    container = bench.container("copy", dtype, output.shape)
    temporary = full_view(container)
    params = tuple(replace(param, id=bench.number()) for param in node.params)
    element = bench.value("x", ScalarType(dtype))
    back = Elementwise(
        output=output, params=params, inputs=((element, temporary),), expr=element, id=bench.number(), span=node.span
    )
    alloc = Alloc(container=container.name, site=site, id=bench.number(), span=node.span)
    return [alloc, _as_map(replace(node, output=temporary), bench), _as_map(back, bench)]


def _as_map(node: Elementwise, bench: Bench) -> Node:
    point = tuple(index(param) for param in node.params)
    result = bench.value("r", node.expr.type)
    warn = -1 if node.params else node.warn  # a map tells it to its lets
    tasklet = Tasklet(
        reads=tuple((value, view.at(point)) for value, view in node.inputs),
        lets=() if isinstance(node.expr, Const | Value | Index) else (Let(result, node.expr, warn),),
        writes=((node.output.at(point), _written(node, result)),),
        id=bench.number(),
        span=node.span,
    )
    if not node.params:
        return tasklet
    ranges = tuple((const_index(0), extent) for extent in node.output.shape)
    return Map(params=node.params, ranges=ranges, body=Region((tasklet,)), warn=node.warn, id=node.id, span=node.span)


def _written(node: Elementwise, result: Value) -> Const | Value | Index:
    return node.expr if isinstance(node.expr, Const | Value | Index) else result
