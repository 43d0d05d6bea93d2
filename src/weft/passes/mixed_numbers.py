"""Numbers that are of one of two types, told apart by a tag: `s = 0.0` before a loop that adds NumPy's numbers to it.

`Mixed` is such a number as three values. Where the part of the lower type has not changed since `base`, the number can
be kept as one value of the higher type, and code that asks for the tag only to convert the one or take the other
(`merged`) needs no tag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from weft.ir.dtypes import NP_BOOL, PY_INT, ScalarType
from weft.ir.exprs import Const, Expr, Index, Op, Value, const, const_index, index, op, substitute, values_in
from weft.ir.nodes import (
    Branch,
    Break,
    Continue,
    Let,
    Loop,
    Memlet,
    Node,
    Region,
    Tasklet,
    View,
    While,
    Yield,
)
from weft.ir.substitution import Substitution
from weft.ir.traverse import all_nodes, inner_regions
from weft.support.records import record

_RANK: Final = "biufc"


@record
class Mixed:
    """`low` where the tag is `low_tag`, otherwise `high`. The type of `low` converts to that of `high`."""

    tag: Value
    low: Value
    high: Value
    low_tag: int

    @property
    def is_low(self) -> Expr:
        """The condition under which it is of the lower type."""
        return op("equal", (self.tag, const_index(self.low_tag)), NP_BOOL)

    def raised(self) -> Expr:
        """It, as a number of the higher type."""
        return op("select", (self.is_low, op("cast", (self.low,), self.high.type), self.high), self.high.type)


@record
class Known:
    """A mixed number that is also there as one value of the higher type.

    Where its tag says low, so does that of `base`, with the same two parts; where it says high, the low part is
    `unused`.
    """

    mixed: Mixed
    number: Value
    tag: Value  # its tag, in the sense of the base's
    base: Mixed | None
    unused: Expr


def is_tag(value: Value) -> bool:
    """Whether a value can be a tag."""
    return value.type == PY_INT and value.low == 0 and value.high == 1


def mixed_in(targets: Iterable[Value | str]) -> list[Mixed]:
    """The mixed numbers among the targets of a loop or branch: a tag, and the two parts after it."""
    found: list[Mixed] = []
    items = list(targets)
    for tag, first, second in zip(items, items[1:], items[2:], strict=False):
        if isinstance(tag, str) or isinstance(first, str) or isinstance(second, str) or not is_tag(tag):
            continue
        if not first.name == second.name == tag.name.removesuffix("_is"):
            continue
        if converts(first.type, second.type):
            found.append(Mixed(tag, first, second, 0))
        elif converts(second.type, first.type):
            found.append(Mixed(tag, second, first, 1))
    return found


def converts(low: ScalarType, high: ScalarType) -> bool:
    """Whether Python's arithmetic takes a number of one type for one of the other: 1 for 1.0, 1.0 for np.float32(1)."""
    first, second = _RANK.index(low.dtype.kind), _RANK.index(high.dtype.kind)
    return low.python and low != high and (first < second if high.python else first <= second)


def raised_literal(expr: Expr, type_: ScalarType) -> Expr | None:
    """A literal converted to a type, None for anything else."""
    value = expr.constant if isinstance(expr, Index) else expr.value if isinstance(expr, Const) else None
    if value is None or type_ == PY_INT:
        return None
    try:
        with np.errstate(all="raise"):
            return const(type_.dtype.numpy.type(value).item(), type_)
    except (OverflowError, FloatingPointError):
        return None


def tag_of(expr: Expr) -> tuple[Value | int | None, bool]:
    """The value or number that a tag expression stands for, and whether 0 and 1 are exchanged."""
    turned = False
    while True:
        if isinstance(expr, Index):
            if expr.constant is not None:
                return expr.constant ^ turned, False
            match expr.terms:
                case (((Value() as value,), 1),):
                    return value, turned
                case _:
                    return None, False
        if isinstance(expr, Value):
            return expr, turned
        match expr:
            case Op(name="select", args=(Op(name="equal", args=(inner, zero)), yes, no)):
                pair = tuple(x.constant if isinstance(x, Index) else None for x in (zero, yes, no))
                if pair not in ((0, 0, 1), (0, 1, 0)):
                    return None, False
                turned ^= pair == (0, 1, 0)
                expr = inner
            case _:
                return None, False


def steady_literals(region: Region) -> Mapping[Expr, Expr]:
    """What loops carry and are given one literal only, whichever way it comes: that literal."""
    given: dict[Expr, list[Expr | View]] = {}
    for node in all_nodes(region):
        if isinstance(node, Loop):
            ways = [last.values for last in _continues(node.body, 0)]
            for number, carry in enumerate(node.carries):
                if isinstance(carry.target, Value):
                    given[carry.target] = [carry.init, *(values[number] for values in ways)]
    found: dict[Expr, Expr] = {}
    for target in given:
        behind, pending = set[Expr | View](), [target]
        while pending:
            fresh = [x if isinstance(x, View) else bare(x) for x in given[pending.pop()]]
            pending += [item for item in fresh if item in given and item not in behind]
            behind.update(fresh)
        literals = behind - given.keys()
        only = next(iter(literals)) if len(literals) == 1 else None
        if isinstance(only, Const) or (isinstance(only, Index) and only.constant is not None):
            found[target] = only
    return found


def _continues(region: Region, depth: int) -> Iterator[Continue | Break]:
    """What gives the carries of a loop their values."""
    for node in region.nodes:
        match node:
            case Continue() if depth == 0:
                yield node
            case Break(depth=out) if out == depth:
                yield node
            case _:
                deeper = depth + isinstance(node, Loop | While)
                for inner in inner_regions(node):
                    yield from _continues(inner, deeper)


def bare(expr: Expr) -> Expr:
    """A bare value, out of a polynomial if need be."""
    match expr:
        case Index(terms=(((Value() as value,), 1),)):
            return value
        case _:
            return expr


# ---- branches that ask for a tag ------------------------------------------------------------------------------------


def asks_for(condition: Expr) -> tuple[Value, int] | None:
    """The tag a condition asks for, and its value where the condition holds."""
    match condition:
        case Op(name="equal", args=(left, right)) if isinstance(right, Index) and right.constant in (0, 1):
            value = index(left).terms if isinstance(left, Index | Value) else ()
            match value:
                case (((Value() as tag,), 1),) if is_tag(tag):
                    return tag, right.constant
                case _:
                    return None
        case _:
            return None


def merged(node: Branch, known: Known, first_tag: int) -> list[Node] | None:
    """A branch on the tag of a mixed number, if both sides do the same to it: once, to the number as one value.

    Results in which the sides differ are chosen by the tag; both are there.
    """
    mixed = known.mixed
    low_side, high_side = (node.then, node.orelse) if first_tag == mixed.low_tag else (node.orelse, node.then)
    low, high = plain_side(low_side), plain_side(high_side)
    if low is None or high is None or len(low[0]) != len(high[0]):
        return None
    raised = Substitution({mixed.high: known.number})
    matching = _Matching({}, _conversions(known))
    nodes: list[Node] = []
    for left, right in zip(low[0], high[0], strict=True):
        wanted = raised.tasklet(right)
        if not matching.tasklet(left, wanted):
            return None
        nodes.append(wanted)
    lets: list[Let] = []
    for result, given, other in zip(node.results, low[1], high[1], strict=True):
        if isinstance(result, str) or isinstance(given, View) or isinstance(other, View):
            return None
        same, wanted = matching.renamed(given), raised.expr(other)
        plain = substitute(given, matching.names) if same != wanted else wanted
        chosen = wanted if same == wanted else op("select", (mixed.is_low, plain, other), result.type)
        lets.append(Let(result, chosen))
    return [*nodes, Tasklet(lets=tuple(lets), span=node.span)] if lets else nodes


def merged_choices(expr: Expr, known: Mapping[Value, Known]) -> Expr:
    """An expression in which tags of mixed numbers no longer choose between doing the same to the one and the other."""
    if not isinstance(expr, Op) or not values_in(expr) & known.keys():
        return expr
    made = op(expr.name, (merged_choices(argument, known) for argument in expr.args), expr.type)
    asked = asks_for(made.args[0]) if made.name == "select" else None
    number = known.get(asked[0]) if asked is not None else None
    if asked is None or number is None:
        return made if made != expr else expr
    low, high = made.args[1:] if asked[1] == number.mixed.low_tag else made.args[:0:-1]
    wanted = substitute(high, {number.mixed.high: number.number})
    return wanted if replaced(low, _conversions(number)) == wanted else made


def _conversions(known: Known) -> Mapping[Expr, Expr]:
    """The lower number converted to the higher type, also as the conversion of a Python int reads: the number."""
    low, type_ = known.mixed.low, known.mixed.high.type
    same: Expr = index(low) if low.type == PY_INT else low
    return {op("cast", (low,), type_): known.number, op("cast", (same,), type_): known.number}


def plain_side(region: Region) -> tuple[list[Tasklet], tuple[Expr | View, ...]] | None:
    """The tasklets of a side that holds nothing else, and what it gives."""
    *inside, last = region.nodes or (None,)
    tasklets = [node for node in inside if isinstance(node, Tasklet)]
    return (tasklets, last.values) if isinstance(last, Yield) and len(tasklets) == len(inside) else None


@record
class _Matching:
    """Two pieces of code that do the same under other names."""

    names: dict[Value, Expr]
    conversions: Mapping[Expr, Expr]

    def renamed(self, expr: Expr) -> Expr:
        """An expression of the first piece in the names of the second."""
        return substitute(replaced(expr, self.conversions), self.names)

    def tasklet(self, left: Tasklet, right: Tasklet) -> bool:
        shape = [len(t.reads) == len(u.reads) and len(t.lets) == len(u.lets) and len(t.writes) == len(u.writes)
                 for t, u in ((left, right),)]  # fmt: skip
        if not all(shape):
            return False
        for (value, memlet), (other, same) in zip(left.reads, right.reads, strict=True):
            if not self._element(memlet, same) or not self._define(value, other):
                return False
        for let, match in zip(left.lets, right.lets, strict=True):
            if self.renamed(let.expr) != match.expr or let.warn != match.warn:
                return False
            if not self._define(let.value, match.value):
                return False
        return all(
            self._element(memlet, same) and self.renamed(expr) == wanted
            for (memlet, expr), (same, wanted) in zip(left.writes, right.writes, strict=True)
        )

    def _define(self, value: Value, other: Value) -> bool:
        self.names[value] = other
        return replace(value, id=0) == replace(other, id=0)

    def _element(self, memlet: Memlet, other: Memlet) -> bool:
        return Substitution(self.names).memlet(memlet) == other


def replaced(expr: Expr, others: Mapping[Expr, Expr]) -> Expr:
    """An expression with some parts, found by identity, replaced."""
    if expr in others:
        return others[expr]
    if isinstance(expr, Op) and values_in(expr):
        return op(expr.name, (replaced(argument, others) for argument in expr.args), expr.type)
    return expr
