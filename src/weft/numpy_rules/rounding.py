"""`round(x, digits)` of a Python float: to the nearest number with so many decimals, of the float's exact value.

in:   a float, and how many decimals
out:  what Python gives, which reads the digits as text again

    round(2.675, 2)  ->  2.67, since the float is 2.67499999...     np.round multiplies, 267.5, and gives 2.68

The product with a power of ten is rounded itself. What that loses is a float too, which tells on which side of a tie
the exact product lies; and the quotient of an int and a power of ten, both exact, is the float nearest to the decimals.
"""

from __future__ import annotations

from weft.ir.dtypes import NP_BOOL, PY_FLOAT
from weft.ir.exprs import Expr, const, op
from weft.numpy_rules.arrays import condition, steady
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.scalars import negate

MOST_DIGITS = 22  # powers of ten up to here are floats
_EXACT = 2.0**52  # below, a float that is no whole number tells how far it is from a half
_SPLITTER = 2.0**27 + 1.0


def decimal_round(build: Builder, number: Expr, digits: int) -> Expr:
    """The float with so many decimals, half to even, that is nearest to a float; Python's own for large ones."""
    x, scale = steady(build, number), float(10**digits)
    scaled = steady(build, _of("multiply", x, _float(scale)))
    size = op("absolute", (scaled,), PY_FLOAT)
    build.guard(negate(condition("greater_equal", size, _float(_EXACT))), "a large number is rounded")
    whole = steady(build, op("rint", (scaled,), PY_FLOAT))
    rest = steady(build, _of("subtract", scaled, whole))
    lost = steady(build, _lost(build, x, scale, scaled))
    higher = _both(condition("equal", rest, _float(0.5)), condition("greater", lost, _float(0.0)))
    lower = _both(condition("equal", rest, _float(-0.5)), condition("less", lost, _float(0.0)))
    below = op("select", (lower, _of("subtract", whole, _float(1.0)), whole), PY_FLOAT)
    nearest = op("select", (higher, _of("add", whole, _float(1.0)), below), PY_FLOAT)
    return _of("divide", nearest, _float(scale))


def _lost(build: Builder, x: Expr, scale: float, product: Expr) -> Expr:
    """What rounding took from `x * scale`, exactly: by Dekker, from the halves of the factors."""
    spread = steady(build, _of("multiply", x, _float(_SPLITTER)))
    high = steady(build, _of("subtract", spread, _of("subtract", spread, x)))
    low = steady(build, _of("subtract", x, high))
    scale_high = scale * _SPLITTER - (scale * _SPLITTER - scale)
    first, second = _float(scale_high), _float(scale - scale_high)
    total = _of("subtract", _of("multiply", high, first), product)
    for left, right in ((high, second), (low, first), (low, second)):
        total = _of("add", total, _of("multiply", left, right))
    return total


def _both(left: Expr, right: Expr) -> Expr:
    return op("logical_and", (left, right), NP_BOOL)


def _of(name: str, left: Expr, right: Expr) -> Expr:
    return op(name, (left, right), PY_FLOAT)


def _float(value: float) -> Expr:
    return const(value, PY_FLOAT)
