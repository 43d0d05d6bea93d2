"""Rows of a map that read the same elements run side by side.

before:  map (i, j) in [1:n, 1:m] parallel { write B[i, j] = A[i - 1, j] + A[i, j] + A[i + 1, j] }
after:   map (i, j) in [1:n, 1:m] parallel abreast 6 { ... }

which is, if A and B are large:

    for (i = 1; i + 6 <= n; i += 6)
        for (j = 1; j < m; ++j) { B[i, j] = ...; B[i + 1, j] = ...; ...; B[i + 5, j] = ... }

Points of a map are independent by definition, so this needs no proof. Six rows read eight instead of three each, what
they compute of the same elements is computed once, and more streams keep memory busy. As many rows go abreast as have
room in the registers with all that they read.

In the caches one row after the other is faster, and so are short rows, which stay in the nearest cache as long as they
are needed: that is looked at when the program runs. But where rows have much in common (`analysis/side_by_side.py`), a
few of them go abreast always: nine points, fluxes between neighbours, derivatives of derivatives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar, Final

from weft.analysis.cost import computes_functions
from weft.analysis.lines import goes_along, is_moved
from weft.analysis.side_by_side import FEW, have_much_in_common, rows_together
from weft.ir.exprs import Index, Value, index
from weft.ir.nodes import Map, Memlet, Node, Program, Schedule, Tasklet
from weft.ir.traverse import memlets_of
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.passes.tasklets import is_plain
from weft.support.records import record

_MOST: Final = 6  # rows: more are more streams than the processor looks ahead in
_ROOM: Final = 28  # vectors that fit in the registers, beside what is computed
_LARGEST: Final = 128  # operations: the C compiler has to keep them apart
_LEFT: Final = 0.75  # of the lines that rows go along one by one, at most


@record
class JamRows:
    """Mark maps whose rows should run side by side."""

    name: ClassVar[str] = "jam-rows"

    def run(self, program: Program, session: Session) -> Program:
        """The program with these maps marked."""
        bench = Bench(self.name, program, session)
        body = rewrite_nodes(program.body, lambda node: _marked(node, bench))
        return program if body is program.body else replace(program, body=body)


def _marked(node: Node, bench: Bench) -> tuple[Node, ...] | None:
    if not isinstance(node, Map) or node.schedule is not Schedule.PARALLEL:
        return None
    count = _abreast(node, bench)
    if count == 1:
        return None
    large = "" if have_much_in_common(node, count) else " where the arrays do not fit in the caches"
    bench.note(f"{count} rows run side by side{large}", node, done=True)
    return (replace(node, abreast=count),)


def _abreast(node: Map, bench: Bench) -> int:
    """How many rows of a map should run side by side."""
    body = node.body.nodes
    if len(node.params) < 2 or not is_plain(node) or computes_functions(body):
        return 1
    row, line = node.params[-2:]
    touched = memlets_of(body)
    if row in _values(node.ranges[-1]) or not all(_is_along(memlet, line, bench) for memlet in touched):
        return 1
    for count in range(FEW, 1, -1):
        if have_much_in_common(node, count) and rows_together(node, count).operations <= _LARGEST:
            return count
    return _abreast_if_large(node, touched) if len(node.params) == 2 else 1


def _abreast_if_large(node: Map, touched: Iterable[Memlet]) -> int:
    """How many rows should run side by side where only the lines that they go along count."""
    row, line = node.params
    moving = {memlet for memlet in touched if {row, line} <= _used(memlet)}  # the others stay near anyway
    work = sum(len(inner.lets) for inner in node.body.nodes if isinstance(inner, Tasklet))
    for count in range(_MOST, 1, -1):
        together = _of_rows(moving, row, count)
        if len(together) <= _ROOM and count * work <= _LARGEST:
            lines = len(_lines(together, line)), count * len(_lines(moving, line))
            return count if lines[0] <= _LEFT * lines[1] and moving else 1
    return 1


def _values(bounds: tuple[Index, Index]) -> frozenset[Value]:
    return bounds[0].values | bounds[1].values


def _used(memlet: Memlet) -> frozenset[Value]:
    return frozenset[Value]().union(*(coordinate.values for coordinate in memlet.index))


def _is_along(memlet: Memlet, line: Value, bench: Bench) -> bool:
    """Whether the last parameter goes from one element to its neighbour, or does not move it."""
    along = not is_moved(memlet, line) or goes_along(memlet, line, bench.containers[memlet.container])
    return along and not memlet.conflict


def _lines(memlets: Iterable[Memlet], line: Value) -> set[tuple[object, ...]]:
    """The lines of memory along which elements lie: neighbours that are a constant apart are on the same."""

    def place(coordinate: Index) -> object:
        return tuple(term for term in coordinate.terms if term[0]) if line in coordinate.values else coordinate

    return {(memlet.container, *map(place, memlet.index)) for memlet in memlets}


def _of_rows(memlets: Iterable[Memlet], row: Value, count: int) -> set[Memlet]:
    """The elements at so many rows."""
    found: set[Memlet] = set()
    for step in range(count):
        moved = {row: index(row) + step}
        found |= {replace(m, index=tuple(at.substitute(moved) for at in m.index)) for m in memlets}
    return found
