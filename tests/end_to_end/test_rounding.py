"""`round(x, digits)`: Python's own decimals, on which side of a tie a float lies decided by its exact value."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_rounding(row: Row) -> None:
    row.check()


@TABLE.add(
    lambda: (2.675, np.float64(2.675)),
    lambda: (-0.001, np.float32(0.45)),
    lambda: (7, 2.5),
    lambda: (True, -2.5),
    lambda: (float("nan"), -0.0),
    lambda: (5e-324, np.float64(-1e-300)),
)
def decimals(x, y):
    return round(x, 0), round(x, 2), round(y, 1), round(y, 2)


@TABLE.add(lambda: (1e300, 7), lambda: (float("inf"), 7), lambda: (-4503599627370495.5, 7), need="compiled")
def large(x, n):
    return round(x, 2), round(n, 3)


@TABLE.add(lambda: (200000.0, 0.045, 6), lambda: (0.0, 0.01, 2))
def repaid(balance, rate, months):
    payment = balance * (rate / 12) / (1 - (1 + rate / 12) ** -months)
    rows = []
    for _ in range(months):
        interest = balance * rate / 12
        balance -= payment - interest
        rows.append((round(interest, 2), round(balance, 2)))
    return rows


@pytest.mark.parametrize("digits", [0, 1, 2, 3, 5, 9])
def test_ties_and_what_is_near(digits: int) -> None:
    rng = np.random.default_rng(digits)
    ties = (rng.integers(-(10**6), 10**6, 500) * 2 + 1) / 2 / 10.0 ** rng.integers(0, 9, 500)
    values = [*ties, *np.nextafter(ties, 0), *np.nextafter(ties, 1e9), *(rng.integers(-(2**20), 2**20, 500) / 2.0**12)]

    def rounded(x, n):
        return round(x, n)

    program = weft.program(rounded, fallback="error")

    assert [program(float(x), digits) for x in values] == [round(float(x), digits) for x in values]
