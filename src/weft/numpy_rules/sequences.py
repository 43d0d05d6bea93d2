"""Arithmetic progressions: arange, linspace.

in:   numbers known at run time
out:  a new array of one axis, by NumPy's own formulas so that every bit agrees
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.ir.dtypes import NP_BOOL, PY_FLOAT, PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Index, const, const_index, op
from weft.numpy_rules.arguments import (
    Flag,
    Given,
    PythonRaises,
    extent_of,
    is_none,
    static_bool,
    static_dtype,
)
from weft.numpy_rules.arrays import (
    arithmetic,
    condition,
    convert_array,
    empty_array,
    generate,
    guard_assignable,
    known_dtype,
    map_array,
    scalar_of,
    steady,
)
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast, type_key
from weft.numpy_rules.indexing import span_length
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.scalars import int_expr, negate
from weft.numpy_rules.values import Array, Operand, Scalar
from weft.support.abi import MAX_EXTENT

ZERO, ONE = const_index(0), const_index(1)
_ARANGE: Any = np.arange
_LINSPACE: Any = np.linspace
_SAMPLES: dict[Any, Any] = {bool: True, int: 1, float: 1.0, complex: 1j}


def _sample(part: Scalar) -> Any:
    """A number of the operand's type, for NumPy to tell the type of the result."""
    key = type_key(part)
    return _SAMPLES[key] if key in _SAMPLES else key.type(1)


def _result_type(build: Builder, sample: Any) -> DType:
    return known_dtype(build, sample.dtype)


@numpy_rule(
    "numpy.arange",
    samples=(
        "arange(5)",
        "arange(0)",
        "arange(2, 9, 3)",
        "arange(9, 2, -2)",
        "arange(5.5)",
        "arange(0.1, 2.0, 0.3)",
        "arange(np.float32(3))",
        "arange(np.float32(3), np.float32(7.5), np.float32(0.7))",
        "arange(3, dtype=np.float32)",
        "arange(1.5, 4.0, dtype=np.float32)",
        "arange(2, 9, 3, dtype=np.float64)",
    ),
)
def lower_arange(
    build: Builder, start: Operand, stop: Given = None, step: Given = None, *, dtype: Given = None
) -> Operand:
    """`start + i * step`: exact for ints, by NumPy's formula for floats."""
    if stop is None or is_none(stop):
        start, stop = Scalar(ZERO), start
    parts = [scalar_of(build, start), scalar_of(build, stop)]
    parts.append(Scalar(ONE) if step is None or is_none(step) else scalar_of(build, step))
    target = static_dtype(build, dtype)
    if any(part.type.dtype.kind in "bc" for part in parts) or (target is not None and target.kind in "bc"):
        raise build.error("E250", "np.arange is compiled for ints and floats only", "convert the arguments")
    found = target or _result_type(build, _ARANGE(*map(_sample, parts)))
    if all(part.type.dtype.kind in "iu" for part in parts):
        return _int_range(build, [build.bounded(int_expr(build, part.expr)) for part in parts], found)
    if found.kind in "iu":
        raise build.error("E250", "np.arange of floats as integers is not compiled", "convert the result instead")
    return _float_range(build, parts, found)


def _int_range(build: Builder, parts: Sequence[Index], dtype: DType) -> Array:
    start, stop, step = parts
    known = step.constant
    if known == 0:
        raise PythonRaises("division by zero")
    if known is None:
        build.guard_nonnegative(step - 1, "arange with a step that is not positive")
    backwards = known is not None and known < 0
    length = span_length(build, stop, start) if backwards else span_length(build, start, stop)
    stride = -step if backwards else step
    if stride is not ONE:
        rounded = op("floor_divide", (length + stride - 1, stride), PY_INT)
        length = build.let_index(rounded, "len", low=0)
    target = empty_array(build, (extent_of(build, Scalar(length)),), dtype, name="range")
    if dtype.kind in "iu":
        for end in (start, start + step):
            guard_assignable(build, Scalar(end), dtype)
        generate(build, target.view, lambda point, _: cast(start + step * point[0], dtype))
    else:
        _fill(build, target, cast(start, dtype), cast(start + step, dtype))
    return target


def _fill(build: Builder, target: Array, first: Expr, second: Expr) -> None:
    """NumPy computes two elements, and the others from their difference in the type of the array."""
    type_ = ScalarType(target.dtype)
    first, second = steady(build, first), steady(build, second)
    delta = steady(build, op("subtract", (second, first), type_))

    def body(point: Sequence[Index], _: Sequence[Expr]) -> Expr:
        further = op("add", (first, op("multiply", (cast(point[0], target.dtype), delta), type_)), type_)
        return op("select", (condition("equal", point[0], ONE), second, further), type_)

    generate(build, target.view, body)


def _float_range(build: Builder, parts: Sequence[Scalar], dtype: DType) -> Array:
    start, stop, step = parts
    distance = scalar_of(build, arithmetic(build, "subtract", stop, start))
    build.guard(negate(_is_zero(build, step)), "division by zero")
    quotient = scalar_of(build, arithmetic(build, "divide", distance, step)).expr
    count = steady(build, quotient if quotient.type == PY_FLOAT else op("cast", (quotient,), PY_FLOAT))
    for bound in (-MAX_EXTENT, MAX_EXTENT):
        test = "less" if bound > 0 else "greater"
        build.guard(condition(test, count, const(float(bound), PY_FLOAT)), "array is too big")
    underflow = op("logical_and", (_is_zero(build, Scalar(count)), negate(_is_zero(build, distance))), NP_BOOL)
    build.guard(negate(underflow), "arange with a step that is too large")
    whole = build.let_index(
        op("cast", (op("ceil", (count,), PY_FLOAT),), PY_INT), "n", low=-MAX_EXTENT, high=MAX_EXTENT
    )
    length = build.let_index(op("maximum", (whole, ZERO), PY_INT), "len", low=0, high=MAX_EXTENT)
    following = scalar_of(build, arithmetic(build, "add", start, step))
    target = empty_array(build, (length,), dtype, name="range")
    _fill(build, target, cast(start.expr, dtype), cast(following.expr, dtype))
    return target


def _is_zero(build: Builder, operand: Scalar) -> Expr:
    expr = steady(build, operand.expr)
    zero = ZERO if expr.type == PY_INT else const(expr.type.dtype.numpy.type(0).item(), expr.type)
    return condition("equal", expr, zero)


@numpy_rule(
    "numpy.linspace",
    samples=(
        "linspace(0, 1)",
        "linspace(0.1, 2.3, 7)",
        "linspace(0, 10, 5, endpoint=False)",
        "linspace(3.0, 3.0, 4)",
        "linspace(1.5, 2.5, 1)",
        "linspace(np.float32(0.5), np.float32(2), 5)",
        "linspace(0, 10, 4, dtype=np.int64)",
        "linspace(0, 1, 0)",
    ),
)
def lower_linspace(
    build: Builder,
    start: Operand,
    stop: Operand,
    num: Operand | int = 50,
    endpoint: Flag = True,
    *,
    dtype: Given = None,
) -> Operand:
    """`i * step + start`, and the last element exactly `stop`."""
    first, last = scalar_of(build, start), scalar_of(build, stop)
    target = static_dtype(build, dtype)
    kind = _result_type(build, _LINSPACE(_sample(first), _sample(last), 2))
    ends = static_bool(build, endpoint, "endpoint")
    count = extent_of(build, num, "num")
    result = empty_array(build, (count,), kind, name="space")
    _fill_space(build, result, cast(first.expr, kind), cast(last.expr, kind), ends)
    if target is None or target is kind:
        return result
    if target.kind in "iu":
        result = map_array(build, result, kind, lambda x: op("floor", (x,), ScalarType(kind)))
    return convert_array(build, result, target)


def _fill_space(build: Builder, target: Array, first: Expr, last: Expr, ends: bool) -> None:
    dtype, type_ = target.dtype, ScalarType(target.dtype)
    (count,) = target.shape
    first, last = steady(build, first), steady(build, last)
    delta = steady(build, op("subtract", (last, first), type_))
    gaps = count - 1 if ends else count
    step = delta
    if not (gaps.constant is not None and gaps.constant <= 0):
        build.guard_nonnegative(gaps - 1, "linspace of fewer than two points")
        step = steady(build, op("divide", (delta, cast(gaps, dtype)), type_))
        tiny = op("logical_and", (_is_zero(build, Scalar(step)), negate(_is_zero(build, Scalar(delta)))), NP_BOOL)
        build.guard(negate(tiny), "linspace with a step that underflows")

    def body(point: Sequence[Index], _: Sequence[Expr]) -> Expr:
        between = op("add", (op("multiply", (cast(point[0], dtype), step), type_), first), type_)
        if not ends or (gaps.constant is not None and gaps.constant <= 0):
            return between
        return op("select", (condition("equal", point[0], gaps), last, between), type_)

    generate(build, target.view, body)
