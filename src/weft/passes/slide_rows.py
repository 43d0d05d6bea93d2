"""Rows whose points read neighbours are computed in whole vectors, and the neighbours are found in registers.

before:  map (i, j) in [1:n, 1:m] { write B[i, j] = A[i, j - 1] + A[i, j + 1] + A[i + 1, j] }
after:   map (i, j) in [1:n, 1:m] slides { ... }

which is, with vectors of eight numbers (`codegen/sliding.py`):

    for (j = first; j < last; j += 8) { next = A[i, j + 8 : j + 16]; ... before = here; here = next; }

A vector of neighbours, `A[i, j - 1 : j + 7]`, lies across two lines of memory wherever `A[i, j : j + 8]` is one, and is
read at half the speed. So each line is read once, as it lies there, and the neighbours are put together from it and the
one before or after. Vectors overlap at both ends of a row, where some points are computed twice: no point reads what
another one writes, by definition, and all of them are read before any is written.

Only plain arithmetic of one type goes this way: what else there is, the C compiler makes vectors of.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar, Final

from weft.analysis.lines import Line, goes_along, is_moved, line_of
from weft.ir.dtypes import DType
from weft.ir.exprs import Const, Expr, Index, Op, Value
from weft.ir.nodes import Map, Node, Program, Schedule, Tasklet
from weft.ir.traverse import memlets_of, writes_last
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.support.records import record

_ARITHMETIC: Final = frozenset(("add", "subtract", "multiply", "divide", "negative", "positive", "square"))
_FAR: Final = 4  # elements of eight bytes: what a vector of 32 bytes has


@record
class SlideRows:
    """Mark maps of plain arithmetic that read neighbours along the last parameter."""

    name: ClassVar[str] = "slide-rows"

    def run(self, program: Program, session: Session) -> Program:
        """The program with these maps marked."""
        bench = Bench(self.name, program, session)
        body = rewrite_nodes(program.body, lambda node: _marked(node, bench))
        return program if body is program.body else replace(program, body=body)


def _marked(node: Node, bench: Bench) -> tuple[Node, ...] | None:
    if not isinstance(node, Map) or node.schedule in (Schedule.RARE, Schedule.JAMMED):
        return None
    if not node.body.nodes or not writes_last(node.body):
        return None
    tasklets = [inner for inner in node.body.nodes if isinstance(inner, Tasklet)]
    if not _all_go_along(tasklets, node.params[-1], bench) or not _reads_neighbours(tasklets, node.params[-1]):
        return None
    if not _is_plain_arithmetic(tasklets, node.params[-1], bench):
        return None
    bench.note("neighbours in a row are taken from registers", node, done=True)
    return (replace(node, slides=True),)


def _all_go_along(tasklets: Iterable[Tasklet], param: Value, bench: Bench) -> bool:
    """Whether the parameter moves all that is written, and of what is read some, by one element each."""
    written = [memlet for tasklet in tasklets for memlet, _ in tasklet.writes]
    if any(memlet.conflict or not is_moved(memlet, param) for memlet in written):
        return False
    moved = [memlet for memlet in memlets_of(tasklets) if is_moved(memlet, param)]
    return all(goes_along(memlet, param, bench.containers[memlet.container]) for memlet in moved)


def _reads_neighbours(tasklets: Iterable[Tasklet], param: Value) -> bool:
    """Whether two reads are on one line, and not farther apart than the elements of a vector."""
    places: dict[Line, list[int]] = {}
    for tasklet in tasklets:
        for _, memlet in tasklet.reads:
            if is_moved(memlet, param):
                line, place = line_of(memlet, param)
                places.setdefault(line, []).append(place)
    return any(0 < max(found) - min(found) <= _FAR for found in places.values())


def _is_plain_arithmetic(tasklets: Iterable[Tasklet], param: Value, bench: Bench) -> bool:
    """Whether all is arithmetic in one type of real numbers, and whatever is written differs from point to point."""
    dtypes = {bench.containers[memlet.container].dtype for memlet in memlets_of(tasklets)}
    if len(dtypes) != 1 or not dtypes <= {DType.FLOAT32, DType.FLOAT64}:
        return False
    (dtype,) = dtypes
    varying: set[Value] = set()
    for tasklet in tasklets:
        varying.update(value for value, memlet in tasklet.reads if is_moved(memlet, param))
        for let in tasklet.lets:
            if not _is_plain(let.expr, dtype):
                return False
            if _varies(let.expr, varying):
                varying.add(let.value)
        if not all(_is_plain(expr, dtype) and _varies(expr, varying) for _, expr in tasklet.writes):
            return False
    return True


def _is_plain(expr: Expr, dtype: DType) -> bool:
    match expr:
        case Op():
            known = expr.name in _ARITHMETIC and expr.type.dtype is dtype
            return known and all(_is_plain(argument, dtype) for argument in expr.args)
        case Const() | Value():
            return expr.type.dtype is dtype
        case Index():
            return False


def _varies(expr: Expr, varying: set[Value]) -> bool:
    if isinstance(expr, Op):
        return any(_varies(argument, varying) for argument in expr.args)
    return expr in varying
