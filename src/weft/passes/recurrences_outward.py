"""A recurrence along the rows of a triangle, in which rows need only those before them, runs column by column.

before:  for i in 0:n { for j in 0:i { write A[i, j] = f(A[i, :j], A[j, :j], A[j, j]) }; write A[i, i] = g(A[i, :i]) }
after:   for j in 0:n { write A[j, j] = g(A[j, :j]); for i in j+1:n { write A[i, j] = f(A[i, :j], A[j, :j], A[j, j]) } }

In a row an element needs the one before it, so the elements of a row wait for each other; those of a column do not, and
their loop is a map. Two turns of the inner loop change places where one has the earlier row and the later column; what
is done at the end of a row then comes after the turns in later rows and columns left of it. The legality core is asked
about both, with row and column of each instance as unknowns in just that order. Worth it where an element is a sum,
which hides that the elements of a column are no neighbours, and where neither loop is a map as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from weft.analysis.facts import Constraint, Facts
from weft.ir.exprs import Index, Value, index
from weft.ir.nodes import Continue, Loop, Node, Program, Reduce, Region
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, values_defined_in
from weft.passes.base import Bench, Session, rewrite_regions
from weft.passes.loop_bodies import named_sites, shapes_fixed, straight
from weft.passes.wording import why_serial
from weft.support.records import record


@record
class RecurrencesOutward:
    """Take the loop along a row out of the loop over rows."""

    name: ClassVar[str] = "recurrences-outward"

    def run(self, program: Program, session: Session) -> Program:
        """The program with triangles column by column."""
        loops = [node for node in all_nodes(program.body) if isinstance(node, Loop)]
        if not any(_inner_loop(outer, outer.body.nodes) for outer in loops):
            return program
        bench = Bench(self.name, program, session)
        named = named_sites(program)
        return rewrite_regions(bench, lambda region, facts: _convert(region, facts, bench, named))


def _convert(region: Region, facts: Facts, bench: Bench, named: frozenset[int]) -> Region:
    nodes: list[Node] = []
    for node in region.nodes:
        triangle = _triangle(node, named, bench) if isinstance(node, Loop) else None
        made = None if triangle is None else _by_columns(triangle, facts, bench, named)
        nodes.append(node if made is None else made)
        facts = facts.after(node)
    return region if tuple(nodes) == region.nodes else Region(tuple(nodes))


@record
class _Triangle:
    """A loop over rows: what a turn of the loop along a row does, and what is done at the end of a row."""

    rows: Loop
    columns: Loop
    element: tuple[Node, ...]
    end: tuple[Node, ...]

    @property
    def step(self) -> int:
        """1 or -1: that of both loops."""
        return self.rows.step.constant or 1


def _inner_loop(outer: Loop, body: tuple[Node, ...]) -> Loop | None:
    """The loop that a body begins with, from the start of the outer one to its present turn."""
    inner = next((node for node in body if isinstance(node, Loop)), None)
    if inner is None or outer.carries or outer.step.constant not in (1, -1):
        return None
    same = inner.start is outer.start and inner.step is outer.step and inner.stop is index(outer.var)
    return inner if same and not inner.carries else None


def _triangle(rows: Loop, named: frozenset[int], bench: Bench) -> _Triangle | None:
    if _inner_loop(rows, rows.body.nodes) is None:
        return None
    body = straight(rows, named)
    columns = _inner_loop(rows, body) if body else None
    if not body or columns is None or body[0] is not columns:
        return None
    element = straight(columns, named)
    if element is None or not any(isinstance(node, Reduce) for node in element):
        return None
    changed = frozenset((rows.var, columns.var)).union(*(values_defined_in(node) for node in element))
    return _Triangle(rows, columns, element, body[1:]) if shapes_fixed(element, changed, bench) else None


def _by_columns(triangle: _Triangle, facts: Facts, bench: Bench, named: frozenset[int]) -> Loop | None:
    rows, columns = triangle.rows, triangle.columns
    inside = facts.inside(rows, bench.legality.memory)[0]
    if why_serial(rows, facts, bench.legality, named) is None:
        return None
    if why_serial(columns, inside, bench.legality, named) is None or not _may_turn(triangle, facts, bench):
        return None
    row = _row_after(triangle, bench)
    element = with_fresh_values(triangle.element, bench.number, {rows.var: row, columns.var: rows.var})
    start = index(rows.var) + triangle.step
    down = replace(columns, var=row, start=start, stop=rows.stop, body=Region((*element, Continue(()))))
    if why_serial(down, inside, bench.legality, named) is not None:
        return None
    bench.note(f"the loop over {columns.var.name} goes around that over {rows.var.name}", columns, done=True)
    return replace(rows, body=Region((*triangle.end, down, Continue(()))))


def _row_after(triangle: _Triangle, bench: Bench) -> Value:
    """A variable for the rows after that of the outer loop's turn."""
    rows, present = triangle.rows, index(triangle.rows.var)
    up = triangle.step > 0
    floor, ceiling = (present + 1, rows.stop - 1) if up else (rows.stop + 1, present - 1)
    return replace(rows.var, id=bench.number(), floor=floor, ceiling=ceiling)


# ---- legality -------------------------------------------------------------------------------------------------------


def _may_turn(triangle: _Triangle, facts: Facts, bench: Bench) -> bool:
    """Whether instances that change places do not meet: two elements, or an element and the end of an earlier row."""
    rows, columns = triangle.rows, triangle.columns
    row, column = (bench.value(var.name, var.type) for var in (rows.var, columns.var))
    facts = _within(triangle, index(rows.var), index(columns.var), facts)
    later = with_fresh_values(triangle.element, bench.number, {rows.var: row, columns.var: column})
    other = _within(triangle, index(row), index(column), facts)
    apart = (index(row) - index(rows.var), index(columns.var) - index(column))  # a later row, an earlier column
    if bench.legality.between(triangle.element, later, _ordered(triangle, apart, other), instances=True):
        return False
    if not triangle.end:
        return True
    ended = with_fresh_values(triangle.end, bench.number, {rows.var: row})
    between = (index(rows.var) - index(row), index(row) - index(columns.var))  # an earlier row, a later column
    return not bench.legality.between(ended, triangle.element, _ordered(triangle, between, facts), instances=True)


def _within(triangle: _Triangle, row: Index, column: Index, facts: Facts) -> Facts:
    """An element of the triangle."""
    rows = triangle.rows
    return _ordered(triangle, (rows.stop - row, row - column, column - rows.start + triangle.step), facts)


def _ordered(triangle: _Triangle, distances: tuple[Index, ...], facts: Facts) -> Facts:
    """Each distance is one step or more, in the direction of the loops."""
    return facts.also(
        tuple(Constraint((distance * triangle.step - 1).substitute(facts.definitions)) for distance in distances)
    )
