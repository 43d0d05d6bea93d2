"""What rows of a map have in common: elements that several of them read, results that several of them compute.

    map (i, j) { write B[i, j] = f(A[i + 1, j]) - f(A[i, j]) }    three rows read 4 elements for 6, compute 4 f for 6

Two operations are the same if they have one name and the same operands, two reads if their elements are.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Final

from weft.ir.exprs import Expr, Index, Op, Value, index
from weft.ir.nodes import Map, Memlet, Tasklet
from weft.support.records import record

FEW: Final = 3  # rows that have much in common: with more the registers hold less and less of it
_MUCH: Final = 0.2  # of reads and operations: as much pays wherever the arrays are


@record
class Together:
    """What rows read and compute side by side, everything once; `apart`: reads and operations of rows one by one."""

    reads: int
    operations: int
    apart: int

    @property
    def shared(self) -> float:
        """The part of it that rows one by one would do once more."""
        return 1.0 - (self.reads + self.operations) / self.apart if self.apart else 0.0


def have_much_in_common(node: Map, rows: int) -> bool:
    """Whether so many rows of a map should run side by side even where all that they read is near."""
    return 1 < rows <= FEW and rows_together(node, rows).shared >= _MUCH


def rows_together(node: Map, rows: int) -> Together:
    """What so many rows of a map of tasklets read and compute. Rows are along the last parameter but one."""
    numbers = _Numbers()
    for step in range(rows):
        numbers.add_row(node, {node.params[-2]: index(node.params[-2]) + step}, step)
    reads = sum(isinstance(key[0], Memlet) for key in numbers.known)
    return Together(reads, len(numbers.known) - reads, numbers.apart)


@record(frozen=False)
class _Numbers:
    """Numbers of reads and operations, the same for the same ones."""

    known: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])
    apart: int = 0

    def add_row(self, node: Map, moved: dict[Value, Index], step: int) -> None:
        """All that one row does. What it reads after a write of its own is its own."""
        values: dict[Value, object] = {}
        written: set[str] = set()
        for tasklet in node.body.nodes:
            if not isinstance(tasklet, Tasklet):
                continue
            for value, memlet in tasklet.reads:
                place = replace(memlet, index=tuple(at.substitute(moved) for at in memlet.index))
                values[value] = self._note((place, step if memlet.container in written else -1))
            for let in tasklet.lets:
                values[let.value] = self._number(let.expr, values, moved)
            for _, expr in tasklet.writes:
                self._number(expr, values, moved)
            written |= {memlet.container for memlet, _ in tasklet.writes}

    def _note(self, key: tuple[object, ...]) -> int:
        self.apart += 1
        return self.known.setdefault(key, len(self.known))

    def _number(self, expr: Expr, values: dict[Value, object], moved: dict[Value, Index]) -> object:
        if isinstance(expr, Op):
            return self._note((expr.name, expr.type, *(self._number(arg, values, moved) for arg in expr.args)))
        if isinstance(expr, Index):
            return expr.substitute(moved)
        return values.get(expr, expr) if isinstance(expr, Value) else expr
