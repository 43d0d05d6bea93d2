"""What a loop over a range asks of its turns: comparisons of its variable with places, and indices that go around.

in:   a loop whose body compares its variable with what does not change in it, or takes a remainder of it
out:  `Question`s: the place, and the answers before, at and behind it
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from weft.analysis.conditions import as_index
from weft.ir.dtypes import NP_BOOL, PY_INT
from weft.ir.exprs import Const, Expr, Index, Op, const, const_index, index, op
from weft.ir.nodes import Branch, Loop, Node, Tasklet, View, Yield
from weft.ir.traverse import all_nodes, values_defined_in
from weft.support.records import record

_SIGNS: Final = {  # whether a comparison holds where the difference is negative, 0, positive
    "equal": (False, True, False), "not_equal": (True, False, True), "less": (True, False, False),
    "less_equal": (True, True, False), "greater": (False, False, True), "greater_equal": (False, True, True),
}  # fmt: skip


@record
class Question:
    """`variable - at` has a sign that a comparison asks for; `flipped` where it asks for that of the opposite."""

    asked: Op
    at: Index
    flipped: bool

    def answer(self, sign: int) -> Const:
        """The answer where the difference has a sign."""
        return const(_SIGNS[self.asked.name][1 + (-sign if self.flipped else sign)], self.asked.type)

    @property
    def singles_out(self) -> bool:
        """Whether it asks for one turn."""
        return self.asked.name in ("equal", "not_equal")

    @property
    def cut(self) -> Index:
        """Where the turns begin for which the answer is another one."""
        return self.at + (self.answer(0).value == self.answer(-1).value)


def asked_in(loop: Loop) -> Iterator[Op]:
    """The comparisons on which branches in a loop depend."""
    return (part for node in all_nodes(loop.body) for expr in _asked_in(node) for part in _comparisons(expr))


@record
class Around:
    """An index that may go around: what it asks, each with the answer in those parts that are of few turns, if any."""

    number: Index
    asked: tuple[tuple[Op, bool | None], ...]
    beside: tuple[Index, ...] = ()  # that are not negative if it goes around once at most


def indices_around(loop: Loop) -> Iterator[Around]:
    """The remainders in a loop, `u[(i + 1) % n]`, and the indices that may count from the end, `u[i - 2]`."""
    own = values_defined_in(loop)
    for node in all_nodes(loop.body):
        for let in node.lets if isinstance(node, Tasklet) else ():
            match let.expr:
                case Op(name="remainder", args=args, type=type_) if type_ == PY_INT:
                    number, extent = map(as_index, args)
                    if number is not None and extent is not None:
                        yield _remainder(number, extent)
                case Op(name="select", args=(Op() as asked, wrapped, plain), type=type_) if type_ == PY_INT:
                    there, number = as_index(wrapped), as_index(plain)
                    if asked.name not in _SIGNS or number is None or there is None or (there - number).values & own:
                        continue
                    offset = number - index(loop.var)
                    if loop.start.constant is not None and all(value.low is not None for value in offset.values):
                        near = offset.constant is not None  # `u[i - 2]`, and not `u[i + 1 - n]`
                        yield Around(number, ((asked, True if near else None),))
                case _:
                    pass


def _remainder(number: Index, extent: Index) -> Around:
    """What a remainder would ask for if it were no division."""
    below, within = (op("less", (number, end), NP_BOOL) for end in (const_index(0), extent))
    return Around(number, ((below, True), (within, False)), (number + extent, extent * 2 - 1 - number))


def questions_of(loop: Loop, wanted: Iterable[Op]) -> Iterator[Question]:
    """What comparisons ask of the variable of a loop."""
    own = values_defined_in(loop)
    seen: set[Expr] = set()
    for asked in wanted:
        left, right = (as_index(side) for side in asked.args)
        if asked in seen or left is None or right is None:
            continue
        seen.add(asked)
        difference = left - right
        factors = [factor for monomial, factor in difference.terms if monomial == (loop.var,)]
        if len(factors) != 1 or abs(factors[0]) != 1:
            continue
        rest = difference - index(loop.var) * factors[0]
        if not rest.values & own:
            yield Question(asked, rest * -factors[0], factors[0] < 0)


def _asked_in(node: Node) -> Iterator[Expr]:
    """The expressions by which branches are decided, or from which that is computed."""
    match node:
        case Branch(condition=condition):
            yield condition
        case Tasklet(lets=lets):
            yield from (let.expr for let in lets if let.value.type.dtype.kind == "b")
        case Yield(values=values):
            yield from (value for value in values if not isinstance(value, View) and value.type.dtype.kind == "b")
        case _:
            return


def _comparisons(expr: Expr) -> Iterator[Op]:
    if not isinstance(expr, Op):
        return
    if expr.name in _SIGNS:
        yield expr
    else:
        for argument in expr.args:
            yield from _comparisons(argument)
