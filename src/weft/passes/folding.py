"""Expressions worked out as far as they are known.

before:  logical_and(greater_equal(%n.1, 0), less(add(2.0:f8, 0.5:f8), %x.2))       n is an extent
after:   less(2.5:f8, %x.2)

Numbers are computed by NumPy, in the type of the operation, and only where it does so silently: what may warn, raise or
wrap stays. Functions whose last bits are open (exp, pow...) stay, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from weft.analysis.conditions import as_index
from weft.analysis.ranges import fits_int64, is_nonnegative
from weft.ir.dtypes import PY_INT, DType, ScalarType
from weft.ir.exprs import Const, Expr, Index, Op, Value, const, const_index, index, op
from weft.ir.substitution import Substitution
from weft.support.records import record

_COMPARISONS: Final = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))
_ORDERS: Final = frozenset(("less", "less_equal", "greater", "greater_equal"))
_LOGIC: Final = frozenset(("logical_and", "logical_or", "logical_xor", "logical_not"))
_EVALUATED: Final = _COMPARISONS | _LOGIC | frozenset((
    "add", "subtract", "multiply", "divide", "negative", "positive", "absolute", "fabs", "sqrt", "square", "maximum",
    "minimum", "floor", "ceil", "trunc", "rint", "copysign", "isnan", "isinf", "isfinite", "signbit",
    "bitwise_and", "bitwise_or", "bitwise_xor", "invert",
))  # fmt: skip
_EVALUATED_ON_INTEGERS: Final = frozenset(("floor_divide", "remainder"))
_EXACT_FLOATS: Final = 1 << 53  # integers up to here are floats
_OVERFLOWS: Final[dict[str, Callable[[Index, Index], Index]]] = {
    "add_overflows": lambda a, b: a + b,
    "subtract_overflows": lambda a, b: a - b,
    "multiply_overflows": lambda a, b: a * b,
}


@record
class Folding(Substitution):
    """Replace values, and fold what they make known."""

    def expr(self, expr: Expr) -> Expr:
        """An expression, folded."""
        found = self.done.get(expr)
        if found is None:
            found = self.done[expr] = self._folded(expr)
        return found

    def _folded(self, expr: Expr) -> Expr:
        match expr:
            case Op(name=name, args=args, type=type_):
                parts = tuple([self.expr(arg) for arg in args])
                same = all(new is old for new, old in zip(parts, args, strict=True))
                whole = expr if same else op(name, parts, type_)
                return fold(whole)
            case Value() if expr in self.values:
                return self.values[expr]
            case Index() if not expr.values.isdisjoint(self.values):
                return Substitution.expr(Substitution(self.values), expr)
            case _:
                return expr


def fold(expr: Op) -> Expr:
    """An operation whose operands are folded; itself where nothing is known."""
    known = [_number(arg) for arg in expr.args]
    if all(number is not None for number in known):
        result = _evaluate(expr, known)
        if result is not None:
            return result
    if expr.name == "select":
        return _select(expr)
    if expr.name in _LOGIC:
        return _logic(expr)
    if expr.name in _COMPARISONS:
        return _comparison(expr)
    if expr.name in _OVERFLOWS:
        return _overflow(expr)
    if expr.name in ("minimum", "maximum") and expr.type == PY_INT:
        return _extreme(expr)
    return _identity(expr, known)


def _number(expr: Expr) -> bool | int | float | complex | None:
    match expr:
        case Const(value=value):
            return value
        case Index():
            return expr.constant
        case _:
            return None


# ---- numbers --------------------------------------------------------------------------------------------------------


def _evaluate(expr: Op, known: list[Any]) -> Expr | None:
    """What NumPy makes of numbers, if it says nothing about it."""
    types = [arg.type.dtype for arg in expr.args]
    if any(dtype.kind == "c" for dtype in (*types, expr.type.dtype)):
        return None
    operands = [dtype.numpy.type(number) for dtype, number in zip(types, known, strict=True)]
    try:
        with np.errstate(all="raise"):
            result = _apply(expr, types[0], operands)
    except (FloatingPointError, OverflowError):
        return None
    if result is None or result.dtype != expr.type.dtype.numpy or result != result:  # noqa: PLR0124  (a NaN)
        return None
    return literal(result.item(), expr.type)


def _apply(expr: Op, source: DType, operands: list[Any]) -> Any:
    name = expr.name
    if name == "cast":
        return _cast(operands[0], source, expr.type.dtype)
    if source.kind in "iu" and not _stays_exact(name, [int(number) for number in operands], source):
        return None
    if name in _EVALUATED or (name in _EVALUATED_ON_INTEGERS and source.kind in "iu"):
        return getattr(np, name)(*operands)
    return None


def _stays_exact(name: str, operands: list[int], dtype: DType) -> bool:
    """Whether a result in integers is not wrapped around, and a quotient is that of the integers themselves."""
    low, high = dtype.bounds
    match name, operands:
        case "divide", _:
            return all(abs(number) <= _EXACT_FLOATS for number in operands)
        case "add", [a, b]:
            return low <= a + b <= high
        case "subtract", [a, b]:
            return low <= a - b <= high
        case "multiply", [a, b]:
            return low <= a * b <= high
        case "negative" | "absolute", [a]:
            return low <= -a <= high
        case "square", [a]:
            return a * a <= high
        case _:
            return True


def _cast(number: Any, source: DType, target: DType) -> Any:
    """To a type that holds the number; any other cast depends on the machine, or rounds and may overflow."""
    result = np.asarray(number).astype(target.numpy)[()]
    exact = target.kind in "bf" or source.kind in "biu"
    return result if exact and (target is DType.BOOL or result.item() == number.item()) else None


def literal(number: Any, type_: ScalarType) -> Expr:
    """A number of a type; Python's ints are polynomials."""
    return const_index(int(number)) if type_ == PY_INT else const(number, type_)


# ---- conditions -----------------------------------------------------------------------------------------------------


def _select(expr: Op) -> Expr:
    condition, chosen, other = expr.args
    if isinstance(condition, Const):
        side = chosen if condition.value else other
    elif chosen is other:
        side = chosen
    else:
        return _chosen_truth(expr) or _chosen_number(expr) or _chosen_extreme(expr) or expr
    return side if side.type == expr.type else expr


def _chosen_truth(expr: Op) -> Expr | None:
    """`b if a else a` of truth values, as `a and b` is lowered: no choice, but one operation."""
    condition, chosen, other = expr.args
    if any(arg.type.dtype is not DType.BOOL for arg in (expr, *expr.args)):
        return None
    if other == condition or _is_const(other, truth=False):
        return op("logical_and", (condition, chosen), expr.type)
    if chosen == condition or _is_const(chosen, truth=True):
        return op("logical_or", (condition, other), expr.type)
    return None


def _is_const(expr: Expr, *, truth: bool) -> bool:
    return isinstance(expr, Const) and bool(expr.value) is truth


def _chosen_number(expr: Op) -> Expr | None:
    """`0 if a == 0 else 1` of a number that is 0 or 1: the number itself."""
    condition, *sides = expr.args
    if expr.type != PY_INT or not isinstance(condition, Op) or condition.name != "equal":
        return None
    number, to = (as_index(arg) for arg in condition.args)
    chosen, other = (_number(arg) for arg in sides)
    if number is None or to is None or to.constant != chosen or {chosen, other} != {0, 1}:
        return None
    is_one_of_them = len(number.values) == 1 and all((x.low, x.high) == (0, 1) for x in number.values)
    return number if is_one_of_them and number == index(next(iter(number.values))) else None


def _chosen_extreme(expr: Op) -> Expr | None:
    """`b if b < a else a` of integers: the smaller one. As such it is known to be no larger than either."""
    condition, *sides = expr.args
    if isinstance(condition, Op) and condition.name == "cast" and condition.args[0].type.dtype is DType.BOOL:
        condition = condition.args[0]
    if expr.type != PY_INT or not isinstance(condition, Op) or condition.name not in _ORDERS:
        return None
    left, right = (as_index(arg) for arg in condition.args)
    chosen, other = (as_index(arg) for arg in sides)
    if left is None or right is None or {chosen, other} != {left, right}:
        return None
    smaller = (condition.name in ("less", "less_equal")) is (chosen == left)
    return op("minimum" if smaller else "maximum", (left, right), PY_INT)


def _logic(expr: Op) -> Expr:
    if any(arg.type.dtype is not DType.BOOL for arg in expr.args):
        return expr
    if expr.name == "logical_not":
        (inner,) = expr.args
        if isinstance(inner, Op) and inner.name == "logical_not":
            return _typed(inner.args[0], expr)
        return expr
    if expr.name == "logical_xor":
        return expr
    left, right = expr.args
    decides = expr.name == "logical_or"
    for this, other in ((left, right), (right, left)):
        if isinstance(this, Const):
            return const(decides, expr.type) if bool(this.value) is decides else _typed(other, expr)
    return _typed(left, expr) if left is right else expr


def _typed(part: Expr, whole: Op) -> Expr:
    """A part in place of the whole: Python's bool and NumPy's look different from outside."""
    return part if part.type == whole.type else whole


def _comparison(expr: Op) -> Expr:
    left, right = (as_index(arg) for arg in expr.args)
    if left is None or right is None:
        return expr
    truth = _decided(expr.name, left - right)
    return expr if truth is None else const(truth, expr.type)


def _decided(name: str, difference: Index) -> bool | None:
    """Whether `difference` compares with 0 as the name says, if bounds tell."""
    match name:
        case "greater_equal":
            return _sign(difference)
        case "less_equal":
            return _sign(-difference)
        case "greater":
            return _opposite(_sign(-difference))
        case "less":
            return _opposite(_sign(difference))
        case _:
            equal = difference.constant == 0
            apart = is_nonnegative(difference - 1) or is_nonnegative(-difference - 1)
            return (name == "equal") is equal if equal or apart else None


def _sign(polynomial: Index) -> bool | None:
    """Whether it is >= 0, if bounds tell."""
    if is_nonnegative(polynomial):
        return True
    return False if is_nonnegative(-polynomial - 1) else None


def _opposite(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _overflow(expr: Op) -> Expr:
    left, right = (as_index(arg) for arg in expr.args)
    if left is None or right is None:
        return expr
    result = _OVERFLOWS[expr.name](left, right)
    if fits_int64(result):
        return const(False, expr.type)
    return expr if result.constant is None else const(True, expr.type)


def _extreme(expr: Op) -> Expr:
    left, right = (as_index(arg) for arg in expr.args)
    if left is None or right is None:
        return expr
    larger = _sign(left - right)
    if larger is None and _sign(right - left):
        larger = False
    return expr if larger is None else left if larger is (expr.name == "maximum") else right


# ---- operations that do nothing -------------------------------------------------------------------------------------


def _identity(expr: Op, known: list[Any]) -> Expr:
    first = expr.args[0]
    if first.type != expr.type or expr.type.dtype.kind not in "iuf":
        return expr
    match expr.name, known:
        case ("positive" | "conjugate" | "real", _) if _is_named_for_nothing(first):
            return first
        case ("cast", _):
            return first
        case ("multiply", [_, 1]) | ("divide", [_, 1]):
            return first
        case ("multiply", [1, _]):
            return _typed(expr.args[1], expr)
        case ("subtract", [_, 0]) if not _is_minus_zero(known[1]):
            return first
        case ("add", [_, 0]) if expr.type.dtype.kind in "iu":
            return first
        case ("add", [0, _]) if expr.type.dtype.kind in "iu":
            return _typed(expr.args[1], expr)
        case _:
            return expr


def _is_named_for_nothing(expr: Expr) -> bool:
    """Products of sizes stand in a `positive` so that only their value as a whole counts, not each factor."""
    return not isinstance(expr, Index) or all(len(monomial) < 2 for monomial, _ in expr.terms)


def _is_minus_zero(number: Any) -> bool:
    return isinstance(number, float) and str(number) == "-0.0"
