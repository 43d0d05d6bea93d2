"""Expressions as Python closures on NumPy scalars, or on arrays inside an Elementwise.

in:   an expression
out:  a function from the environment (value id -> number) to a NumPy scalar or array of exactly its dtype

Values of Python's int type are kept as Python ints, since most of them are indices; everything else as NumPy scalars.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from weft.interp.noise import NOISE, Noise
from weft.ir.dtypes import PY_INT, DType, ScalarType
from weft.ir.exprs import Const, Expr, Index, Op, Value
from weft.ir.printer import print_expr
from weft.support.errors import InternalError

Env: TypeAlias = dict[int, Any]
Evaluator: TypeAlias = Callable[[Env], Any]

_INT64 = DType.INT64.numpy
_HALF = 1 << 63
_LIMIT = 1 << 64


def compile_expr(expr: Expr) -> Evaluator:
    """The expression as a function of the environment."""
    match expr:
        case Value():
            return _compile_value(expr)
        case Const(value=value, type=type_):
            constant = np.asarray(value).astype(type_.dtype.numpy)[()]
            return lambda env: constant
        case Index():
            polynomial = compile_index(expr)
            return lambda env: _int64(polynomial(env))
        case Op():
            return _compile_op(expr)


def compile_index(index: Index) -> Callable[[Env], Any]:
    """The polynomial as a function of the environment, in Python ints (in int64 arrays inside an Elementwise)."""
    constant = index.constant
    if constant is not None:
        return lambda env: constant
    match index.terms:
        case (((Value(id=number, type=type_),), 1),) if type_ == PY_INT:
            return lambda env: env[number]
        case (((), shift), ((Value(id=number, type=type_),), 1)) if type_ == PY_INT:
            return lambda env: env[number] + shift
        case terms:
            return _compile_polynomial(
                [(coefficient, [value.id for value in monomial]) for monomial, coefficient in terms]
            )


def _compile_polynomial(terms: list[tuple[int, list[int]]]) -> Callable[[Env], Any]:
    def evaluate(env: Env) -> Any:
        total: Any = 0
        for coefficient, numbers in terms:
            product: Any = coefficient
            for number in numbers:
                factor: Any = env[number]
                product = product * (factor if _is_array(factor) else int(factor))
            total = total + product
        return total

    return evaluate


def keep(value: Value, number: Any) -> Any:
    """The number as the environment holds it."""
    return int(number) if value.type == PY_INT else number


def leave(number: Any, type_: ScalarType) -> Any:
    """The number as Python sees it: a Python scalar or a NumPy one, by its type."""
    return np.asarray(number).astype(type_.dtype.numpy)[()].item() if type_.python else type_.dtype.numpy.type(number)


def enter(obj: Any, value: Value) -> Any:
    """The object of a scalar slot as the environment holds it."""
    return keep(value, np.asarray(obj).astype(value.type.dtype.numpy)[()])


def _compile_value(value: Value) -> Evaluator:
    number = value.id
    if value.type == PY_INT:
        return lambda env: _int64(env[number])
    return lambda env: env[number]


def _int64(number: Any) -> Any:
    """An int (of any size: sums may wrap) as NumPy's; arrays as they are."""
    if _is_array(number):
        return number
    return np.int64((int(number) + _HALF) % _LIMIT - _HALF)


def _is_array(number: Any) -> bool:
    return isinstance(number, np.ndarray)


def _compile_op(expr: Op) -> Evaluator:
    args = [compile_expr(arg) for arg in expr.args]
    dtype = expr.type.dtype.numpy
    function = _SPECIAL.get(expr.name)
    if function is None:
        ufunc: Callable[..., Any] = getattr(np, expr.name)
        return _checked(expr, lambda env: ufunc(*(arg(env) for arg in args)))
    return _checked(expr, lambda env: function(dtype, *(arg(env) for arg in args)))


def _checked(expr: Op, evaluate: Evaluator) -> Evaluator:
    dtype = expr.type.dtype.numpy

    def run(env: Env) -> Any:
        result = evaluate(env)
        if result.dtype != dtype:
            raise InternalError(f"NumPy computes {print_expr(expr)} in {result.dtype}, not {dtype}")
        noise: Noise | None = env.get(NOISE)
        return result if noise is None else noise.operation(expr, result)

    return run


# ---- operations that are no ufunc, or must not raise: (dtype, operands) -> result -----------------------------------


def _cast(dtype: np.dtype[Any], x: Any) -> Any:
    if x.dtype == dtype:
        return x
    array: Any = np.asarray(x)
    return (array.real if array.dtype.kind == "c" and dtype.kind not in "cb" else array).astype(dtype)[()]


def _select(dtype: np.dtype[Any], condition: Any, x: Any, y: Any) -> Any:
    if not _is_array(condition) and not _is_array(x) and not _is_array(y):
        return x if condition else y
    where: Any = np.where
    return where(condition, x, y)[()]


def _complex(dtype: np.dtype[Any], real: Any, imaginary: Any) -> Any:
    result: Any = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imaginary)), dtype)
    result.real, result.imag = real, imaginary
    return result[()]


def _real(dtype: np.dtype[Any], x: Any) -> Any:
    return x.real.astype(dtype)


def _imag(dtype: np.dtype[Any], x: Any) -> Any:
    return x.imag.astype(dtype)


def _power(dtype: np.dtype[Any], x: Any, y: Any) -> Any:
    """A negative integer exponent is guarded against, but may be computed in a side of a select that is not taken."""
    return np.power(x, np.maximum(y, y.dtype.type(0)) if y.dtype.kind == "i" else y)


def _overflows(exact: Callable[[int, int], int]) -> Callable[..., Any]:
    def overflow(x: int, y: int) -> bool:
        return not -_HALF <= exact(int(x), int(y)) < _HALF

    vectorized = np.vectorize(overflow, otypes=[np.bool_])

    def run(dtype: np.dtype[Any], x: Any, y: Any) -> Any:
        if _is_array(x) or _is_array(y):
            return vectorized(x, y)
        return np.bool_(overflow(x, y))

    return run


def _exact_power(x: int, y: int) -> int:
    """Enough of the power to see whether it fits."""
    if y < 0 or abs(x) < 2:
        return 0 if y < 0 else x**y
    return x ** min(y, 64)


def _exact_shift(x: int, y: int) -> int:
    return x << min(y, 64) if y >= 0 else 0


def _of_module_math(function: Callable[[float], float]) -> Callable[..., Any]:
    elements = np.vectorize(function, otypes=[np.float64])

    def apply(dtype: np.dtype[Any], x: Any) -> Any:
        return elements(x).astype(dtype)[()]

    return apply


_SPECIAL: dict[str, Callable[..., Any]] = {
    "erf": _of_module_math(math.erf),
    "erfc": _of_module_math(math.erfc),
    "cast": _cast,
    "select": _select,
    "complex": _complex,
    "power": _power,
    "real": _real,
    "imag": _imag,
    "add_overflows": _overflows(lambda x, y: x + y),
    "subtract_overflows": _overflows(lambda x, y: x - y),
    "multiply_overflows": _overflows(lambda x, y: x * y),
    "power_overflows": _overflows(_exact_power),
    "left_shift_overflows": _overflows(_exact_shift),
}
