"""What is put together from pieces is read where the pieces are: a map is cut where they meet.

before:  map (i) in [0:n - 1] { x = A[i]; write R[i + 1] = x }; map (i) in [0:1] { x = A[n - 1]; write R[i] = x }
         map (p) in [0:n] { x = R[p]; a = A[p]; write B[p] = x + a }
after:   map (p) in [0:1] { x = A[n - 1]; a = A[p]; write B[p] = x + a }
         map (p) in [1:n] { x = A[p - 1]; a = A[p]; write B[p] = x + a }

That is what np.roll, np.concatenate and np.pad leave behind. Points of a map are independent, so it may be cut
anywhere. Legal where the array has no other writers and is not seen otherwise, the order of the cuts is proved, every
part reads inside of one piece, on which no later one lies, and nothing overwrites what the pieces were copied from,
neither on the way to the reader nor in it. Worth it as long as the parts are few: the array then is never stored.
Edges, of a known width along the last parameter or along two, are rare.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import pairwise, product
from math import prod
from typing import ClassVar, Final

from weft.analysis.facts import Facts
from weft.analysis.uses import Uses, container_uses, written_by
from weft.ir.exprs import Expr, Index, Value, index
from weft.ir.nodes import Alloc, Map, Memlet, Node, Program, Region, Schedule, Storage, Tasklet
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench, Session, rewrite_regions
from weft.passes.dead_code import DropDeadCode
from weft.passes.tasklets import explicit, is_plain
from weft.support.records import record

_MOST_PARTS: Final = 27
_MOST_STEPS: Final = 600  # of all parts together: the C compiler takes long for more

Range = tuple[Index, Index]


@record
class ReadPieces:
    """Cut maps where the arrays they read were put together."""

    name: ClassVar[str] = "read-pieces"

    def run(self, program: Program, session: Session) -> Program:
        """The program without arrays that are only put together to be read."""
        uses = container_uses(program)
        if not any(use.writers > 1 and not use.escapes for use in uses.values()):
            return program
        bench = Bench(self.name, program, session)
        made = rewrite_regions(bench, lambda region, facts: _Walk(bench, uses).region(region, facts))
        return made if made is program else DropDeadCode(loop_sites=True).run(made, session)


@record
class _Piece:
    """A box of an array, each element a copy of `source`, by the parameters of the map that copied it."""

    box: tuple[Range, ...]
    places: tuple[tuple[Value, int, Index], ...]  # a parameter, the axis it moves along, and its offset there
    source: Memlet
    position: int  # of the map in its region

    def at(self, coordinates: Sequence[Index]) -> Memlet:
        """What the element there is a copy of."""
        known = {param: coordinates[axis] - offset for param, axis, offset in self.places}
        return replace(self.source, index=tuple(coordinate.substitute(known) for coordinate in self.source.index))


def _piece(node: Node, position: int) -> tuple[str, _Piece] | None:
    """The array and the piece of it that a map copies."""
    match node:
        case Map(body=Region(nodes=(Tasklet(reads=((value, source),), lets=(), writes=((target, expr),)),))):
            pass
        case _:
            return None
    if expr != value or target.conflict or target.container == source.container:
        return None
    ranges = dict(zip(node.params, node.ranges, strict=True))
    box: list[Range] = []
    places: list[tuple[Value, int, Index]] = []
    for axis, coordinate in enumerate(target.index):
        moving = [param for param in node.params if param in coordinate.values]
        if not moving:
            box.append((coordinate, coordinate + 1))
            continue
        offset = coordinate - index(moving[0])
        if len(moving) > 1 or moving[0] in offset.values:
            return None
        start, stop = ranges[moving[0]]
        box.append((start + offset, stop + offset))
        places.append((moving[0], axis, offset))
    if sorted(param.id for param, _, _ in places) != sorted(param.id for param in node.params):
        return None
    return target.container, _Piece(tuple(box), tuple(places), source, position)


@record(frozen=False)
class _Walk:
    """One region, from its first node on. `left`: how many writers of an array have not been met."""

    bench: Bench
    uses: dict[str, Uses]
    nodes: list[Node] = field(default_factory=list[Node])
    pieces: dict[str, list[_Piece]] = field(default_factory=dict[str, list[_Piece]])
    left: dict[str, int] = field(default_factory=dict[str, int])

    def region(self, region: Region, facts: Facts) -> Region:
        """The region with its maps cut."""
        changed = False
        for node in region.nodes:
            parts = self.cut(node, facts) if isinstance(node, Map) else None
            changed |= parts is not None
            self.note(node, [node] if parts is None else parts)
            facts = facts.after(node)
        return Region(tuple(self.nodes)) if changed else region

    def note(self, node: Node, parts: Sequence[Node]) -> None:
        """Go on behind a node, which has become these."""
        if isinstance(node, Alloc) and self.bench.containers[node.container].storage is Storage.TRANSIENT:
            use = self.uses.get(node.container)
            if use is not None and use.writers > 1 and not use.escapes:
                self.left[node.container], self.pieces[node.container] = use.writers, []
        written = {name for inner in all_nodes(Region((node,))) for name in written_by(inner)}
        for name in written & self.left.keys():
            self.left[name] -= 1
            found = [_piece(part, len(self.nodes) + number) for number, part in enumerate(parts)]
            mine = [piece for made in found if made is not None and made[0] == name for piece in (made[1],)]
            if len(mine) < len(parts):
                del self.left[name], self.pieces[name]
            else:
                self.pieces[name] += mine
        self.nodes += parts

    def cut(self, node: Map, facts: Facts) -> list[Node] | None:
        """The parts of a map, each of which reads from one piece of every array; None if it stays as it is."""
        if not is_plain(node):
            return None
        reads = list(dict.fromkeys(_reads(node)))
        put = [memlet for memlet in reads if self.left.get(memlet.container) == 0]
        if not put or self.is_overwritten(node, {memlet.container for memlet in put}, facts):
            return None
        cuts = self.cuts(node, put, facts)
        size = sum(len(inner.reads) + len(inner.lets) for inner in node.body.nodes if isinstance(inner, Tasklet))
        parts = 0 if cuts is None else prod(len(bounds) - 1 for bounds in cuts)
        if cuts is None or parts > _MOST_PARTS or parts * size > _MOST_STEPS:
            return None
        made: list[Node] = []
        for box in product(*(pairwise(bounds) for bounds in cuts)):
            part = self.part(node, box, put, facts)
            if part is None:
                return None
            made.append(part)
        names = ", ".join(sorted({memlet.container.partition(".")[0] for memlet in put}))
        self.bench.note(f"{names}: read where it was copied from, in {len(made)} parts", node, done=True)
        return made

    def is_overwritten(self, node: Map, names: Iterable[str], facts: Facts) -> bool:
        """Whether something a piece was copied from may have changed since, or does in this map."""
        overlap = self.bench.legality.memory.may_overlap
        for piece in (piece for name in names for piece in self.pieces[name]):
            since = Region((*self.nodes[piece.position + 1 :], node))
            written = {name for inner in all_nodes(since) for name in written_by(inner)}
            if any(overlap(name, piece.source.container, facts.apart) for name in written):
                return True
        return False

    def cuts(self, node: Map, put: Sequence[Memlet], facts: Facts) -> list[list[Index]] | None:
        """For every parameter the bounds of the parts, in order; None if that is not known."""
        bounds = {param: [start, stop] for param, (start, stop) in zip(node.params, node.ranges, strict=True)}
        for memlet in put:
            for axis, coordinate in enumerate(memlet.index):
                moving = [param for param in node.params if param in coordinate.values]
                if not moving:
                    continue
                offset = coordinate - index(moving[0])
                if len(moving) > 1 or moving[0] in offset.values:
                    return None
                for piece in self.pieces[memlet.container]:
                    for bound in piece.box[axis]:
                        if not self.insert(bounds[moving[0]], bound - offset, facts):
                            return None
        return list(bounds.values())

    def insert(self, bounds: list[Index], cut: Index, facts: Facts) -> bool:
        """Put a cut in its place; False if that is not known."""
        ask = self.bench.legality.is_nonnegative
        if cut in bounds or ask(bounds[0] - cut, facts) or ask(cut - bounds[-1], facts):
            return True
        for number in range(1, len(bounds)):
            if ask(bounds[number] - cut, facts):
                if not ask(cut - bounds[number - 1], facts):
                    return False
                bounds.insert(number, cut)
                return True
        return False

    def part(self, node: Map, box: tuple[Range, ...], put: Sequence[Memlet], facts: Facts) -> Map | None:
        """The map over a part of its points, with what it reads there."""
        ranges = dict(zip(node.params, box, strict=True))
        known: dict[Memlet, Memlet] = {}
        for memlet in put:
            piece = self.last_copied(memlet, ranges, facts)
            if piece is None:
                return None
            known[memlet] = piece.at(memlet.index)
        whole = explicit(node, self.bench)
        body = [_replaced(inner, known) for inner in whole.body.nodes if isinstance(inner, Tasklet)]
        params = tuple(replace(param, id=self.bench.number()) for param in node.params)
        renamed: dict[Value, Expr] = dict(zip(node.params, params, strict=True))
        fresh = with_fresh_values(tuple(body), self.bench.number, renamed)
        narrow = [_is_narrow(part, all_) for part, all_ in zip(box, node.ranges, strict=True)]
        return replace(
            whole,
            params=params,
            ranges=box,
            body=Region(tuple(fresh)),
            schedule=Schedule.RARE if narrow[-1] or sum(narrow) > 1 else whole.schedule,
            id=self.bench.number(),
        )

    def last_copied(self, memlet: Memlet, ranges: dict[Value, Range], facts: Facts) -> _Piece | None:
        """The piece that all of a part reads: the last one there, since later pieces lie over earlier ones."""
        ask = self.bench.legality.is_nonnegative
        first = [at.substitute({param: start for param, (start, _) in ranges.items()}) for at in memlet.index]
        last = [at.substitute({param: stop - 1 for param, (_, stop) in ranges.items()}) for at in memlet.index]
        for piece in reversed(self.pieces[memlet.container]):
            ends = list(zip(first, last, piece.box, strict=True))
            if all(ask(begin - low, facts) and ask(high - 1 - end, facts) for begin, end, (low, high) in ends):
                return piece
            if not any(ask(begin - high, facts) or ask(low - 1 - end, facts) for begin, end, (low, high) in ends):
                return None
        return None


def _is_narrow(part: Range, whole: Range) -> bool:
    """Whether a part of a range has a known number of points, as all of it has not."""
    return (part[1] - part[0]).constant is not None and (whole[1] - whole[0]).constant is None


def _reads(node: Map) -> Iterator[Memlet]:
    for inner in node.body.nodes:
        if isinstance(inner, Tasklet):
            yield from (memlet for _, memlet in inner.reads)


def _replaced(tasklet: Tasklet, known: dict[Memlet, Memlet]) -> Tasklet:
    return replace(tasklet, reads=tuple((value, known.get(memlet, memlet)) for value, memlet in tasklet.reads))
