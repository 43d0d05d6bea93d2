"""What all sums of a map read with a stride, and alike, is copied first, so that the sums run along memory.

before:  map (i) in [0:n] { alloc T; reduce add T[] = elements at (k) over [m] { A[i, k] * B[k, c] }; ... }
after:   alloc P[m]
         map (k) in [0:m] { x = B[k, c]; write P[k] = x }
         map (i) in [0:n] { alloc T; reduce add T[] = elements at (k) over [m] { A[i, k] * P[k] }; ... }

Legal where the map writes nothing of what is copied. It pays where such reads are all that keeps a sum from running
along memory: one strided read then serves all points. Where the map has no points, there may be nothing to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final

from weft.analysis.facts import Facts
from weft.ir.exprs import Index, Value, const_index, index
from weft.ir.nodes import Elements, Guard, Map, Memlet, Node, Program, Reduce, Region, Tasklet
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench, Session
from weft.passes.interchange_maps import jumps
from weft.passes.loop_bodies import is_less, only_if
from weft.passes.map_walk import MapWalk
from weft.passes.open_sites import OpenSite
from weft.support.records import record
from weft.support.spans import Span

_FEW: Final = 16  # so short a line is not worth a copy


@record
class PackLines:
    """Copy the strided operands that the sums of a map share."""

    name: ClassVar[str] = "pack-lines"

    def run(self, program: Program, session: Session) -> Program:
        """The program with these sums along memory."""
        maps = (node for node in all_nodes(program.body) if isinstance(node, Map))
        if not any(isinstance(inner, Reduce) for node in maps for inner in node.body.nodes):
            return program
        return MapWalk(Bench(self.name, program, session), _packed).program()


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
    if not copies:
        return None
    walk.bench.note("what all points read with a stride is copied first", node, done=True)
    for start, stop in node.ranges:
        if (stop - start).constant is None:
            copies = [only_if(is_less(start, stop), copies, node.span, walk.bench)]
    return [*allocs, *copies, replace(node, body=Region(tuple(nodes)))]


@record
class _Line:
    """What a sum reads at `memlet`, which moves with these of its parameters alone."""

    memlet: Memlet
    read: Value
    params: tuple[Value, ...]
    extents: tuple[Index, ...]
    span: Span | None

    def copied(self, name: str, bench: Bench) -> Map:
        """The map that copies it to an array; one that only reads it, if that has no name."""
        params = tuple(replace(param, id=bench.number()) for param in self.params)
        x = replace(self.read, id=bench.number())
        points = {old: index(new) for old, new in zip(self.params, params, strict=True)}
        source = replace(self.memlet, index=tuple(at.substitute(points) for at in self.memlet.index))
        writes = ((Memlet(name, tuple(index(param) for param in params)), x),) if name else ()
        move = Tasklet(reads=((x, source),), writes=writes, id=bench.number(), span=self.span)
        ranges = tuple((const_index(0), extent) for extent in self.extents)
        return Map(params=params, ranges=ranges, body=Region((move,)), id=bench.number(), span=self.span)

    def place(self, name: str) -> Memlet:
        """Where the sum finds its element."""
        return Memlet(name, tuple(index(param) for param in self.params))


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
        line = _Line(memlet, value, params, extents, reduce.span)
        if all((extent.constant or _FEW) < _FEW for extent in extents):
            continue
        if not own.isdisjoint(moving) or bench.legality.between(line.copied("", bench), node, Facts()):
            return []
        lines[memlet] = line
    return list(lines.values())


def _jumps(value: Value, memlet: Memlet, param: Value, bench: Bench) -> bool:
    """Whether a read moves with a parameter, and not to the neighbour in memory."""
    return jumps(Region((Tasklet(reads=((value, memlet),)),)), (param,), bench.program) != [0]


def _reading(reduce: Reduce, places: Mapping[Memlet, Memlet]) -> Reduce:
    """The sum with some of what it reads in other places."""
    terms = reduce.input
    assert isinstance(terms, Elements)
    body = tuple(
        replace(tasklet, reads=tuple((value, places.get(memlet, memlet)) for value, memlet in tasklet.reads))
        for tasklet in terms.body
    )
    return replace(reduce, input=replace(terms, body=body))
