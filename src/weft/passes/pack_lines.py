"""What all sums or rows of a map read with a stride, and alike, is copied first, so that they run along memory.

before:  map (i) in [0:n] { alloc T; reduce add T[] = elements at (k) over [m] { A[i, k] * B[k, c] }; ... }
after:   alloc P[m]
         map (k) in [0:m] { x = B[k, c]; write P[k] = x }
         map (i) in [0:n] { alloc T; reduce add T[] = elements at (k) over [m] { A[i, k] * P[k] }; ... }

before:  map (i, j) in [0:n, 0:n] { x = P[j, 0]; y = P[i, 0]; write D[i, j] = x - y }
after:   alloc L[n]
         map (j) in [0:n] { x = P[j, 0]; write L[j] = x }
         map (i, j) in [0:n, 0:n] { x = L[j]; y = P[i, 0]; write D[i, j] = x - y }

Legal where the map writes nothing of what is copied. It pays where such reads are all that keeps a sum or a row from
running along memory: one strided read then serves all points. Where the map has no points, there may be nothing to
read. A line of points is copied only where NumPy needs more memory than that itself: where there are as many rows as
elements in a row, or where the map makes a new array of more than one operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from weft.analysis.facts import Facts
from weft.ir.exprs import Index, Value, const_index, index
from weft.ir.nodes import Elements, Guard, Map, Memlet, Node, Program, Reduce, Region, Storage, Tasklet
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench, Session
from weft.passes.interchange_maps import jumps
from weft.passes.loop_bodies import is_less, only_if
from weft.passes.map_walk import MapWalk
from weft.passes.open_sites import OpenSite
from weft.support.records import record
from weft.support.spans import Span

_FEW: Final = 16  # so short a line is not worth a copy
_ROWS: Final = 4  # nor is one for so few rows


@record
class PackLines:
    """Copy the strided operands that the sums of a map share."""

    name: ClassVar[str] = "pack-lines"

    points: bool = False  # those of the points themselves, once the parameters of maps are in order

    def run(self, program: Program, session: Session) -> Program:
        """The program with these sums along memory."""
        maps = [node for node in all_nodes(program.body) if isinstance(node, Map)]
        if self.points:
            worth, rule = any(len(node.params) > 1 for node in maps), _packed_points
        else:
            worth, rule = any(isinstance(inner, Reduce) for node in maps for inner in node.body.nodes), _packed
        return MapWalk(Bench(self.name, program, session), rule).program() if worth else program


def _packed(node: Node, walk: MapWalk, site: OpenSite | None) -> list[Node] | None:
    """The copies, and the map with its sums reading them."""
    if not isinstance(node, Map) or any(isinstance(inner, Guard) for inner in all_nodes(node.body)):
        return None  # a sum behind it may never be made
    allocs: list[Node] = []
    copies: list[Node] = []
    nodes: list[Node] = []
    for inner in node.body.nodes:
        places: dict[Memlet, Memlet] = {}
        for line in _shared_lines(inner, node, walk.bench) if isinstance(inner, Reduce) else ():
            room = walk.allocate("line", line.read.type.dtype, line.extents, site, line.span)
            if room is not None:
                allocs += room.allocs
                copies.append(line.copied(room.view.container, walk.bench))
                places[line.memlet] = line.place(room.view.container)
        nodes.append(_reading(inner, places) if isinstance(inner, Reduce) and places else inner)
    return _in_front(allocs, copies, replace(node, body=Region(tuple(nodes))), walk) if copies else None


def _packed_points(node: Node, walk: MapWalk, site: OpenSite | None) -> list[Node] | None:
    """The copies, and the map with its points reading them."""
    if not isinstance(node, Map) or len(node.params) < 2:
        return None
    allocs: list[Node] = []
    copies: list[Node] = []
    places: dict[Memlet, Memlet] = {}
    for line in _lines_of_rows(node, walk.bench):
        room = walk.allocate("line", line.read.type.dtype, line.extents, site, line.span)
        if room is None:
            return None
        allocs += room.allocs
        copies.append(line.copied(room.view.container, walk.bench))
        places[line.memlet] = line.place(room.view.container)
    tasklets = (inner for inner in node.body.nodes if isinstance(inner, Tasklet))
    body = Region(tuple(_tasklet_reading(tasklet, places) for tasklet in tasklets))
    return _in_front(allocs, copies, replace(node, body=body), walk) if copies else None


def _in_front(allocs: list[Node], copies: list[Node], node: Map, walk: MapWalk) -> list[Node]:
    """The copies in front of a map, where it has any point."""
    walk.bench.note("what all points read with a stride is copied first", node, done=True)
    for start, stop in node.ranges:
        if (stop - start).constant is None:
            copies = [only_if(is_less(start, stop), copies, node.span, walk.bench)]
    return [*allocs, *copies, node]


@record
class _Line:
    """What a sum or a row reads at `memlet`, which moves with these parameters alone; they count from `starts` on."""

    memlet: Memlet
    read: Value
    params: tuple[Value, ...]
    starts: tuple[Index, ...]
    extents: tuple[Index, ...]
    span: Span | None

    def copied(self, name: str, bench: Bench) -> Map:
        """The map that copies it to an array; one that only reads it, if that has no name."""
        params = tuple(replace(param, id=bench.number()) for param in self.params)
        x = replace(self.read, id=bench.number())
        points = {old: start + index(new) for old, start, new in zip(self.params, self.starts, params, strict=True)}
        source = replace(self.memlet, index=tuple(at.substitute(points) for at in self.memlet.index))
        writes = ((Memlet(name, tuple(index(param) for param in params)), x),) if name else ()
        move = Tasklet(reads=((x, source),), writes=writes, id=bench.number(), span=self.span)
        ranges = tuple((const_index(0), extent) for extent in self.extents)
        return Map(params=params, ranges=ranges, body=Region((move,)), id=bench.number(), span=self.span)

    def place(self, name: str) -> Memlet:
        """Where its element is found."""
        return Memlet(name, tuple(index(param) - start for param, start in zip(self.params, self.starts, strict=True)))


def _shared_lines(reduce: Reduce, node: Map, bench: Bench) -> list[_Line]:
    """What a sum reads with a stride along its last axis and alike at all points, where that is all that jumps."""
    terms = reduce.input
    if not isinstance(terms, Elements) or not terms.params or reduce.output.rank:
        return []
    own = bench.defines(node) - set(terms.params)
    if any(not own.isdisjoint(extent.values) for extent in terms.shape):
        return []
    lines: dict[Memlet, _Line] = {}
    for value, memlet in (read for tasklet in terms.body for read in tasklet.reads):
        if not _jumps(value, memlet, terms.params[-1], bench):
            continue
        moving = frozenset(param for at in memlet.index for param in at.values)
        axes = [axis for axis, param in enumerate(terms.params) if param in moving]
        params, extents = tuple(terms.params[axis] for axis in axes), tuple(terms.shape[axis] for axis in axes)
        line = _Line(memlet, value, params, (const_index(0),) * len(params), extents, reduce.span)
        if all((extent.constant or _FEW) < _FEW for extent in extents):
            continue
        if not own.isdisjoint(moving) or bench.legality.between(line.copied("", bench), node, Facts()):
            return []
        lines[memlet] = line
    return list(lines.values())


def _lines_of_rows(node: Map, bench: Bench) -> list[_Line]:
    """What the points read with a stride along the last axis and alike in all rows, where that is all that jumps."""
    tasklets = [inner for inner in node.body.nodes if isinstance(inner, Tasklet)]
    inside = bench.defines(node)
    if len(tasklets) < len(node.body.nodes) or any(
        not inside.isdisjoint(at.values) for pair in node.ranges for at in pair
    ):
        return []
    if jumps(Region(tuple(replace(tasklet, reads=()) for tasklet in tasklets)), node.params[-1:], bench.program) != [0]:
        return []
    lines: dict[Memlet, _Line] = {}
    for value, memlet in (read for tasklet in tasklets for read in tasklet.reads):
        if not _jumps(value, memlet, node.params[-1], bench):
            continue
        moving = frozenset(param for at in memlet.index for param in at.values)
        axes = [axis for axis, param in enumerate(node.params) if param in moving]
        extents = [stop - start for start, stop in node.ranges]
        line = _Line(
            memlet,
            value,
            tuple(node.params[axis] for axis in axes),
            tuple(node.ranges[axis][0] for axis in axes),
            tuple(extents[axis] for axis in axes),
            node.span,
        )
        if all((extent.constant or _FEW) < _FEW for extent in line.extents):
            continue
        rows = [extent for axis, extent in enumerate(extents) if axis not in axes]
        if not moving.isdisjoint(inside - set(node.params)) or not _is_small(line, rows, tasklets, bench):
            return []
        if bench.legality.between(line.copied("", bench), node, Facts()):
            return []
        lines[memlet] = line
    return list(lines.values())


def _is_small(line: _Line, rows: Sequence[Index], tasklets: Sequence[Tasklet], bench: Bench) -> bool:
    """Whether rows have it in common, and NumPy takes more memory for them than a copy of it."""
    if all((extent.constant or _FEW) < _ROWS for extent in rows):
        return False
    if len(line.extents) == 1 and any(_is_never_less(extent, line.extents[0]) for extent in rows):
        return True
    written = {memlet.container for tasklet in tasklets for memlet, _ in tasklet.writes}
    fresh = all(bench.containers[name].storage is Storage.TRANSIENT for name in written)
    return fresh and sum(len(tasklet.lets) for tasklet in tasklets) > 1


def _is_never_less(extent: Index, other: Index) -> bool:
    difference = (extent - other).constant
    return difference is not None and difference >= 0


def _jumps(value: Value, memlet: Memlet, param: Value, bench: Bench) -> bool:
    """Whether a read moves with a parameter, and not to the neighbour in memory."""
    return jumps(Region((Tasklet(reads=((value, memlet),)),)), (param,), bench.program) != [0]


def _reading(reduce: Reduce, places: Mapping[Memlet, Memlet]) -> Reduce:
    """The sum with some of what it reads in other places."""
    terms = reduce.input
    assert isinstance(terms, Elements)
    body = tuple(_tasklet_reading(tasklet, places) for tasklet in terms.body)
    return replace(reduce, input=replace(terms, body=body))


def _tasklet_reading(tasklet: Tasklet, places: Mapping[Memlet, Memlet]) -> Tasklet:
    return replace(tasklet, reads=tuple((value, places.get(memlet, memlet)) for value, memlet in tasklet.reads))
