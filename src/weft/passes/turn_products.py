"""Products of a matrix and a vector in the turns of a loop, and what the turns of a block have in common.

in:   a `matmul` in a loop, the facts where it stands
out:  `TurnProduct`: which factor is the vector, how matrix and sum change from turn to turn; or None

    W @ x[i]            the matrix stays
    a[:, i] @ a[:, i:]  it begins one line further on in every turn: it `moves`
    L[i, :i] @ X[:i]    the sum has one term more in every turn: it `grows`, here at its end

What a sum that grows has in the first turn of a block, it has in all of them; the rest are the terms since then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from weft.analysis.facts import Facts
from weft.ir.exprs import Index, Value, const_index, index
from weft.ir.nodes import Axis, Container, Loop, MatMul, Storage, View
from weft.ir.substitution import Substitution
from weft.ir.traverse import values_defined_in
from weft.support.records import record

Growth = Literal["", "end", "front"]  # where the terms are that are new


@record
class TurnProduct:
    """The product of a turn: `vector` is the axis of the result that is one long, `other` the other one.

    `moves`: the matrix begins at the turn's number, and with `reach` of them there is nothing left of it.
    """

    loop: Loop
    node: MatMul
    result: Container
    vector: int
    moves: bool
    reach: Index
    grows: Growth = ""

    @property
    def other(self) -> int:
        """The axis of the result along which there are many."""
        return 1 - self.vector

    @property
    def factors(self) -> tuple[View, View]:
        """The vector and the matrix."""
        return (self.node.lhs, self.node.rhs) if self.vector == 0 else (self.node.rhs, self.node.lhs)

    @property
    def terms(self) -> Index:
        """How many there are in a sum."""
        return self.node.lhs.shape[1]

    def in_common(self, turn: Index) -> tuple[View, View]:
        """The vector and the matrix, with the terms that a turn has, in that turn and those after it."""
        vector, matrix = self.factors
        return self._as_in(vector, self.other, turn), self._as_in(matrix, self.vector, turn)

    def since(self, turn: Index) -> tuple[View, View]:
        """The vector and the matrix, with the terms that a turn does not have."""
        vector, matrix = self.factors
        return self._after(vector, self.other, turn), self._after(matrix, self.vector, turn)

    def _as_in(self, view: View, axis: int, turn: Index) -> View:
        if not self.grows:
            return view
        at = {self.loop.var: turn}
        axes = (replace(x, offset=x.offset.substitute(at)) if _goes(x, axis) else x for x in view.axes)
        return View(view.container, put(view.shape, axis, self.terms.substitute(at)), tuple(axes))

    def _after(self, view: View, axis: int, turn: Index) -> View:
        had = self.terms.substitute({self.loop.var: turn})
        axes = view.axes
        if self.grows == "end":
            axes = tuple(_shifted(x, axis, had) for x in axes)
        return View(view.container, put(view.shape, axis, self.terms - had), axes)

    def of_turns(self, view: View, first: Index, end: Index) -> View:
        """The vectors of some turns."""
        var = self.loop.var
        axes = tuple(
            Axis(axis.offset.substitute({var: first}), (*axis.terms, (self.vector, const_index(1))))
            if var in axis.offset.values
            else axis
            for axis in view.axes
        )
        return View(view.container, put(view.shape, self.vector, end - first), axes)

    def from_line(self, view: View, begin: Index) -> View:
        """A matrix or a result without its first lines."""
        left = view.shape[self.other] - begin
        axes = tuple(_shifted(axis, self.other, begin) for axis in view.axes)
        return View(view.container, put(view.shape, self.other, left), axes)

    def with_factors(self, vector: View, matrix: View, output: View, number: int) -> MatMul:
        """Another product of such factors."""
        lhs, rhs = (vector, matrix) if self.vector == 0 else (matrix, vector)
        return replace(self.node, lhs=lhs, rhs=rhs, output=output, id=number)


def turn_product(node: MatMul, loop: Loop, result: Container, facts: Facts) -> TurnProduct | None:
    """A product of a vector that is another one in every turn, and of a matrix that is not."""
    var = loop.var
    resolved = Substitution(facts.definitions)
    output, lhs, rhs = (resolved.view(view) for view in (node.output, node.lhs, node.rhs))
    node = replace(node, output=output, lhs=lhs, rhs=rhs)
    if not is_plain(node, loop) or result.storage is not Storage.TRANSIENT or result.rank != 1:
        return None
    shape = tuple(extent.substitute(facts.definitions) for extent in result.shape)
    for vector in (0, 1):
        extent, length = node.output.shape[vector].constant, node.output.shape[1 - vector]
        whole = node.output.axes == (Axis(const_index(0), ((1 - vector, const_index(1)),)),)
        if extent != 1 or length.constant == 1 or not whole or shape != (length,):
            continue
        moves = var in length.values
        grows = _growth(node, loop)
        if grows is None:
            continue
        found = TurnProduct(loop, node, result, vector, moves, length + index(var), grows)
        factors = found.in_common(loop.start)
        if goes_with_turns(factors[0], found) and stays_or_begins_later(factors[1], found):
            return found
    return None


def is_plain(node: MatMul, loop: Loop) -> bool:
    """Whether a product is that of two matrices, which are where the turn alone says."""
    views = (node.output, node.lhs, node.rhs)
    if node.scale is not None or node.adds or node.sweep or any(view.rank != 2 for view in views):
        return False
    used = frozenset[Value]().union(*(_values(view) for view in views))
    return not used & values_defined_in(loop) - {loop.var}


def _growth(node: MatMul, loop: Loop) -> Growth | None:
    """Where a sum has one term more in every turn, "" where it has as many; None where it does anything else."""
    terms, var = node.lhs.shape[1], loop.var
    if var not in terms.values:
        return ""
    if var in (terms - index(var) * (loop.step.constant or 0)).values:
        return None
    way = _way(node.lhs, 1, terms, var)
    return way if way == _way(node.rhs, 0, terms, var) else None


def _way(view: View, axis: int, terms: Index, var: Value) -> Growth | None:
    """Where the new terms of a factor are: its first element stays where it is, or its last one does."""
    along = [x for x in view.axes if _goes(x, axis)]
    if len(along) != 1 or len(along[0].terms) != 1:
        return None
    ((_, step),) = along[0].terms
    if var not in along[0].offset.values:
        return "end"
    return "front" if step.constant is not None and var not in (along[0].offset + terms * step).values else None


def goes_with_turns(view: View, product: TurnProduct) -> bool:
    """Whether the vectors of turns are the lines of a matrix."""
    var = product.loop.var
    moving = [axis for axis in view.axes if var in axis.offset.values]
    if len(moving) != 1 or moving[0].terms or any(var in extent.values for extent in view.shape):
        return False
    return var not in (moving[0].offset - index(var)).values and not any(_goes(x, product.vector) for x in view.axes)


def stays_or_begins_later(view: View, product: TurnProduct) -> bool:
    """Whether the matrix is the same in all turns, or begins one line further on in each and ends where it did."""
    var, other = product.loop.var, product.other
    moving = [axis for axis in view.axes if var in axis.offset.values]
    inner = view.shape[product.vector]
    if not product.moves:
        return not moving and not any(var in extent.values for extent in view.shape)
    if var in product.reach.values or var in inner.values or len(moving) != 1:
        return False
    return moving[0].terms == ((other, const_index(1)),) and var not in (moving[0].offset - index(var)).values


def put(shape: tuple[Index, ...], axis: int, extent: Index) -> tuple[Index, ...]:
    """A shape with another extent."""
    return (*shape[:axis], extent, *shape[axis + 1 :])


def _goes(axis: Axis, number: int) -> bool:
    return any(given == number for given, _ in axis.terms)


def _shifted(axis: Axis, number: int, by: Index) -> Axis:
    steps = [step for given, step in axis.terms if given == number]
    return replace(axis, offset=axis.offset + by * steps[0]) if steps else axis


def _values(view: View) -> frozenset[Value]:
    steps = (step for axis in view.axes for _, step in axis.terms)
    return frozenset[Value]().union(*(x.values for x in (*view.shape, *(axis.offset for axis in view.axes), *steps)))
