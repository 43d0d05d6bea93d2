"""`a ** b` of an array and a Python number: for some exponents NumPy calls another function, which warns otherwise.

    a ** 2      ->  square(a)
    a ** 0.5    ->  sqrt(a)
    a ** n      ->  if n == 2: square(a), else if n == -1: reciprocal(a), else power(a, n)

It looks at the type of the number: 2 and -1 count as integers only, 0.5 only as a float.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from weft.ir.dtypes import NP_BOOL, PY_FLOAT, PY_INT, DType, ScalarType
from weft.ir.exprs import Const, Expr, const, op, python_const
from weft.ir.nodes import Branch, Elementwise, Region, Yield
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.values import Array, Operand, Scalar

_FAST: dict[ScalarType, dict[float, str]] = {
    PY_INT: {2: "square", 1: "positive", -1: "reciprocal"},
    PY_FLOAT: {0.5: "sqrt"},
}
# A number of Python's leaves its comparison with an array to the array, which sees it from the other side.
_FROM_THE_OTHER_SIDE: Final = {
    "less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal",
}  # fmt: skip
Body = Callable[[Sequence[Expr]], Expr]


def as_base(base: Expr, exponent: Expr) -> Expr:
    """The base of a power of numbers, whose root is the power 0.5 of C: infinities and zeros count as positive."""
    if base.type.dtype.kind != "f" or not isinstance(exponent, Const) or exponent.value != 0.5:
        return base
    infinity, negative = (const(sign * math.inf, base.type) for sign in (1, -1))
    positive = op("select", (op("equal", (base, negative), NP_BOOL), infinity, base), base.type)
    return op("add", (positive, const(0.0, base.type)), base.type)


def operator_ufunc(name: str, left: Operand, right: Operand) -> tuple[str, tuple[Operand, ...]]:
    """The ufunc that an operator of arrays calls."""
    if name in _FROM_THE_OTHER_SIDE and isinstance(left, Scalar) and isinstance(right, Array):
        turns = left.type.python and "c" in (
            left.type.dtype.kind,
            right.dtype.kind,
        )  # those of real numbers do not warn
        return (_FROM_THE_OTHER_SIDE[name], (right, left)) if turns else (name, (left, right))
    if name != "power" or not isinstance(left, Array) or not isinstance(right, Scalar) or not right.type.python:
        return name, (left, right)
    literal = _literal(right.expr)
    if literal is not None and left.dtype.kind in "fc":
        called = _FAST.get(right.type, {}).get(literal)
        if called is not None:
            return called, (left,)
    if literal == 2 and right.type == PY_INT:
        return "square", (left,)
    return name, (left, right)


def fast_powers(build: Builder, parts: Sequence[Scalar | Array]) -> list[tuple[Expr, str]]:
    """For which exponents, known at run time only, the operator calls which other function of its left operand."""
    left, right = parts
    if not isinstance(left, Array) or not isinstance(right, Scalar) or _literal(right.expr) is not None:
        return []
    if left.dtype is DType.BOOL and right.type == PY_INT:  # their square has another type than their powers
        build.guard(op("not_equal", (right.expr, python_const(2)), NP_BOOL), "this power is another function")
    others = _FAST.get(right.type, {}) if left.dtype.kind in "fc" else {}
    return [
        (op("equal", (right.expr, python_const(value)), NP_BOOL), called)
        for value, called in others.items()
        if called != "positive"  # that is what the power is anyway
    ]


def take_fast_ways(build: Builder, fast: Sequence[tuple[Expr, str]], body: Callable[[str], Body]) -> None:
    """Put the operation that was written last into a branch for each test, beside the function that is then called."""
    last = build.scope.nodes[-1]
    for test, name in fast:
        power = next(node for node in all_nodes(Region((last,))) if isinstance(node, Elementwise))
        elements = [value for value, _ in power.inputs]  # of the left operand, then of a mask
        other = replace(power, expr=body(name)(elements), warn=build.warn_site(name), id=build.new_id())
        build.scope.nodes.pop()
        with build.region() as then:
            for node in with_fresh_values([other], build.new_id, {}):
                build.emit(node)
            build.emit(Yield(()))
        with build.region() as orelse:
            build.emit(last)
            build.emit(Yield(()))
        then, orelse = build.close(then), build.close(orelse)
        build.emit(Branch(condition=test, then=then, orelse=orelse, id=build.new_id(), span=build.span))
        last = build.scope.nodes[-1]


def _literal(expr: Expr) -> float | None:
    literal = expr.value if isinstance(expr, Const) else getattr(expr, "constant", None)
    return literal if isinstance(literal, int | float) and not isinstance(literal, bool) else None
