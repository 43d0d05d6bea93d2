"""The rows "Python ints" and "floats: arithmetic": corner cases of integer and float operations, their warnings too."""

# The programs are written as users write them.
# ruff: noqa: PLR0124, C901, E501

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import weft
from tests.semantics.cases import agree, choices, define

INTEGERS = ("b", "h", "i", "l", "B", "H", "I", "L")
ODD_FLOATS = (0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, 5e-324, 1.7e308, -3.0, 1e-320)


def ends(dtype: str) -> np.ndarray:
    """The numbers where integer arithmetic is peculiar."""
    info = np.iinfo(dtype)
    low = [info.min, info.min + 1, -1] if info.min else [1, 2, 3]
    return np.array([*low, 0, 1, 2, 3, 7, info.max - 1, info.max], dtype)


def grid(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every number with every number."""
    n = len(values)
    return np.repeat(values, n), np.tile(values, n)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_at_their_ends(dtype: str) -> None:
    """Wrapping, division by zero, the smallest number divided by -1, shifts beyond the width."""

    def whole(a, b, s, n):
        return (
            a + b, a - b, a * b, a // b, a % b, -a, abs(a), np.abs(a), a << s, a >> s, a & b, a | b, a ^ b, ~a,
            np.square(a), np.sign(a), np.minimum(a, b), a < b, a == b, divmod(a, b), np.fmod(a, b), a // n, a % n,
            np.left_shift(a, n), np.right_shift(a, s), a / b, np.floor_divide(a, b),
        )  # fmt: skip

    def make(n):
        a, b = grid(ends(dtype))
        shifts = np.resize(np.array([0, 1, 7, 8, 31, 32, 63, 64, 100], dtype), len(a))
        return a, b, shifts, n

    agree(whole, lambda: make(0), lambda: make(3), lambda: make(5))


@pytest.mark.parametrize("dtype", ["b", "l", "B", "L"])
def test_integer_scalars_at_their_ends(dtype: str) -> None:
    def whole(k, a, b):
        if k == 0:
            return a + b, a - b, a * b
        elif k == 1:
            return a // b, a % b
        elif k == 2:
            return divmod(a, b), a / b
        elif k == 3:
            return -a, abs(a), ~a
        elif k == 4:
            return a << b, a >> b
        return a < b, a == b, a & b, min(a, b)

    values = [ends(dtype)[i] for i in (0, 2, 3, 4, 7, 9)]
    agree(whole, *choices(6, *[lambda a=a, b=b: (a, b) for a, b in product(values, values)]))


def powers(k, a, e, x, n):
    """Exponents that are negative are an error for integers."""
    if k == 0:
        return a**e
    elif k == 1:
        return a**n, x**n
    elif k == 2:
        return np.power(a, e), np.power(x, e)
    elif k == 3:
        return n ** abs(n), 2**n, (-2) ** n
    elif k == 4:
        return a[0] ** e[0], x[0] ** n
    elif k == 5:
        a **= n
        return a
    return a**2, a**0, x**-1, x**0.5, x**2, x ** (-2), 2**a, 2.0**a


def test_powers() -> None:
    base = lambda d: np.array([0, 1, 2, 3], d)  # noqa: E731
    makers = [
        lambda d=d, e=e, n=n: (base(d), np.array(e, d), np.array([0.5, -0.0, 2.0, np.inf]), n)
        for d in ("i", "l", "b")
        for e, n in (([0, 1, 2, 3], 2), ([1, 2, 3, -1], -1), ([1, 1, 1, 1], 0))
    ]
    agree(powers, *choices(7, *makers), ulps=4)


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_floats_of_every_kind(dtype: str) -> None:
    """Signs of zeros, infinities, NaN, subnormals through division, floor division and remainder."""

    def whole(a, b):
        return (
            a + b, a - b, a * b, a / b, a // b, a % b, np.fmod(a, b), np.minimum(a, b), np.fmax(a, b + 1) == 0, a < b, a == b,
            a != a, -a, abs(a), np.sign(a), np.floor(a), np.ceil(a), np.trunc(a), np.rint(a), np.sqrt(a), np.square(a),
            np.reciprocal(a), np.copysign(a, b), np.signbit(a), np.isnan(a), np.isinf(a), np.maximum(a, b), divmod(a, b),
            a > 0, np.isfinite(b), np.hypot(a, b) > 1, np.logical_and(a, b),
        )  # fmt: skip

    def make():
        with np.errstate(all="ignore"):
            return grid(np.array(ODD_FLOATS, np.float64).astype(dtype))

    agree(whole, make)


def scalar_floats(k, a, b):
    if k == 0:
        return a / b
    elif k == 1:
        return a // b, a % b
    elif k == 2:
        return divmod(a, b)
    elif k == 3:
        return a * b, a + b, a - b, a < b, a == b, -a, abs(a)
    elif k == 4:
        return min(a, b), max(b, a), bool(a), not b
    elif k == 5:
        return math.sqrt(a)
    elif k == 6:
        return int(a), round(b)
    elif k == 7:
        return math.floor(a), math.ceil(b)
    elif k == 8:
        return math.trunc(a), math.fmod(a, b)
    return math.copysign(a, b), math.isnan(a), math.isinf(b)


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_scalar_floats_of_every_kind(kind: type) -> None:
    values = [kind(value) for value in (0.0, -0.0, 1.5, -2.5, np.inf, np.nan, 1e30)]
    agree(scalar_floats, *choices(10, *[lambda a=a, b=b: (a, b) for a, b in product(values, values)]))


def python_ints(k, a, b):
    """Beyond 64 bits Python goes on with its own integers."""
    if k == 0:
        return a + b, a - b
    elif k == 1:
        return a * b
    elif k == 2:
        return a // b, a % b
    elif k == 3:
        return divmod(a, b)
    elif k == 4:
        return a << (b & 63), a >> (b & 63)
    elif k == 5:
        return -a, abs(a), ~a, a & b, a | b, a ^ b
    elif k == 6:
        return a / b
    elif k == 7:
        return a < b, a == b, bool(a), float(a), min(a, b)
    elif k == 8:
        return a ** (b % 70)
    elif k == 9:
        return a << b
    elif k == 10:
        return int(float(a)), round(a), pow(a, 2)
    total = 1
    for i in range(70):
        total = total * (i + 1) if i < (b & 63) else total
    return total


def test_python_ints() -> None:
    values = [0, 1, -1, 7, -7, 2**31, 2**62, 2**63 - 1, -(2**63)]
    agree(python_ints, *choices(12, *[lambda a=a, b=b: (a, b) for a, b in product(values, values)]))


def converted(k, x, i, z):
    """Casts of arrays and scalars that lose something."""
    if k == 0:
        return x.astype(np.float32), x.astype(np.bool_), i.astype(np.int8), i.astype(np.uint8), i.astype(np.float32)
    elif k == 1:
        return i.astype(np.uint64), z.astype(np.complex64), i.astype(np.complex64), x.astype(np.complex128)
    elif k == 2:
        return x.astype(np.int32)
    elif k == 3:
        return z.real.astype(np.float32) + 1, np.imag(z) * 2
    elif k == 4:
        return x.astype(np.uint8)
    elif k == 5:
        return np.int8(i[0]), np.uint8(i[1]), np.int32(x[1]), np.float32(x[0]), np.bool_(x[0])
    return np.asarray(x, dtype=np.float32), i.astype("f8", copy=False), np.array(x, np.int64)


def test_casts() -> None:
    def make(*numbers):
        return np.array(numbers), np.array([-1, 300, 2**40]), np.array([1 + 2j, 0, -1j])

    agree(
        converted,
        *choices(7, lambda: make(1.5, -2.5, 0.0), lambda: make(1e300, 3.0, -0.0), lambda: make(np.nan, 1.0, np.inf)),
    )


def test_operations_on_literals() -> None:
    """What is known at compile time gives what it gives at run time."""
    text = "def f(x):\n    return (%s,)\n"
    values = ("7", "-7", "2.5", "-2.5", "0.0", "-0.0", "True", "1e308", "3")
    terms = [f"{a} {op} {b}" for a, op, b in product(values, ("//", "%", "+", "*"), ("3", "-2", "2.5", "-0.5", "True"))]
    agree(define(text % ", ".join([*terms, "x"])), lambda: (1,))


def zero_minus_integers(c: Any) -> Any:
    nothing = np.zeros(c.shape[0])
    return nothing - c, nothing * 2.0 - c, nothing * c - c, 0.0 - c, -0.0 - c


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64", "uint16", "uint64"])
def test_zero_minus_an_integer_zero_keeps_its_sign(dtype: str) -> None:
    c = np.array([0, 3, 0, 1], dtype)
    program: Any = weft.program(zero_minus_integers, fallback="error")
    for got, expected in zip(program(c), zero_minus_integers(c), strict=True):
        assert got.tobytes() == expected.tobytes()
