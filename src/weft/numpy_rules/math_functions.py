"""The functions of the `math` module: Python floats and ints.

in:   a number of any kind (Python converts it to a float first)
out:  a Python float, int or bool, under guards that exclude what makes Python raise ValueError or OverflowError
"""

from __future__ import annotations

import math

from weft.ir.dtypes import NP_BOOL, PY_BOOL, PY_FLOAT, PY_INT, DType
from weft.ir.exprs import Const, Expr, Index, const, const_index, op, python_const
from weft.numpy_rules.arguments import Given, PythonRaises, is_none
from weft.numpy_rules.arrays import guard_in_range, scalar_of
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.classes import require_method
from weft.numpy_rules.powers import as_base
from weft.numpy_rules.registry import Rule, numpy_rule
from weft.numpy_rules.scalars import as_index, int_expr, negate, python_binary
from weft.numpy_rules.values import Operand, Scalar

# name in `math` -> (operation, whether it can raise)
_UNARY: dict[str, tuple[str, bool]] = {
    "sqrt": ("sqrt", True),
    "cbrt": ("cbrt", False),
    "exp": ("exp", True),
    "exp2": ("exp2", True),
    "expm1": ("expm1", True),
    "log2": ("log2", True),
    "log10": ("log10", True),
    "log1p": ("log1p", True),
    "sin": ("sin", True),
    "cos": ("cos", True),
    "tan": ("tan", True),
    "asin": ("arcsin", True),
    "acos": ("arccos", True),
    "atan": ("arctan", False),
    "sinh": ("sinh", True),
    "cosh": ("cosh", True),
    "tanh": ("tanh", False),
    "asinh": ("arcsinh", False),
    "acosh": ("arccosh", True),
    "atanh": ("arctanh", True),
    "erf": ("erf", False),
    "erfc": ("erfc", False),
    "fabs": ("fabs", False),
    "degrees": ("rad2deg", False),
    "radians": ("deg2rad", False),
}
# Where they are defined, and with that finite for finite numbers. NaN is taken by all.
_ABOVE = {
    "sqrt": ("greater_equal", 0.0), "log": ("greater", 0.0), "log2": ("greater", 0.0),
    "log10": ("greater", 0.0), "log1p": ("greater", -1.0),
}  # fmt: skip
_WITHIN_ONE = {"asin": "less_equal", "acos": "less_equal", "atanh": "less"}
_NOT_AT_INFINITY = ("sin", "cos", "tan")
_BINARY = {"atan2": "arctan2", "hypot": "hypot", "pow": "power", "fmod": "fmod", "copysign": "copysign"}
_TOTAL = ("atan2", "copysign")  # defined everywhere


def float_argument(build: Builder, operand: Operand) -> Expr:
    """`float(operand)` as a constant or a named value."""
    scalar = scalar_of(build, operand)
    if scalar.type.dtype.kind == "c":
        raise PythonRaises("must be real number, not complex")
    expr = scalar.expr
    literal = expr.value if isinstance(expr, Const) else expr.constant if isinstance(expr, Index) else None
    if literal is not None and not isinstance(literal, complex):
        return const(float(literal), PY_FLOAT)
    return build.let(expr if expr.type == PY_FLOAT else op("cast", (expr,), PY_FLOAT), "x")


def _either(*conditions: Expr) -> Expr:
    result = conditions[0]
    for condition in conditions[1:]:
        result = op("logical_or", (result, condition), NP_BOOL)
    return result


def _test(name: str, expr: Expr) -> Expr:
    return op(name, (expr,), NP_BOOL)


def _guarded(build: Builder, name: str, result: Expr, arguments: tuple[Expr, ...]) -> Scalar:
    """Python raises where finite arguments give no finite result, or numbers give no number."""
    infinite = [negate(_test("isfinite", argument)) for argument in arguments]
    build.guard(_either(_test("isfinite", result), *infinite), f"math.{name}: range or domain error")
    nans = [_test("isnan", argument) for argument in arguments]
    build.guard(_either(negate(_test("isnan", result)), *nans), f"math.{name}: domain error")
    return Scalar(result)


def _defined_at(build: Builder, name: str, x: Expr) -> bool:
    """A guard on the argument, for functions of which it says all."""
    if name in _NOT_AT_INFINITY:
        build.guard(negate(_test("isinf", x)), f"math.{name}: domain error")
        return True
    if name in _ABOVE:
        comparison, least = _ABOVE[name]
        inside = op(comparison, (x, const(least, PY_FLOAT)), NP_BOOL)
    elif name in _WITHIN_ONE:
        size = op("absolute", (x,), PY_FLOAT)
        inside = op(_WITHIN_ONE[name], (size, const(1.0, PY_FLOAT)), NP_BOOL)
    else:
        return False
    build.guard(_either(inside, _test("isnan", x)), f"math.{name}: domain error")
    return True


def _unary_rule(name: str) -> Rule:
    operation, raises = _UNARY[name]

    def lower(build: Builder, x: Operand, /) -> Operand:
        value = float_argument(build, x)
        folded = _fold(name, value)
        if folded is not None:
            return folded
        total = not raises or _defined_at(build, name, value)
        result = build.let(op(operation, (value,), PY_FLOAT), name)
        return Scalar(result) if total else _guarded(build, name, result, (value,))

    return lower


def _binary_rule(name: str) -> Rule:
    def lower(build: Builder, x: Operand, y: Operand, /) -> Operand:
        pair = float_argument(build, x), float_argument(build, y)
        args = (as_base(*pair), pair[1]) if name == "pow" else pair
        result = build.let(op(_BINARY[name], args, PY_FLOAT), name)
        return Scalar(result) if name in _TOTAL else _guarded(build, name, result, pair)

    return lower


def _fold(name: str, *arguments: Expr) -> Scalar | None:
    """The result for constants; None where there is none or Python would raise."""
    values = [argument.value for argument in arguments if isinstance(argument, Const)]
    if len(values) != len(arguments):
        return None
    try:
        return Scalar(python_const(getattr(math, name)(*values)))
    except (ValueError, OverflowError):
        return None


def _register() -> None:
    for name in _UNARY:
        if not hasattr(math, name):
            continue
        rule = _unary_rule(name)
        rule.__doc__ = f"`math.{name}(x)`."
        argument = "1.5" if name == "acosh" else "0.5"
        numpy_rule(f"math.{name}", samples=(f"math.{name}(v({argument}))", f"math.{name}(v(np.float32(1)))"))(rule)
    for name in _BINARY:
        rule = _binary_rule(name)
        rule.__doc__ = f"`math.{name}(x, y)`."
        numpy_rule(f"math.{name}", samples=(f"math.{name}(v(2.5), v(1.5))", f"math.{name}(v(3), v(2))"))(rule)


_register()


@numpy_rule("math.log", samples=("math.log(v(2.5))", "math.log(v(8), v(2))"))
def lower_log(build: Builder, x: Operand, base: Given = None, /) -> Operand:
    """With a base, a quotient of two logarithms."""
    result = _log(build, x)
    if base is None or is_none(base):
        return result
    return python_binary(build, "divide", result, _log(build, base))


def _log(build: Builder, operand: Operand) -> Scalar:
    value = float_argument(build, operand)
    folded = _fold("log", value)
    if folded is not None:
        return folded
    _defined_at(build, "log", value)
    return Scalar(build.let(op("log", (value,), PY_FLOAT), "log"))


# -- to ints and bools ------------------------------------------------------------------------------------------------


def _integer_rule(name: str) -> Rule:
    def lower(build: Builder, x: Operand, /) -> Operand:
        if name == "trunc":  # the others make a float of what has no method
            require_method(x, "__trunc__")
        scalar = scalar_of(build, x)
        if scalar.type.dtype.kind in "bi" and scalar.type.python:
            return Scalar(int_expr(build, scalar.expr))
        value = float_argument(build, scalar)
        folded = _fold(name, value)
        return folded if folded is not None else to_int(build, op(name, (value,), PY_FLOAT))

    return lower


def to_int(build: Builder, expr: Expr) -> Scalar:
    """The int of a float without fraction, guarded to fit int64."""
    value = build.let(expr, "f")
    guard_in_range(build, value, DType.INT64)
    return Scalar(build.let_index(op("cast", (value,), PY_INT), "i"))


_FACTORIALS = [math.factorial(n) for n in range(21)]  # those that int64 holds


@numpy_rule("math.factorial", samples=("math.factorial(v(5))", "math.factorial(v(0))", "math.factorial(20)"))
def lower_factorial(build: Builder, x: Operand, /) -> Operand:
    """`math.factorial(n)`, where it is an int of 64 bits."""
    n = as_index(build, scalar_of(build, x))
    if n is None:
        raise PythonRaises("an integer is required")
    if n.constant is not None and 0 <= n.constant < len(_FACTORIALS):
        return Scalar(const_index(_FACTORIALS[n.constant]))
    n = build.bounded(n)
    build.guard_nonnegative(n, "factorial() not defined for negative values")
    build.guard_nonnegative(const_index(len(_FACTORIALS) - 1) - n, "a factorial beyond 64 bits")
    result: Expr = const_index(_FACTORIALS[-1])
    for position, factorial in reversed([*enumerate(_FACTORIALS[:-1])]):
        is_it = op("equal", (n, const_index(position)), NP_BOOL)
        result = op("select", (is_it, const_index(factorial), result), PY_INT)
    return Scalar(build.let_index(result, "f"))


def _predicate_rule(name: str) -> Rule:
    def lower(build: Builder, x: Operand, /) -> Operand:
        return Scalar(build.let(op(name, (float_argument(build, x),), PY_BOOL), name))

    return lower


def _register_integers() -> None:
    for name in ("floor", "ceil", "trunc"):
        rule = _integer_rule(name)
        rule.__doc__ = f"`math.{name}(x)`: a Python int."
        numpy_rule(f"math.{name}", samples=(f"math.{name}(v(2.5))", f"math.{name}(v(-2.5))", f"math.{name}(v(7))"))(
            rule
        )
    for name in ("isnan", "isinf", "isfinite"):
        rule = _predicate_rule(name)
        rule.__doc__ = f"`math.{name}(x)`."
        numpy_rule(f"math.{name}", samples=(f"math.{name}(v(2.5))", f"math.{name}(v(np.inf))"))(rule)


_register_integers()
