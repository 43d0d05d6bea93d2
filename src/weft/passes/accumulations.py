"""Recognising how a value grows: `s + e`, `s - e`, `s * e`, `max(s, e)`, `s if not c else s + e`, a flag that is set.

in:   the code of one iteration, the value at its beginning, the expression at its end
out:  a `Step`: the operation, the element `e` of this iteration, and the definitions that serve only this

The element depends on nothing that is carried. NumPy's minimum and maximum give NaN once there is one; Python's
`max(s, e)` and `if e > s: s = e` pass over it, so elements that are NaN are replaced by what never wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from weft.ir.dtypes import NP_BOOL, ScalarType
from weft.ir.exprs import Const, Expr, Index, Op, Value, const_index, index, op, values_in
from weft.ir.neutral import neutral
from weft.ir.traverse import used_values
from weft.passes.mixed_numbers import is_tag, tag_of
from weft.passes.straight_code import Code, Write
from weft.passes.tasklets import can_warn
from weft.support.abi import WarnSite
from weft.support.records import record

# As many choices and updates are looked at for one value: branches that meet again and again have 2**n ways through.
_MOST_FORMS: Final = 100
_SUMS: Final = ("add", "subtract")
_EXTREMES: Final = ("minimum", "maximum")
_LOGICAL: Final = ("logical_and", "logical_or")
_GROWING: Final = {"greater": "maximum", "greater_equal": "maximum", "less": "minimum", "less_equal": "minimum"}
_MIRRORED: Final = {
    "greater": "less", "less": "greater", "greater_equal": "less_equal", "less_equal": "greater_equal",
}  # fmt: skip


@record
class Step:
    """`s = combine(s, element)`.

    `op` is the operation between elements, `combine` that between the value before the loop and their total: the same,
    or `subtract`, or a comparison (`greater`: take the total where it is greater; `condition` is that of one
    iteration), or `set` (take `chosen` where any element is true). `warn` is where NumPy reports what the operation
    raises. `private` are the definitions that serve nothing else.
    """

    op: str
    combine: str
    element: Expr
    warn: int = -1
    private: frozenset[Value] = frozenset()
    chosen: Expr | None = None
    condition: Expr | None = None


@record
class Recogniser:
    """Looks for steps of one value, `start`, in the code of an iteration."""

    code: Code
    start: Value
    warn_sites: Sequence[WarnSite]
    beside: frozenset[Value] = frozenset()  # definitions that may look at the value as it grows

    def step(self, end: Expr, write: Write | None = None) -> Step | None:
        """The step that leads to an expression; `write` is the one that stores it, if one does."""
        found = self._step(end, iter(range(_MOST_FORMS)))
        if found is None or not self._is_sound(found, write):
            return None
        return found

    # ---- shapes of updates ----

    def _step(self, end: Expr, forms: Iterator[int]) -> Step | None:
        if next(forms, None) is None:
            return None
        expr, private, warn = self.code.defined(end, self.start)
        found = self._form(expr, warn, forms)
        return None if found is None else replace(found, private=found.private | private)

    def _form(self, expr: Expr, warn: int, forms: Iterator[int]) -> Step | None:
        match expr:
            case Index():
                rest = expr - self.start
                plain = self.start in expr.values and self.start not in rest.values
                return Step("add", "add", rest) if plain else None
            case Op(name="add" | "multiply" | "minimum" | "maximum" | "logical_and" | "logical_or" as name):
                left, right = expr.args
                return self._sum(name, name, left, right, warn) or self._sum(name, name, right, left, warn)
            case Op(name="subtract", args=(left, right)):
                return self._sum("add", "subtract", left, right, warn)
            case Op(name="select", args=(condition, yes, no)):
                return self._choice(condition, yes, no, forms)
            case _:
                return None

    def _sum(self, operation: str, combine: str, start: Expr, element: Expr, warn: int) -> Step | None:
        expr, copies, _ = self.code.defined(start, self.start)
        return Step(operation, combine, element, warn, copies) if self._is_start(expr) else None

    def _is_start(self, expr: Expr) -> bool:
        if expr == self.start or (self.start.type.dtype.kind == "i" and expr is index(self.start)):
            return True
        return is_tag(self.start) and tag_of(expr) == (self.start, False)

    def _choice(self, condition: Expr, yes: Expr, no: Expr, forms: Iterator[int]) -> Step | None:
        extreme = self._extreme(condition, yes, no)
        if extreme is not None:
            return extreme
        if self.start in self.code.origins(condition):
            return None
        for kept, taken, then in ((no, yes, True), (yes, no, False)):
            expr, copies, _ = self.code.defined(kept, self.start)
            if self._is_start(expr):
                step = self._masked(condition, taken, forms, then=then)
                return None if step is None else replace(step, private=step.private | copies)
        return self._both(condition, yes, no, forms)

    def _stays(self, expr: Expr) -> bool:
        return self._is_start(self.code.defined(expr, self.start)[0])

    def _masked(self, condition: Expr, end: Expr, forms: Iterator[int], *, then: bool) -> Step | None:
        """A step that is taken under a condition only."""
        step = self._step(end, forms)
        if step is None:
            return self._flag(condition, end, then=then)
        type_ = self.start.type
        if step.chosen is not None:
            holds = condition if then else op("logical_not", (condition,), NP_BOOL)
            return replace(step, element=op("logical_and", (holds, step.element), NP_BOOL))
        nothing = neutral(step.op, type_)
        pair = (step.element, nothing) if then else (nothing, step.element)
        return replace(step, element=op("select", (condition, *pair), type_), condition=None)

    def _flag(self, condition: Expr, end: Expr, *, then: bool) -> Step | None:
        """A value that does not change from one iteration to the next, taken once a condition holds."""
        if not isinstance(end, Const) and not (isinstance(end, Index) and end.constant is not None):
            return None
        holds = condition if then else op("logical_not", (condition,), NP_BOOL)
        return Step("logical_or", "set", holds, chosen=end)

    def _both(self, condition: Expr, yes: Expr, no: Expr, forms: Iterator[int]) -> Step | None:
        first, second = self._step(yes, forms), self._step(no, forms)
        if first is None or second is None or (first.op, first.combine) != (second.op, second.combine):
            return None
        if first.chosen is not None or first.combine in _GROWING:
            return None
        element = op("select", (condition, first.element, second.element), self.start.type)
        return replace(
            first, element=element, private=first.private | second.private, warn=max(first.warn, second.warn)
        )

    def _extreme(self, condition: Expr, yes: Expr, no: Expr) -> Step | None:
        """`e if e > s else s`, in either order of the comparison."""
        compared, private, _ = self.code.defined(condition, self.start)
        if not isinstance(compared, Op) or compared.name not in _GROWING or not self._stays(no):
            return None
        left, right = compared.args
        name = compared.name
        if self._stays(left):
            left, right, name = right, left, _MIRRORED[name]
        if not self._stays(right) or not self._same(left, yes):
            return None
        copies = self.code.defined(right, self.start)[1] | self.code.defined(no, self.start)[1]
        operation, type_ = _GROWING[name], self.start.type
        element = left
        if type_.dtype.kind == "f":
            is_nan = op("isnan", (element,), NP_BOOL)
            element = op("select", (is_nan, neutral(operation, type_), element), type_)
        elif type_.dtype.kind not in "iu":
            return None
        return Step(operation, name, element, private=private | copies, condition=compared)

    def _same(self, left: Expr, right: Expr) -> bool:
        """Whether two expressions are one value, by name or by definition."""
        if left == right:
            return True
        first, _, _ = self.code.defined(left, self.start)
        second, _, _ = self.code.defined(right, self.start)
        if first == second:
            return True
        one, other = (self.code.reads.get(x) if isinstance(x, Value) else None for x in (first, second))
        # An element read twice is one value if nothing is written to it in between.
        return one is not None and one == other and one.container not in self.code.changing

    # ---- soundness ----

    def _is_sound(self, step: Step, write: Write | None) -> bool:
        """The element is free of what is carried, and nobody else sees the value grow."""
        own = step.private | {self.start}
        needed = self.code.origins(step.element)
        if own & needed or not self._is_supported(step):
            return False
        if any(value in self.code.supposed and self._may_warn(value) for value in needed):
            return False
        passed_over = step.private | self.beside
        others = [self.code.uses(value) for value in self.code.order if value not in passed_over]
        others += [used_by(other) for other in self.code.writes if other is not write]
        others += [frozenset(used_values(node)) for node in self.code.reduces.values()]
        return not any(used & own for used in others)

    def _may_warn(self, value: Value) -> bool:
        let = self.code.lets.get(value)
        return let is not None and let.warn >= 0 and can_warn(let.expr) and self.code.calmed(value) is let

    def _is_supported(self, step: Step) -> bool:
        kind, element = self.start.type.dtype.kind, step.element.type.dtype
        if step.combine == "set":
            return element.kind == "b"
        if element is not self.start.type.dtype:
            return False
        if step.op in _LOGICAL:
            return kind == "b"
        if kind in "iu":
            return self.start.type.python or not self._reports_overflow(step)
        if kind == "c":
            return step.op == "add"
        return kind == "f"

    def _reports_overflow(self, step: Step) -> bool:
        """Operators on NumPy's integers tell when they overflow: with another order, at another place."""
        if step.op in _EXTREMES or step.warn < 0:
            return False
        return self.warn_sites[step.warn].operation.startswith("scalar ")


def used_by(write: Write) -> frozenset[Value]:
    """The values that are written, and those that say where."""
    return values_in(write.expr).union(*(coordinate.values for coordinate in write.memlet.index))


def combined(step: Step, before: Expr, total: Value, type_: ScalarType) -> Expr:
    """The value of a type after the loop, from the one before it and the total of the elements."""
    first = raised(before, type_)
    if step.combine == "set" and step.chosen is not None:
        return op("select", (total, step.chosen, first), type_)
    if step.combine in _GROWING:
        return op("select", (op(step.combine, (total, first), NP_BOOL), total, first), type_)
    if type_.python and type_.dtype.kind == "i" and step.combine == "add":
        return _polynomial(first) + total
    return op(step.combine, (first, total), type_)


def raised(expr: Expr, type_: ScalarType) -> Expr:
    """An expression as one of a type."""
    return expr if expr.type == type_ else op("cast", (expr,), type_)


def _polynomial(expr: Expr) -> Index:
    if isinstance(expr, Index | Value):
        return index(expr)
    assert isinstance(expr, Const)
    assert isinstance(expr.value, int)
    return const_index(expr.value)
