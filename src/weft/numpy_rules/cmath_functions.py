"""The functions of the `cmath` module: Python complex numbers.

in:   a number of any kind (Python converts it to a complex number first)
out:  a Python complex number, float, bool or pair of floats, computed in the steps of Python's own functions

So the bits are the same, but for loops that run in vectors, where those of `math` may be others, too.
Guards exclude what makes Python raise, what is not finite, and numbers at the ends of the range of floats, where Python
takes other steps.
"""

from __future__ import annotations

from weft.ir.dtypes import NP_BOOL, PY_BOOL, PY_COMPLEX, PY_FLOAT
from weft.ir.exprs import Const, Expr, const, op
from weft.numpy_rules.arrays import scalar_of
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.math_functions import float_argument
from weft.numpy_rules.python_functions import python_number_expr
from weft.numpy_rules.registry import Rule, numpy_rule
from weft.numpy_rules.values import Operand, Scalar, Tuple

_SMALLEST = 2.2250738585072014e-308  # of floats with all their digits
_LARGE = 1e300
_LARGE_EXPONENT = 700.0
_NEAR_ONE = 0.71, 1.73  # sizes whose logarithm is that of the square of the size, less one
_ENDS = "the end of the range of floats"


def _float(value: float) -> Const:
    return const(value, PY_FLOAT)


def _op(build: Builder, name: str, *args: Expr) -> Expr:
    return build.let(op(name, args, PY_FLOAT), "c")


def _both(build: Builder, left: Expr, right: Expr, name: str = "logical_and") -> Expr:
    return build.let(op(name, (left, right), NP_BOOL), "is")


def _is(name: str, *args: Expr) -> Expr:
    return op(name, args, NP_BOOL)


def _parts(build: Builder, operand: Operand) -> tuple[Expr, Expr]:
    """The real and imaginary part of `complex(operand)`."""
    scalar = scalar_of(build, operand)
    if scalar.type.dtype.kind != "c":
        return float_argument(build, scalar), _float(0.0)
    number = build.let(python_number_expr(build, scalar, PY_COMPLEX), "z")
    return _op(build, "real", number), _op(build, "imag", number)


def _finite_parts(build: Builder, operand: Operand, name: str) -> tuple[Expr, Expr]:
    parts = _parts(build, operand)
    for part in parts:
        build.guard(_is("isfinite", part), f"cmath.{name} of what is not finite")
    return parts


def _complex(build: Builder, real: Expr, imag: Expr) -> Scalar:
    return Scalar(build.let(op("complex", (real, imag), PY_COMPLEX), "z"))


@numpy_rule("cmath.exp", samples=("cmath.exp(v(0.5 - 2j))", "cmath.exp(v(1.5))", "cmath.exp(v(np.complex64(2j)))"))
def lower_exp(build: Builder, z: Operand, /) -> Operand:
    """The size of the result times the point on the unit circle."""
    real, imag = _finite_parts(build, z, "exp")
    build.guard(_is("less_equal", real, _float(_LARGE_EXPONENT)), f"cmath.exp: {_ENDS}")
    size = _op(build, "exp", real)
    return _on_circle(build, size, imag)


def _on_circle(build: Builder, size: Expr, angle: Expr) -> Scalar:
    cosine, sine = (_op(build, name, angle) for name in ("cos", "sin"))
    return _complex(build, _op(build, "multiply", size, cosine), _op(build, "multiply", size, sine))


@numpy_rule("cmath.rect", samples=("cmath.rect(v(2.5), v(1.5))", "cmath.rect(v(3), v(-0.0))"))
def lower_rect(build: Builder, r: Operand, phi: Operand, /) -> Operand:
    """The number of a size and an angle."""
    size, angle = float_argument(build, r), float_argument(build, phi)
    for part in (size, angle):
        build.guard(_is("isfinite", part), "cmath.rect of what is not finite")
    return _on_circle(build, size, angle)


@numpy_rule("cmath.phase", samples=("cmath.phase(v(-1.5 + 2j))", "cmath.phase(v(-2))"))
def lower_phase(build: Builder, z: Operand, /) -> Operand:
    """The angle of a number."""
    real, imag = _parts(build, z)
    return Scalar(_op(build, "arctan2", imag, real))


@numpy_rule("cmath.polar", samples=("cmath.polar(v(-1.5 + 2j))", "cmath.polar(v(-2.5))"))
def lower_polar(build: Builder, z: Operand, /) -> Operand:
    """The size and the angle."""
    real, imag = _finite_parts(build, z, "polar")
    size = _op(build, "hypot", real, imag)
    build.guard(_is("isfinite", size), "cmath.polar: math range error")
    return Tuple((Scalar(size), Scalar(_op(build, "arctan2", imag, real))))


def _sizes(build: Builder, parts: tuple[Expr, Expr], name: str) -> tuple[Expr, Expr, Expr]:
    """How large the parts are, neither too large nor both too small; and whether both are zero."""
    first, second = (_op(build, "fabs", part) for part in parts)
    for size in (first, second):
        build.guard(_is("less_equal", size, _float(_LARGE)), f"cmath.{name}: {_ENDS}")
    normal, none = (
        [_is(test, size, _float(bound)) for size in (first, second)]
        for test, bound in (("greater_equal", _SMALLEST), ("equal", 0.0))
    )
    zero = _both(build, none[0], none[1])
    enough = _both(build, normal[0], normal[1], "logical_or")
    build.guard(_both(build, enough, zero, "logical_or"), f"cmath.{name}: {_ENDS}")
    return first, second, zero


@numpy_rule("cmath.sqrt", samples=("cmath.sqrt(v(-2.5 + 1j))", "cmath.sqrt(v(-3))", "cmath.sqrt(v(0j))"))
def lower_sqrt(build: Builder, z: Operand, /) -> Operand:
    """The root with a real part that is not negative; of parts an eighth as large, whose sum stays finite."""
    real, imag = _finite_parts(build, z, "sqrt")
    first, second, zero = _sizes(build, (real, imag), "sqrt")
    eighths = [_op(build, "divide", size, _float(8.0)) for size in (first, second)]
    total = _op(build, "add", eighths[0], _op(build, "hypot", *eighths))
    root = _op(build, "multiply", _float(2.0), _op(build, "sqrt", total))
    double = _op(build, "select", zero, _float(1.0), _op(build, "multiply", _float(2.0), root))
    rest = _op(build, "divide", second, double)
    is_right = build.let(_is("greater_equal", real, _float(0.0)), "is")
    across = _op(build, "select", is_right, root, rest)
    along = _op(build, "copysign", _op(build, "select", is_right, rest, root), imag)
    return _complex(build, across, along)


@numpy_rule("cmath.log", samples=("cmath.log(v(-2.5 + 1j))", "cmath.log(v(-0.5))", "cmath.log(v(0.6 + 0.8j))"))
def lower_log(build: Builder, z: Operand, /) -> Operand:
    """The natural logarithm of the size, and the angle; near a size of one, no digits are lost."""
    real, imag = _finite_parts(build, z, "log")
    first, second, zero = _sizes(build, (real, imag), "log")
    build.guard(op("logical_not", (zero,), NP_BOOL), "cmath.log: math domain error")
    size = _op(build, "hypot", first, second)
    near = _both(build, _is("greater_equal", size, _float(_NEAR_ONE[0])), _is("less_equal", size, _float(_NEAR_ONE[1])))
    is_first = build.let(_is("greater", first, second), "is")
    larger = _op(build, "select", near, _op(build, "select", is_first, first, second), _float(1.0))
    smaller = _op(build, "select", near, _op(build, "select", is_first, second, first), _float(0.0))
    outside = _op(build, "subtract", larger, _float(1.0)), _op(build, "add", larger, _float(1.0))
    excess = _op(build, "add", _op(build, "multiply", *outside), _op(build, "multiply", smaller, smaller))
    close = _op(build, "divide", _op(build, "log1p", excess), _float(2.0))
    far = _op(build, "log", _op(build, "select", near, _float(1.0), size))
    return _complex(build, _op(build, "select", near, close, far), _op(build, "arctan2", imag, real))


def _predicate_rule(name: str, joined: str) -> Rule:
    def lower(build: Builder, z: Operand, /) -> Operand:
        real, imag = _parts(build, z)
        found = op(joined, (_is(name, real), _is(name, imag)), NP_BOOL)
        return Scalar(build.let(op("cast", (found,), PY_BOOL), name))

    return lower


def _register_predicates() -> None:
    for name, joined in (("isnan", "logical_or"), ("isinf", "logical_or"), ("isfinite", "logical_and")):
        rule = _predicate_rule(name, joined)
        rule.__doc__ = f"`cmath.{name}(z)`."
        numpy_rule(f"cmath.{name}", samples=(f"cmath.{name}(v(2.5 - 1j))", f"cmath.{name}(v(np.inf))"))(rule)


_register_predicates()
