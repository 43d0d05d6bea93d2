"""Arithmetic on Python scalars, as Python does it.

in:   operands that are Python bools, ints, floats or complex numbers
out:  a Python scalar, under guards that exclude what raises (division by zero) or leaves int64 (big integers)

Ints stay index polynomials as long as they can: `2 * i + 1` is one, `i // 2` becomes a value of its own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from weft.analysis.ranges import INT64_MAX, INT64_MIN, fits_int64, index_bounds
from weft.ir.dtypes import NP_BOOL, PY_BOOL, PY_COMPLEX, PY_FLOAT, PY_INT, DType, ScalarType
from weft.ir.exprs import Const, Expr, Index, Op, Value, const, const_index, index, op, python_const
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.complex_powers import complex_power
from weft.numpy_rules.powers import as_base
from weft.numpy_rules.values import Operand, Scalar

_RANK = {DType.BOOL: 0, DType.INT64: 1, DType.FLOAT64: 2, DType.COMPLEX128: 3}
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
ZERO = const_index(0)


def is_python_scalar(operand: Operand) -> bool:
    """Whether the operand is a Python bool, int, float or complex."""
    return isinstance(operand, Scalar) and operand.type.python


def as_index(build: Builder, operand: Operand) -> Index | None:
    """The operand as an integer polynomial, if it is an integer (Python's or NumPy's) or a bool used as one."""
    if not isinstance(operand, Scalar) or operand.type.dtype.kind not in "biu":
        return None
    return int_expr(build, operand.expr)


def int_expr(build: Builder, expr: Expr) -> Index:
    """An integer expression of any type as a polynomial of Python ints."""
    match expr:
        case Index():
            return expr
        case Value() if expr.type == PY_INT:
            return index(expr)
        case Const(value=value) if not isinstance(value, complex | float):
            return const_index(int(value))
        case _:
            low, high = expr.type.dtype.bounds
            if expr.type.dtype is DType.UINT64:
                limit = const(INT64_MAX, ScalarType(DType.UINT64))
                build.guard(op("less_equal", (expr, limit), NP_BOOL), "integer beyond int64")
                high = INT64_MAX
            bounds = (None, None) if expr.type.dtype is DType.INT64 else (low, high)
            return build.let_index(expr, "i", low=bounds[0], high=bounds[1])


def convert(build: Builder, expr: Expr, type_: ScalarType) -> Expr:
    """A Python scalar converted to a wider Python scalar type."""
    if expr.type == type_:
        return expr
    if isinstance(expr, Const):
        return python_const(type_.dtype.numpy.type(expr.value).item())
    if isinstance(expr, Index) and expr.constant is not None and type_ != PY_INT:
        try:
            return const(complex(expr.constant) if type_ == PY_COMPLEX else float(expr.constant), type_)
        except OverflowError:
            build.leave("int too large to convert to float")
    if type_ == PY_INT:
        return int_expr(build, expr)
    return op("cast", (expr,), type_)


def python_binary(build: Builder, name: str, left: Scalar, right: Scalar) -> Operand:
    """`left name right` for two Python scalars."""
    if name in _COMPARISONS:
        return compare(build, name, left, right)
    if name in _BITS and left.type == right.type == PY_BOOL:
        return Scalar(op(name, (left.expr, right.expr), PY_BOOL))
    rank = max(_RANK[left.type.dtype], _RANK[right.type.dtype], 1)
    if rank == 1:
        return _int_binary(build, name, int_expr(build, left.expr), int_expr(build, right.expr))
    type_ = PY_FLOAT if rank == 2 else PY_COMPLEX
    pair = convert(build, left.expr, type_), convert(build, right.expr, type_)
    folded = _fold(name, *pair)
    if folded is not None:
        return Scalar(folded)
    if rank == 2:
        return _float_binary(build, name, *pair)
    if name == "power":
        return complex_power(build, *pair, is_complex=right.type == PY_COMPLEX)
    return _complex_binary(build, name, *pair)


def compare(build: Builder, name: str, left: Scalar, right: Scalar) -> Operand:
    """A comparison of two Python scalars."""
    rank = max(_RANK[left.type.dtype], _RANK[right.type.dtype], 1)
    if rank == 3 and name not in ("equal", "not_equal"):
        return build.leave(f"'{name}' not supported between complex numbers")
    type_ = (PY_INT, PY_INT, PY_FLOAT, PY_COMPLEX)[rank]
    if rank == 2 and left.type != right.type:
        _guard_exact_float(build, left.expr)
        _guard_exact_float(build, right.expr)
    pair = convert(build, left.expr, type_), convert(build, right.expr, type_)
    folded = _fold(name, *pair)
    if folded is not None:
        return Scalar(folded)
    if isinstance(pair[0], Index) and isinstance(pair[1], Index):
        known = _decide(build, name, pair[0] - pair[1])
        if known is not None:
            return Scalar(const(known, PY_BOOL))
    return Scalar(op(name, pair, PY_BOOL))


def _decide(build: Builder, name: str, difference: Index) -> bool | None:
    """The outcome of a comparison of two ints whose difference has a known sign."""
    tests: dict[str, tuple[Index, bool]] = {
        "less": (difference, False),
        "greater_equal": (difference, True),
        "greater": (-difference, False),
        "less_equal": (-difference, True),
    }
    if name not in tests:
        return None
    value, outcome = tests[name]
    if build.proves_nonnegative(value):
        return outcome
    if build.proves_nonnegative(-value - 1):
        return not outcome
    return None


def _guard_exact_float(build: Builder, expr: Expr) -> None:
    """Python compares ints and floats exactly; doubles do so up to 2**53.

    The int itself is compared: a difference would have to be kept from wrapping around, by a bound that is tighter.
    """
    if expr.type != PY_INT:
        return
    value, limit = int_expr(build, expr), 1 << 53
    pairs = (value, const_index(limit)), (const_index(-limit), value)
    for low, high in pairs:
        if not build.proves_nonnegative(high - low):
            build.guard(op("less_equal", (low, high), NP_BOOL), "int beyond 2**53 compared with a float")


def _fold(name: str, left: Expr, right: Expr) -> Expr | None:
    """The result for two constants; None where there is none or Python would raise."""
    values = [_literal(left), _literal(right)]
    if values[0] is None or values[1] is None or name not in _FOLDS:
        return None
    try:
        return python_const(_FOLDS[name](values[0], values[1]))
    except (ArithmeticError, TypeError, ValueError):
        return None


def _true_divide(left: float, right: float) -> float | complex:
    return left / right


def _floor_divide(left: float, right: float) -> float:
    return left // right


_FOLDS: dict[str, Callable[..., bool | int | float | complex]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _true_divide,
    "floor_divide": _floor_divide,
    "remainder": operator.mod,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def _literal(expr: Expr) -> bool | int | float | complex | None:
    match expr:
        case Const(value=value):
            return value
        case Index():
            return expr.constant
        case _:
            return None


def _int_binary(build: Builder, name: str, left: Index, right: Index) -> Operand:
    if name in ("add", "subtract", "multiply"):
        return Scalar(_checked(build, name, left, right))
    folded = _fold(name, left, right)
    if folded is not None:
        return Scalar(folded)
    if name in ("floor_divide", "remainder"):
        return _int_division(build, name, left, right)
    if name == "divide":
        _guard_nonzero(build, right)
        _guard_exact_float(build, left)
        _guard_exact_float(build, right)
        pair = convert(build, left, PY_FLOAT), convert(build, right, PY_FLOAT)
        return Scalar(op("divide", pair, PY_FLOAT))
    if name == "power":
        return _int_power(build, left, right)
    if name in ("left_shift", "right_shift"):
        build.guard_nonnegative(right, "negative shift count")
        if name == "left_shift":
            build.guard(negate(op("left_shift_overflows", (left, right), NP_BOOL)), "int too large for int64")
    return Scalar(index(build.let(op(name, (left, right), PY_INT), "i", **_bit_bounds(name, left, right))))


def _bit_bounds(name: str, left: Index, right: Index) -> dict[str, int]:
    """Bounds of a bit operation on non-negative ints."""
    (a, b), (c, d) = index_bounds(left), index_bounds(right)
    if name == "bitwise_and" and (a >= 0 or c >= 0):
        return {"low": 0, "high": min(limit for limit, low in ((b, a), (d, c)) if low >= 0)}
    if name == "right_shift" and a >= 0:
        return {"low": 0, "high": b}
    if name in ("bitwise_or", "bitwise_xor") and a >= 0 and c >= 0:
        return {"low": 0, "high": (1 << max(b, d).bit_length()) - 1}
    return {}


def _checked(build: Builder, name: str, left: Index, right: Index) -> Index:
    """A sum, difference or product of ints that is known, or guarded, to fit int64."""
    result = {"add": left + right, "subtract": left - right, "multiply": left * right}[name]
    if not fits_int64(result):
        build.guard(negate(op(f"{name}_overflows", (left, right), NP_BOOL)), "int too large for int64")
    return result


def _int_division(build: Builder, name: str, left: Index, right: Index) -> Operand:
    _guard_nonzero(build, right)
    low, high = index_bounds(left)
    if low == INT64_MIN and index_bounds(right)[0] <= -1:
        build.guard(negate(op("equal", (right, const_index(-1)), NP_BOOL)), "int too large for int64")
    divisor = right.constant
    bounds: dict[str, int] = {}
    if divisor is not None and divisor > 0:
        bounds = {"low": low // divisor, "high": high // divisor} if name == "floor_divide" else {}
        bounds = bounds or {"low": 0, "high": divisor - 1}
    elif name == "remainder" and build.proves_nonnegative(right):
        bounds = {"low": 0}
    elif low >= 0 and build.proves_nonnegative(right):
        bounds = {"low": 0, "high": high}
    return Scalar(build.let_index(op(name, (left, right), PY_INT), "q", **bounds))


def _guard_nonzero(build: Builder, value: Index) -> None:
    if not (build.proves_nonnegative(value - 1) or build.proves_nonnegative(-value - 1)):
        build.guard(op("not_equal", (value, ZERO), NP_BOOL), "division by zero")


def _int_power(build: Builder, left: Index, right: Index) -> Operand:
    exponent = right.constant
    if exponent is not None and 0 <= exponent <= 4:
        result: Index = const_index(1)
        for _ in range(exponent):
            result = _checked(build, "multiply", result, left)
        return Scalar(result)
    if exponent is not None and exponent < 0:
        base = convert(build, left, PY_FLOAT)
        _guard_nonzero(build, left)
        _guard_exact_float(build, left)
        return Scalar(op("power", (base, const(float(exponent), PY_FLOAT)), PY_FLOAT))
    build.guard_nonnegative(right, "int ** negative int is a float")
    build.guard(negate(op("power_overflows", (left, right), NP_BOOL)), "int too large for int64")
    return Scalar(index(build.let(op("power", (left, right), PY_INT), "p")))


def _float_binary(build: Builder, name: str, left: Expr, right: Expr) -> Operand:
    if name in ("divide", "floor_divide", "remainder"):
        build.guard(op("not_equal", (right, const(0.0, PY_FLOAT)), NP_BOOL), "division by zero")
    elif name == "power":
        return _float_power(build, left, right)
    elif name not in ("add", "subtract", "multiply"):
        return build.leave(f"float does not support {name}")
    return Scalar(op(name, (left, right), PY_FLOAT))


def _float_power(build: Builder, left: Expr, right: Expr) -> Operand:
    """Under guards against a complex result, division by zero and overflow."""
    literal = _literal(right)
    if isinstance(literal, float) and literal == 2.0:
        result = build.let(op("multiply", (left, left), PY_FLOAT), "p")
        _guard_finite(build, result, left, right)
        return Scalar(result)
    zero = const(0.0, PY_FLOAT)
    whole = op("equal", (op("floor", (right,), PY_FLOAT), right), NP_BOOL)
    if not (isinstance(literal, float) and literal.is_integer()):
        real = op("logical_or", (op("greater_equal", (left, zero), NP_BOOL), whole), NP_BOOL)
        build.guard(real, "negative number to a fractional power is complex")
    if not (isinstance(literal, float) and literal > 0):
        defined = op(
            "logical_or",
            (op("not_equal", (left, zero), NP_BOOL), op("greater_equal", (right, zero), NP_BOOL)),
            NP_BOOL,
        )
        build.guard(defined, "zero to a negative power")
    result = build.let(op("power", (as_base(left, right), right), PY_FLOAT), "p")
    _guard_finite(build, result, left, right)
    return Scalar(result)


def _guard_finite(build: Builder, result: Expr, *operands: Expr) -> None:
    """Python raises OverflowError where finite operands give an infinite result."""
    finite: Expr = op("isfinite", (result,), NP_BOOL)
    for operand in operands:
        finite = op("logical_or", (finite, negate(op("isfinite", (operand,), NP_BOOL))), NP_BOOL)
    build.guard(finite, "result too large for a float")


def _complex_binary(build: Builder, name: str, left: Expr, right: Expr) -> Operand:
    if name == "divide":
        build.guard(op("not_equal", (right, const(0j, PY_COMPLEX)), NP_BOOL), "division by zero")
    elif name not in ("add", "subtract", "multiply"):
        raise build.error("E202", f"complex {name} of Python numbers is not compiled", "use NumPy arrays or scalars")
    return Scalar(op(name, (left, right), PY_COMPLEX))


def python_unary(build: Builder, name: str, operand: Scalar) -> Operand:
    """`-x`, `+x`, `~x`, `abs(x)` of a Python scalar."""
    type_ = operand.type
    if type_.dtype.kind in "bi":
        return _int_unary(build, name, int_expr(build, operand.expr))
    literal = _literal(operand.expr)
    if literal is not None and name == "negative":
        return Scalar(python_const(-literal))
    if name == "invert":
        return build.leave("bad operand type for unary ~")
    if name == "positive":
        return operand
    return Scalar(op(name, (operand.expr,), PY_FLOAT if name == "absolute" else type_))


def _int_unary(build: Builder, name: str, value: Index) -> Operand:
    if name == "positive":
        return Scalar(value)
    if name == "negative":
        return Scalar(_checked(build, "subtract", ZERO, value))
    if name == "invert":
        return Scalar(-value - 1)
    if build.proves_nonnegative(value):
        return Scalar(value)
    negated = _checked(build, "subtract", ZERO, value)
    chosen = op("select", (op("less", (value, ZERO), NP_BOOL), negated, value), PY_INT)
    return Scalar(index(build.let(chosen, "a", low=0)))


def negate(condition: Expr) -> Expr:
    """`not condition`."""
    if isinstance(condition, Const):
        return const(not condition.value, NP_BOOL)
    if isinstance(condition, Op) and condition.name == "logical_not":
        return condition.args[0]
    return op("logical_not", (condition,), NP_BOOL)


def truth(build: Builder, operand: Scalar) -> Expr:
    """The truth value of a scalar."""
    expr = operand.expr
    literal = _literal(expr)
    if literal is not None:
        return const(bool(literal), NP_BOOL)
    if operand.type.dtype is DType.BOOL:
        return expr
    zero = ZERO if expr.type == PY_INT else const(operand.type.dtype.numpy.type(0).item(), expr.type)
    return op("not_equal", (expr, zero), NP_BOOL)
