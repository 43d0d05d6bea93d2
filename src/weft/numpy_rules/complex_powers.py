"""`a ** b` of Python numbers one of which is complex, in the steps of Python's own operator.

    z ** 2       ->  (1 + 0j) * (z * z)            whole exponents up to 100: squares, multiplied where a bit is set
    z ** -3      ->  (1 + 0j) / (z ** 3)
    z ** 0.5     ->  abs(z) ** 0.5 at half the angle
    2 ** z       ->  the same, with exp and log for the imaginary part of the exponent

Guards exclude what makes Python raise and what is not finite. Whole exponents that are not known before are left to
Python, as they would need a loop.
"""

from __future__ import annotations

from typing import Final

from weft.ir.dtypes import NP_BOOL, PY_COMPLEX, PY_FLOAT
from weft.ir.exprs import Const, Expr, const, op
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.values import Operand, Scalar

_MOST: Final = 100  # the largest whole exponent of which Python makes products
_ONE, _ZERO = const(1 + 0j, PY_COMPLEX), const(0.0, PY_FLOAT)


def complex_power(build: Builder, base: Expr, exponent: Expr, *, is_complex: bool) -> Operand:
    """Of two complex numbers; `is_complex`: that is what the exponent was."""
    known = exponent.value if isinstance(exponent, Const) else None
    if known is None and not is_complex:
        hint = "use NumPy arrays or scalars"
        raise build.error("E202", "complex power of Python numbers with this exponent is not compiled", hint)
    whole = complex(known) if known is not None else 0.5
    if isinstance(whole, complex) and whole.imag == 0 and whole.real.is_integer() and abs(whole.real) <= _MOST:
        return Scalar(_whole_power(build, base, int(whole.real)))
    return Scalar(_any_power(build, base, exponent, is_known=known is not None))


def _whole_power(build: Builder, base: Expr, exponent: int) -> Expr:
    if exponent == 0:
        return _ONE
    result, square, rest = _ONE, base, abs(exponent)
    while rest:
        if rest & 1:
            result = build.let(op("multiply", (result, square), PY_COMPLEX), "p")
        rest >>= 1
        if rest:
            square = build.let(op("multiply", (square, square), PY_COMPLEX), "p")
    _guard_finite(build, result)
    if exponent > 0:
        return result
    build.guard(op("not_equal", (result, const(0j, PY_COMPLEX)), NP_BOOL), "zero to a negative power")
    result = build.let(op("divide", (_ONE, result), PY_COMPLEX), "p")
    _guard_finite(build, result)
    return result


def _guard_finite(build: Builder, number: Expr) -> None:
    for part in _parts(build, number):
        build.guard(op("isfinite", (part,), NP_BOOL), "complex power: too large, or not a number")


def _parts(build: Builder, number: Expr) -> tuple[Expr, Expr]:
    return _op(build, "real", number), _op(build, "imag", number)


def _op(build: Builder, name: str, *args: Expr) -> Expr:
    return build.let(op(name, args, PY_FLOAT), "c")


def _any_power(build: Builder, base: Expr, exponent: Expr, *, is_known: bool) -> Expr:
    build.guard(op("not_equal", (base, const(0j, PY_COMPLEX)), NP_BOOL), "a power of complex zero")
    (across, along), (real, imag) = _parts(build, base), _parts(build, exponent)
    none, whole = _is_nothing(build, real, imag), _is_whole(build, real, imag)
    if not is_known:
        fits = op("logical_or", (none, op("logical_not", (whole,), NP_BOOL)), NP_BOOL)
        build.guard(fits, "complex power with a whole exponent")
    distance, turn = _op(build, "hypot", across, along), _op(build, "arctan2", along, across)
    size, angle = _op(build, "power", distance, real), _op(build, "multiply", turn, real)
    is_real = build.let(op("equal", (imag, _ZERO), NP_BOOL), "is")
    shrunk = _op(build, "divide", size, _op(build, "exp", _op(build, "multiply", turn, imag)))
    turned = _op(build, "add", angle, _op(build, "multiply", imag, _op(build, "log", distance)))
    size, angle = _op(build, "select", is_real, size, shrunk), _op(build, "select", is_real, angle, turned)
    found = [_op(build, "multiply", size, _op(build, name, angle)) for name in ("cos", "sin")]
    kept = [
        _op(build, "select", none, const(value, PY_FLOAT), part) for value, part in zip((1.0, 0.0), found, strict=True)
    ]
    result = build.let(op("complex", kept, PY_COMPLEX), "p")
    _guard_finite(build, result)
    return result


def _is_nothing(build: Builder, real: Expr, imag: Expr) -> Expr:
    zeros = [op("equal", (part, _ZERO), NP_BOOL) for part in (real, imag)]
    return build.let(op("logical_and", zeros, NP_BOOL), "is")


def _is_whole(build: Builder, real: Expr, imag: Expr) -> Expr:
    tests = (
        op("equal", (imag, _ZERO), NP_BOOL),
        op("equal", (_op(build, "floor", real), real), NP_BOOL),
        op("less_equal", (_op(build, "fabs", real), const(float(_MOST), PY_FLOAT)), NP_BOOL),
    )
    found = op("logical_and", tests[:2], NP_BOOL)
    return build.let(op("logical_and", (found, tests[2]), NP_BOOL), "is")
