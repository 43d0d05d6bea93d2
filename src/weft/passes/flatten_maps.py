"""Rows that lie one behind the other are run over as one.

before:  map (i, j) in [2:n, 0:m] { x = A[i + 1, j]; y = B[i, j]; write T[i, j] = x + y }   in C order, m columns
after:   map (k) in [2 * m:n * m] { x = A'[k + m]; y = B'[k]; write T'[k] = x + y }         A', B', T': the same memory

The last two parameters become one where every access moves along whole rows with them: along two neighbouring axes, by
one with each parameter, from the first to the last element of the inner axis, whose extent is that of the last
range, proved from the guards. Then (i, j) and k = i * m + j name the same elements, each once, so the points of the map
are the same; so are the elements that a reduction over both takes. A parameter that is used in another way (as a
number, or for an axis of its own) keeps its loop. It pays where rows are short: an image of three colours, positions of
three coordinates, a column of levels. A map that is part of a sweep through a matrix keeps its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from weft.analysis.facts import Constraint, Facts
from weft.analysis.sweeps import row_updates
from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Index, Value, const_index, index, values_in
from weft.ir.nodes import Axis, Elements, Layout, Map, Memlet, Node, Program, Reduce, Region, Storage, Tasklet, View
from weft.ir.traverse import memlets_of, node_expressions
from weft.passes.base import Bench, Session, rewrite_regions
from weft.passes.tasklets import is_plain
from weft.support.records import record

_LONG_ROW = 4096  # elements, known now: nothing is won with longer ones


@record
class FlattenMaps:
    """Make one parameter of the last two, as often as it goes."""

    name: ClassVar[str] = "flatten-maps"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer parameters in its innermost maps."""
        bench = Bench(self.name, program, session)
        shapes = _Shapes(bench)
        return rewrite_regions(bench, lambda region, facts: _region(region, facts, shapes))


def _region(region: Region, facts: Facts, shapes: _Shapes) -> Region:
    nodes: list[Node] = []
    swept = row_updates(region, shapes.bench.legality.memory)
    for place, node in enumerate(region.nodes):
        made = node
        while place not in swept and (flat := _flat_node(made, facts, shapes)) is not None:
            made = flat
        nodes.append(made)
        facts = facts.after(node)
    changed = any(made is not node for made, node in zip(nodes, region.nodes, strict=True))
    return Region(tuple(nodes)) if changed else region


def _flat_node(node: Node, facts: Facts, shapes: _Shapes) -> Node | None:
    match node:
        case Map():
            return _flat(node, facts, shapes)
        case Reduce() if _takes_rows(node):
            return _flat_reduction(node, facts, shapes)
        case _:
            return None


def _takes_rows(node: Reduce) -> bool:
    """Whether a reduction goes over the last two axes, in any order; positions would be others."""
    last = node.input.rank - 1
    both = last > 0 and {last - 1, last} <= set(node.axes)
    return both and node.op not in ("argmin", "argmax") and node.output.rank == node.input.rank - len(node.axes)


def _flat_reduction(node: Reduce, facts: Facts, shapes: _Shapes) -> Reduce | None:
    source = node.input
    made = _flat_view(source, facts, shapes) if isinstance(source, View) else _flat_elements(source, facts, shapes)
    if made is None:
        return None
    return replace(node, input=made, axes=tuple(axis for axis in node.axes if axis != source.rank - 1))


def _flat_elements(source: Elements, facts: Facts, shapes: _Shapes) -> Elements | None:
    if not values_in(source.expr).isdisjoint(source.params[-2:]):
        return None
    ranges = tuple((const_index(0), extent) for extent in source.shape)
    flat = _flat(Map(params=source.params, ranges=ranges, body=Region(source.body)), facts, shapes)
    if flat is None:
        return None
    body = tuple(inside for inside in flat.body.nodes if isinstance(inside, Tasklet))
    return replace(source, params=flat.params, shape=tuple(stop for _, stop in flat.ranges), body=body)


def _flat_view(source: View, facts: Facts, shapes: _Shapes) -> View | None:
    """Beside elements that are flat the elements of an array must be, too, to be joined with them."""
    last, width = source.rank - 1, source.shape[-1]
    point = tuple(index(shapes.bench.value("p", PY_INT)) for _ in source.shape)
    (outer,), (inner,) = point[-2].values, point[-1].values
    memlet, rows = source.at(point), _Rows(outer, inner, width, facts, shapes)
    axis = rows.axis(memlet)
    long = width.constant is not None and width.constant >= _LONG_ROW
    if long or axis is None or axis < 0 or len(source.axes[axis].terms) != 1 or not rows.fit(memlet):
        return None
    row = Axis(source.axes[axis].offset * width, ((last - 1, const_index(1)),))
    return View(
        shapes.rows(source.container, axis),
        (*source.shape[:-2], source.shape[-2] * width),
        (*source.axes[:axis], row, *source.axes[axis + 2 :]),
    )


def _flat(node: Map, facts: Facts, shapes: _Shapes) -> Map | None:
    if len(node.params) < 2 or not is_plain(node):
        return None
    (outer, inner), ((start, stop), (first, width)) = node.params[-2:], node.ranges[-2:]
    long = width.constant is not None and width.constant >= _LONG_ROW
    if long or first.constant != 0 or outer in first.values | width.values or not _only_indices(node, (outer, inner)):
        return None
    rows = _Rows(outer, inner, width, facts, shapes)
    bench = shapes.bench
    tasklets = [inside for inside in node.body.nodes if isinstance(inside, Tasklet)]
    if not all(rows.fit(memlet) for memlet in dict.fromkeys(memlets_of(tasklets))):
        return None
    low, high = start * width, stop * width
    param = replace(bench.value(outer.name, PY_INT), floor=low, ceiling=high - 1, low=outer.low)
    body = Region(tuple(rows.along(each, param) for each in tasklets))
    bench.note(f"rows over {outer.name} and {inner.name} are run over as one", node, done=True)
    return replace(node, params=(*node.params[:-2], param), ranges=(*node.ranges[:-2], (low, high)), body=body)


def _only_indices(node: Map, params: Sequence[Value]) -> bool:
    """Whether parameters are used for places only: not as numbers, nor in bounds of what is computed."""
    used = {value for inside in node.body.nodes for expr in node_expressions(inside) for value in values_in(expr)}
    return used.isdisjoint(params)


def _equal_values(facts: Facts) -> dict[Value, Index]:
    """Of values that guards say are equal one stands for all: products of them are compared then, too."""
    found: dict[Value, Index] = {}
    for constraint in facts.constraints:
        terms = constraint.index.substitute(found).terms if constraint.equal else ()
        match terms:
            case (((first,), a), ((second,), b)) if a + b == 0 and abs(a) == 1:
                found = {value: given.substitute({second: index(first)}) for value, given in found.items()}
                found[second] = index(first)
            case _:
                continue
    return found


class _Shapes:
    """Containers with two axes as one, made when they are first asked for."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.made: dict[tuple[str, int], str] = {}

    def rows(self, name: str, axis: int) -> str:
        """The elements of a container with that axis and the next as one."""
        if (name, axis) not in self.made:
            container = self.bench.containers[name]
            base = container.base if container.storage is Storage.ALIAS else name
            both = container.shape[axis] * container.shape[axis + 1]
            shape = (*container.shape[:axis], both, *container.shape[axis + 2 :])
            made = self.bench.container(base.partition(".")[0], container.dtype, shape, Storage.ALIAS)
            self.bench.containers[made.name] = replace(made, base=base)
            self.made[name, axis] = made.name
        return self.made[name, axis]


class _Rows:
    """Accesses by the pair (outer, inner) as accesses by one parameter."""

    def __init__(self, outer: Value, inner: Value, width: Index, facts: Facts, shapes: _Shapes) -> None:
        self.outer, self.inner, self.width = outer, inner, width
        self.facts = facts
        self.equal = _equal_values(facts)
        self.shapes = shapes

    def axis(self, memlet: Memlet) -> int | None:
        """The axis of rows; -1 for an access that does not move."""
        moved = [axis for axis, at in enumerate(memlet.index) if {self.outer, self.inner} & at.values]
        if not moved:
            return -1
        axis = moved[0]
        if moved != [axis, axis + 1] or memlet.index[axis + 1] != index(self.inner):
            return None
        rest = memlet.index[axis] - index(self.outer)
        return None if {self.outer, self.inner} & rest.values else axis

    def fit(self, memlet: Memlet) -> bool:
        """Whether the access runs along whole rows, or does not move at all."""
        container = self.shapes.bench.containers[memlet.container]
        axis = self.axis(memlet)
        if axis is None or container.layout is not Layout.C or container.storage is Storage.STACK:
            return axis == -1
        if axis == -1:
            return True
        same = Constraint((container.shape[axis + 1] - self.width).substitute(self.equal), equal=True)
        return self.shapes.bench.legality.holds(same, self.facts)

    def along(self, tasklet: Tasklet, param: Value) -> Tasklet:
        """The tasklet with its accesses by the one parameter."""
        reads = tuple((value, self._moved(memlet, param)) for value, memlet in tasklet.reads)
        writes = tuple((self._moved(memlet, param), expr) for memlet, expr in tasklet.writes)
        return replace(tasklet, reads=reads, writes=writes)

    def _moved(self, memlet: Memlet, param: Value) -> Memlet:
        axis = self.axis(memlet)
        if axis is None or axis < 0:
            return memlet
        before, after = memlet.index[:axis], memlet.index[axis + 2 :]
        place = (memlet.index[axis] - index(self.outer)) * self.width + index(param)
        return replace(memlet, container=self.shapes.rows(memlet.container, axis), index=(*before, place, *after))
