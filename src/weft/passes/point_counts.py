"""How many points there are, as the turns of a loop over points count them.

in:   the numbers, lengths and questions of a turn, as they come
out:  for each number of points which it is: of all of them, or of those a mask chooses

Two counts are the same number where the same is asked of the same elements; a number that is counted is the one that a
loop knows afterwards which collects these points.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from weft.ir.exprs import Expr, Index, Op, Value, index, values_in
from weft.ir.nodes import Node, Reduce, Tasklet, View
from weft.ir.substitution import Substitution
from weft.passes.folding import Folding


class PointCounts:
    """The numbers of points in a turn."""

    def __init__(self, extents: Sequence[Value]) -> None:
        self.points = index(extents[0])
        self.lengths: dict[Value, Index] = dict.fromkeys(extents, self.points)
        self.hidden: set[Value] = set()  # what a part of the points has another value for
        self._counted: dict[object, Index] = {}  # what is asked of points -> how many there are
        self._asked: dict[str | Value, object] = {}  # numbers that are such counts
        self._collected: dict[object, Value] = {}  # counts that a loop which collects these points knows

    # -- what a turn says

    def ask(self, number: str, question: object) -> None:
        """A number counts points."""
        self._asked[number] = question

    def read(self, value: Value, number: str) -> bool:
        """A number is read; whether it is a count of points."""
        if number not in self._asked:
            return False
        self._asked[value] = self._asked[number]
        self.hidden.add(value)
        return True

    def measure(self, value: Value, expr: Expr) -> bool:
        """A value is what an expression is; whether that is a length, of the points that were counted."""
        match expr:
            case Op(name="cast", args=(Value() as number,)) if number in self._asked:
                question = self._asked[value] = self._asked[number]
                self.lengths[value] = self._counted.setdefault(question, index(value))
                return True
            case _:
                return False

    def collect(self, question: object, number: Value) -> Index | None:
        """A loop collects points and counts them again; how many that are."""
        self._collected.setdefault(question, number)
        self.hidden.add(number)
        return self._counted.get(question)

    # -- what is known

    def length(self, extent: Index) -> Index | None:
        """The number of points that an extent is."""
        found = extent.substitute(self.lengths)
        return found if found in self.lengths.values() else None

    def is_apart(self, values: Iterable[Value]) -> bool:
        """Whether values have nothing to do with how many points there are."""
        return self.hidden.union(self.lengths).isdisjoint(values)

    def settled(self, expr: Expr) -> tuple[Expr, set[Index]] | None:
        """What an expression is as long as there are points, and of which: then their number must not matter."""
        if self.is_apart(values_in(expr)):
            return expr, set()
        found = Substitution(self.lengths).expr(expr)
        some = {value: index(replace(value, low=1)) for length in self.lengths.values() for value in length.values}
        settled = Folding(some).expr(found)
        left = values_in(settled)
        if not self.is_apart(left) or not left.isdisjoint(value for at in some.values() for value in at.values):
            return None
        used = values_in(found)
        return settled, {length for length in self.lengths.values() if not length.values.isdisjoint(used)}

    # -- what is left of counting where points are collected

    def is_known(self, number: str | Value) -> bool:
        """Whether it is a count of points that are collected."""
        return self._asked.get(number) in self._collected

    def is_count(self, number: str) -> bool:
        """Whether it counts points that nobody collects."""
        return number in self._asked and not self.is_known(number)

    def known(self, length: Index) -> Index:
        """A number of points as the loop knows it that collects them."""
        known = {self._counted[asked]: number for asked, number in self._collected.items() if asked in self._counted}
        return index(known[length]) if length in known else length

    def without_counts(self, node: Node) -> Node | None:
        """A node without counts of what is collected; None where nothing is left of it."""
        match node:
            case Reduce(output=View(container=name)):
                return None if self.is_known(name) else node
            case Tasklet(reads=reads, lets=lets):
                reads = tuple(read for read in reads if not self.is_known(read[0]))
                lets = tuple(let for let in lets if not self.is_known(let.value))
                return replace(node, reads=reads, lets=lets) if reads or lets else None
            case _:
                return node


def question(
    expr: Expr, tasklets: Sequence[Tasklet], param: Value, length: Index | None, versions: Mapping[str, int]
) -> object:
    """What is asked of each point, as a term that is the same wherever the same is asked of the same arrays."""
    reads = {value: memlet for tasklet in tasklets for value, memlet in tasklet.reads}
    lets = {let.value: let.expr for tasklet in tasklets for let in tasklet.lets}

    def term(expr: Expr) -> object:
        match expr:
            case Value() if expr in reads:
                memlet = reads[expr]
                return memlet.container, versions.get(memlet.container, 0), tuple(map(term, memlet.index))
            case Value():
                return term(lets[expr]) if expr in lets else None if expr == param else expr
            case Op():
                return expr.name, expr.type, tuple(map(term, expr.args))
            case Index():
                return tuple((tuple(map(term, monomial)), factor) for monomial, factor in expr.terms)
            case _:
                return expr

    return term(expr), length
