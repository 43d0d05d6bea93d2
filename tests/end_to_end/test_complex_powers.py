# pyright: reportArgumentType=false
"""`a ** b` of Python's complex numbers: its bits and exceptions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.table import Row, Table

TABLE = Table()
SPECIAL = (0.0, -0.0, 1.0, -3.0, 0.3, 1e-310, -1e301, 1e160, math.inf, -math.inf, math.nan)


@TABLE.parametrize()
def test_programs(row: Row) -> None:
    row.check()


def outcome(function, *args):
    """A result with its bits, or the exception."""
    try:
        return repr(function(*args))
    except (ZeroDivisionError, OverflowError) as problem:
        return type(problem), str(problem)


def numbers(count: int) -> list[complex]:
    random = np.random.default_rng(5)
    found = random.standard_normal(count) + 1j * random.standard_normal(count)
    found = np.concatenate([found, found * 10.0 ** random.uniform(-200, 200, count)])
    return [complex(z) for z in found] + [complex(a, b) for a in SPECIAL for b in SPECIAL]


def products(z):
    return z**0, z**1, z**2, z**3, z**7, z**100, z**2.0


def quotients(z):
    return z**-1, z**-2, z**-5.0


def parts(z):
    return z**0.5, z**-0.5, z**101


def of_real_numbers(z):
    return 2**z, math.e**z, (1 + 2j) ** z


@pytest.mark.parametrize("function", [products, quotients, parts, of_real_numbers])
@pytest.mark.filterwarnings("ignore::weft.FallbackWarning")
def test_bits(function) -> None:
    program: Any = weft.program(function)
    for z in numbers(100):
        assert outcome(program, z) == outcome(function, z), z
    assert program.stats.native_calls > 200


@pytest.mark.filterwarnings("ignore::weft.FallbackWarning")
def test_bits_of_exponents_known_at_run_time() -> None:
    def power(z, w):
        return z**w

    program = weft.program(power)
    whole = [complex(real, imag) for real in (-101, -1, -0.0, 0.0, 2, 100, 101, 0.5) for imag in (0.0, -0.0)]
    for z in numbers(10)[::3]:
        for w in [*numbers(3)[::5], *whole]:
            assert outcome(program, z, w) == outcome(power, z, w), (z, w)


@TABLE.add(lambda: (1 + 2j, 30), lambda: (3j, 30), lambda: (1e200j, 30))
def an_orbit(c, n):
    z = 0j
    for k in range(n):
        z = z**2 + c
        if abs(z) > 2:
            return k, z
    return n, z


@TABLE.add(lambda: (64,), lambda: (1,))
def roots_of_one(n):
    return [math.e ** (-2j * math.pi * k / n) for k in range(n)]


@TABLE.add(lambda: (1 + 2j, 3), lambda: (0j, -1), need="right")
def a_whole_number_known_at_run_time(z, n):
    return z**n, z ** float(n)
