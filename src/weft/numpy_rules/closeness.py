"""Arrays compared as a whole: isclose, allclose, array_equal.

in:   two arrays, or an array and a number; tolerances are finite numbers
out:  a test for every pair, or one Python bool

    np.isclose(x, y)   ->  (abs(x - y) <= atol + rtol * abs(y)) & isfinite(y) | (x == y), y as floating-point numbers
    np.allclose(x, y)  ->  bool(all of that)
"""

from __future__ import annotations

import numpy as np

from weft.ir.dtypes import NP_BOOL, PY_BOOL, PY_FLOAT, PY_INT, ScalarType
from weft.ir.exprs import Expr, const, const_index, op, python_const
from weft.numpy_rules.arguments import Flag, Given, static_bool
from weft.numpy_rules.arrays import arithmetic, as_array, as_data, convert_array, known_dtype, number, ufunc
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.indexing import narrow_axis
from weft.numpy_rules.reductions import all_of
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.values import Array, Operand, Scalar

Tolerance = Operand | float
_ZERO, _ONE = const_index(0), const_index(1)


@numpy_rule(
    "numpy.isclose",
    samples=(
        "isclose(f8[5], f8[5])",
        "isclose(f8[4, 3], v(2.5))",
        "isclose(f4[4, 3], f8[3], 1e-3, atol=v(0.5))",
        "isclose(i4[5], i8[5])",
        "isclose(v(3), u1[5], rtol=1)",
        "isclose(c8[5], c16[5], equal_nan=True)",
        "isclose(f8[5], b1[5])",
    ),
)
def lower_isclose(
    build: Builder, a: Operand, b: Operand, rtol: Tolerance = 1e-05, atol: Tolerance = 1e-08, equal_nan: Flag = False
) -> Operand:
    """Whether numbers differ by no more than a tolerance, pair by pair."""
    return _close(build, a, b, (rtol, atol), equal_nan)


@numpy_rule(
    "numpy.allclose",
    samples=("allclose(f8[5], f8[5])", "allclose(f8[4, 3], f8[3], v(0.5))", "allclose(f8[0], v(1.0))"),
)
def lower_allclose(
    build: Builder, a: Operand, b: Operand, rtol: Tolerance = 1e-05, atol: Tolerance = 1e-08, equal_nan: Flag = False
) -> Operand:
    """Whether all of them do."""
    tests = _close(build, a, b, (rtol, atol), equal_nan)
    return Scalar(op("cast", (all_of(build, tests),), PY_BOOL))


def _tolerance(build: Builder, given: Tolerance) -> Scalar:
    """A number; where it is not finite, NumPy has something to say."""
    data = Scalar(python_const(given)) if isinstance(given, int | float) else number(build, given)
    if not isinstance(data, Scalar) or data.type.dtype.kind not in "iuf":
        raise build.error("E240", "such tolerances are not compiled", "give numbers")
    if not isinstance(given, int | float) and data.type.dtype.kind == "f":
        build.guard(op("isfinite", (data.expr,), NP_BOOL), "a tolerance is not finite")
    return data


def _close(
    build: Builder, a: Operand, b: Operand, tolerances: tuple[Tolerance, Tolerance], equal_nan: Flag
) -> Array | Scalar:
    rtol, atol = (_tolerance(build, given) for given in tolerances)
    x, y = as_data(build, a), as_data(build, b)
    if not isinstance(x, Array) and not isinstance(y, Array):
        raise build.error("E240", "np.isclose of two numbers is not compiled", "write abs(a - b) <= tolerance")
    y = _inexact(build, y)
    modes, build.error_modes = build.error_modes, {**build.error_modes, "invalid": "ignore"}
    try:
        allowed = arithmetic(build, "add", atol, arithmetic(build, "multiply", rtol, ufunc(build, "absolute", y)))
        near = ufunc(build, "less_equal", ufunc(build, "absolute", ufunc(build, "subtract", x, y)), allowed)
        result = ufunc(build, "bitwise_and", near, ufunc(build, "isfinite", y))
        result = ufunc(build, "bitwise_or", result, ufunc(build, "equal", x, y))
        if static_bool(build, equal_nan, "equal_nan"):
            both = ufunc(build, "bitwise_and", ufunc(build, "isnan", x), ufunc(build, "isnan", y))
            result = ufunc(build, "bitwise_or", result, both)
        return result
    finally:
        build.error_modes = modes


def _inexact(build: Builder, y: Array | Scalar) -> Array | Scalar:
    """In a floating-point type, as abs() of the smallest integer needs it."""
    dtype = y.dtype if isinstance(y, Array) else y.type.dtype
    if dtype.kind in "fc":
        return y
    wider = known_dtype(build, np.result_type(dtype.numpy, 1.0))
    if isinstance(y, Array):
        return convert_array(build, y, wider)
    return Scalar(op("cast", (y.expr,), PY_FLOAT if y.type.python else ScalarType(wider)))


@numpy_rule(
    "numpy.array_equal",
    samples=("array_equal(f8[5], f8[5])", "array_equal(f8[5], f8[4])", "array_equal(i4[4, 3], f8[4, 3])"),
)
def lower_array_equal(build: Builder, a1: Operand, a2: Operand, equal_nan: Given = None) -> Operand:
    """Whether two arrays have one shape and equal elements: those at places that both have are compared."""
    if equal_nan is not None:
        raise build.error("E240", "array_equal with equal_nan is not compiled", "compare the others")
    left, right = as_array(build, a1), as_array(build, a2)
    if left.rank != right.rank:
        return Scalar(const(False, PY_BOOL))
    same: Expr = const(True, NP_BOOL)
    for axis, (ours, theirs) in enumerate(zip(left.shape, right.shape, strict=True)):
        if (ours - theirs).constant == 0:
            continue
        same = op("logical_and", (same, op("equal", (ours, theirs), NP_BOOL)), NP_BOOL)
        count = build.let_index(op("minimum", (ours, theirs), PY_INT), "n", low=0)
        left = left.viewed(narrow_axis(left.view, axis, _ZERO, count, _ONE))
        right = right.viewed(narrow_axis(right.view, axis, _ZERO, count, _ONE))
    equal = all_of(build, ufunc(build, "equal", left, right))
    return Scalar(op("cast", (op("logical_and", (same, equal), NP_BOOL),), PY_BOOL))
