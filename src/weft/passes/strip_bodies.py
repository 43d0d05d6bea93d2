"""Loops over several maps and reductions, cut: which of their axes go together, and the loop on a part of them.

in:   a loop over maps, reductions and tasklets that only read, or over loops over these
out:  `Cut`s: for each map and reduction one of its axes, all of one length; the loop on a part of these

before:  for i in 0:n { reduce add T[:] = elements at (j, k) over [m, n] { ... j ... }; map (j) in [0:m] { ... } }
after:   for i in 0:n { reduce add T[first:end] = elements at (p, k) over [end - first, n] { ... first + p ... }
                        map (j) in [first:end] { ... } }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Final

from weft.analysis.effects import Access, effects_of
from weft.ir.exprs import Index, Value, const_index, index
from weft.ir.nodes import (
    Axis,
    Container,
    Continue,
    Elements,
    Layout,
    Loop,
    Map,
    Node,
    Reduce,
    Region,
    Tasklet,
    View,
)  # fmt: skip
from weft.ir.substitution import Substitution
from weft.ir.traverse import values_defined_in
from weft.passes.base import Bench
from weft.passes.tasklets import only_reads
from weft.support.records import record

_MOST: Final = 8  # ways to choose axes that are looked at


@record
class Cut:
    """An axis of each map and reduction of a loop, in order, and how long all of these are."""

    loop: Loop
    axes: tuple[int, ...]
    extent: Index

    def part(self, first: Index, end: Index, bench: Bench) -> Loop:
        """The loop on a part of these axes, counted from where each begins."""
        (made,) = _parts((self.loop,), iter(self.axes), (first, end), bench)
        assert isinstance(made, Loop)
        return made

    def pays(self, containers: Mapping[str, Container]) -> bool:
        """Whether each turn reads many lines that it shares with others, and writes a few.

        Where two parts meet they have lines of the cache in common: those that are written go from thread to thread.
        """
        moving, touches = values_defined_in(self.loop), list(self._touches())
        if any(touch.is_many and (touch.access.writes or touch.passes(moving)) for touch in touches):
            return False
        return any(touch.is_many for touch in touches) and not any(touch.goes_across(containers) for touch in touches)

    def bytes_each(self, containers: Mapping[str, Container]) -> Index:
        """Of what all turns touch at a point of the axis."""
        lines = {(touch.access.container, touch.lines(containers)) for touch in self._touches() if touch.is_along}
        return sum((count * containers[name].dtype.itemsize for name, count in lines), const_index(0))

    def _touches(self) -> Iterator[_Touch]:
        for node, axis in zip(point_nodes(self.loop), self.axes, strict=True):
            for access in effects_of(node).accesses:
                place = _axis_of_result(node, axis) if isinstance(node, Reduce) and access.writes else axis
                yield _Touch(access, access.iterators[place].value, isinstance(node, Map))


@record
class _Touch:
    """An access, the variable that goes along the axis, and whether it is for one turn of a map."""

    access: Access
    along: Value
    in_map: bool

    @property
    def others(self) -> frozenset[Value]:
        """The other variables of its node."""
        return frozenset(iterator.value for iterator in self.access.iterators) - {self.along}

    @property
    def is_along(self) -> bool:
        """Whether it goes along the axis at all."""
        return any(self.along in position.values for position in self.access.index)

    @property
    def is_many(self) -> bool:
        """Whether it goes through many lines along the axis."""
        return self.is_along and any(position.values & self.others for position in self.access.index)

    def passes(self, moving: frozenset[Value]) -> bool:
        """Whether it leaves for other elements in the next turn, which would be read in short pieces."""
        own = self.others | {self.along}
        return any(position.values & moving - own and not position.values & own for position in self.access.index)

    def goes_across(self, containers: Mapping[str, Container]) -> bool:
        """Whether each line of a map needs a number of its own, and these are far from each other in memory."""
        if self.is_along or not self.in_map:
            return False
        far = [*self.access.index]
        near = far.pop(0 if containers[self.access.container].layout is Layout.F else -1) if far else const_index(0)
        return not near.values & self.others and any(position.values & self.others for position in far)

    def lines(self, containers: Mapping[str, Container]) -> Index:
        """How many lines it may go through."""
        count = const_index(1)
        for extent, position in zip(containers[self.access.container].shape, self.access.index, strict=True):
            if self.along not in position.values and position.values & self.others:
                count = count * extent
        return count


def point_nodes(loop: Loop) -> list[Map | Reduce]:
    """The maps and reductions of a loop; none if there is more to it than those."""
    found: list[Map | Reduce] = []
    if loop.carries or not isinstance(loop.body.nodes[-1], Continue):
        return []
    for node in loop.body.nodes[:-1]:
        match node:
            case Tasklet() if only_reads(node):
                continue
            case Map() | Reduce():
                found.append(node)
            case Loop() if inner := point_nodes(node):
                found += inner
            case _:
                return []
    return found


def cuts(loop: Loop) -> Iterator[Cut]:
    """The ways to cut a loop: those along memory first."""
    nodes, moving = point_nodes(loop), values_defined_in(loop)
    if not nodes or any(access.conflict for access in effects_of(nodes).accesses):
        return
    extents = [_extents(node) for node in nodes]
    for extent in dict.fromkeys(reversed(min(extents, key=len).values())):
        if extent.values.isdisjoint(moving):
            alike = [[axis for axis, other in some.items() if other is extent][::-1] for some in extents]
            yield from (Cut(loop, axes, extent) for axes in islice(product(*alike), _MOST) if _stay_joined(nodes, axes))


def _stay_joined(nodes: Sequence[Map | Reduce], axes: Sequence[int]) -> bool:
    """Whether reductions in one sweep are cut alike."""
    pairs = zip(nodes[1:], axes[1:], axes, strict=False)
    return all(axis == before for node, axis, before in pairs if isinstance(node, Reduce) and node.joined)


def _extents(node: Map | Reduce) -> dict[int, Index]:
    """How long the axes are that a node has a result for every point of."""
    if isinstance(node, Map):
        return {axis: stop - start for axis, (start, stop) in enumerate(node.ranges)}
    return {axis: extent for axis, extent in enumerate(node.input.shape) if axis not in node.axes}


def _axis_of_result(node: Reduce, axis: int) -> int:
    keeps_all = node.output.rank == node.input.rank
    return axis if keeps_all else axis - sum(other < axis for other in node.axes)


# ---- a part ---------------------------------------------------------------------------------------------------------

_Span = tuple[Index, Index]


def _parts(nodes: Iterable[Node], axes: Iterator[int], span: _Span, bench: Bench) -> tuple[Node, ...]:
    made: list[Node] = []
    for node in nodes:
        match node:
            case Loop():
                made.append(replace(node, body=Region(_parts(node.body.nodes, axes, span, bench))))
            case Map():
                made.append(_part_of_map(node, next(axes), span))
            case Reduce():
                made.append(_part_of_reduction(node, next(axes), span, bench))
            case _:
                made.append(node)
    return tuple(made)


def _part_of_map(node: Map, axis: int, span: _Span) -> Map:
    ranges = list(node.ranges)
    start = ranges[axis][0]
    ranges[axis] = (start + span[0], start + span[1])
    return replace(node, ranges=tuple(ranges))


def _part_of_reduction(node: Reduce, axis: int, span: _Span, bench: Bench) -> Reduce:
    whole = node.input
    part = _part_of_view(whole, axis, span) if isinstance(whole, View) else _part_of_elements(whole, axis, span, bench)
    return replace(node, input=part, output=_part_of_view(node.output, _axis_of_result(node, axis), span))


def _part_of_view(view: View, axis: int, span: _Span) -> View:
    def moved(given: Axis) -> Axis:
        steps = (step * span[0] for number, step in given.terms if number == axis)
        return replace(given, offset=sum(steps, given.offset))

    shape = (*view.shape[:axis], span[1] - span[0], *view.shape[axis + 1 :])
    return replace(view, shape=shape, axes=tuple(map(moved, view.axes)))


def _part_of_elements(source: Elements, axis: int, span: _Span, bench: Bench) -> Elements:
    param, extent = source.params[axis], span[1] - span[0]
    place = replace(param, id=bench.number(), floor=const_index(0), ceiling=extent - 1)
    moved = Substitution({param: index(place) + span[0]}).elements(source)
    params = (*source.params[:axis], place, *source.params[axis + 1 :])
    return replace(moved, params=params, shape=(*source.shape[:axis], extent, *source.shape[axis + 1 :]))
