# pyright: reportArgumentType=false
"""The functions of cmath: the bits and exceptions of Python."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

import weft
from tests.end_to_end.data import c16, f8
from tests.end_to_end.table import Row, Table

TABLE = Table()
FUNCTIONS = (cmath.exp, cmath.sqrt, cmath.log, cmath.phase, cmath.polar, cmath.isnan, cmath.isinf, cmath.isfinite)
SPECIAL = (0.0, -0.0, 1.0, -3.0, 705.0, 720.0, 1e-310, -1e301, math.inf, -math.inf, math.nan)


@TABLE.parametrize()
def test_programs(row: Row) -> None:
    row.check()


def outcome(function, *args):
    """A result with its bits, or the exception."""
    try:
        return repr(function(*args))
    except (ValueError, OverflowError) as problem:
        return type(problem), str(problem)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_bits(function) -> None:
    """Numbers of all sizes, those on and near the unit circle, and what is not finite or nothing."""

    def called(z):
        return function(z), 0.5 * z

    random = np.random.default_rng(3)
    sizes = 10.0 ** random.uniform(-6, 2, 300)
    turns = random.uniform(-4, 4, 300)
    numbers = [complex(z) for z in sizes * np.exp(1j * turns)] + [cmath.rect(1.0 + 1e-9, t) for t in turns]
    numbers += [complex(a, b) for a in SPECIAL for b in SPECIAL]
    program = weft.program(called, fallback="error")
    for z in numbers:
        assert outcome(program, z) == outcome(called, z), z
    assert program.stats.native_calls > 600


@TABLE.add(lambda: (f8(6),), lambda: (f8(1),), ulps=16)
def transform(x):
    n = len(x)
    found = np.zeros(n, complex)
    for k in range(n):
        for j in range(n):
            found[k] += x[j] * cmath.exp(-2j * cmath.pi * k * j / n)
    return found


@TABLE.add(lambda: (f8(6), -f8(6) + 3), lambda: (np.zeros(2), np.zeros(2)), ulps=4)
def roots(b, c):
    found = []
    for i in range(len(b)):
        root = cmath.sqrt(b[i] * b[i] - 4 * c[i])
        found.append((-b[i] + root) / 2)
    return found


@TABLE.add(lambda: (c16(5) + 0.5, 3), lambda: (c16(5) + 0.5, 2.5), lambda: (c16(5), math.inf), need="compiled")
def there_and_back(z, size):
    pairs, points = [], []
    for i in range(len(z)):
        length, angle = cmath.polar(z[i])
        pairs.append((length, angle))
        points.append(cmath.rect(length * size, angle))
    return pairs, points, cmath.rect(size, 0), cmath.log(size)


@TABLE.add(lambda: (2.5, np.complex64(1 - 2j), True), lambda: (0, np.float32(3), 7), need="compiled")
def of_other_numbers(a, b, c):
    return cmath.exp(a), cmath.phase(b), cmath.sqrt(b), cmath.exp(c), cmath.polar(c), cmath.isnan(a), cmath.log(b)


@TABLE.add(lambda: (2.5,), lambda: (1j,), need="right")
def in_other_ways(z):
    return cmath.log(z, 2), cmath.sin(z), cmath.isclose(z, z)
