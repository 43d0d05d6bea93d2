# pyright: reportArgumentType=false, reportCallIssue=false
"""Lists of some dozens of numbers that come in, and positions in them that are known at run time only."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_short_lists(row: Row) -> None:
    row.check()


def ints(n, seed=0):
    return np.random.default_rng(seed).integers(1, 30, n).tolist()


def floats(n):
    return np.random.default_rng(n).random(n).tolist()


@TABLE.add(lambda: (ints(50), ints(50, 1), 80), lambda: (ints(20), ints(20, 1), 0), lambda: (ints(3), ints(3, 1), 20))
def knapsack(weights, values, capacity):
    n = len(weights)
    best = np.zeros((n + 1, capacity + 1), dtype=np.int32)
    for i in range(1, n + 1):
        for w in range(capacity + 1):
            if weights[i - 1] <= w:
                best[i][w] = max(values[i - 1] + best[i - 1][w - weights[i - 1]], best[i - 1][w])
            else:
                best[i][w] = best[i - 1][w]
    chosen, w = [], capacity
    for i in range(n, 0, -1):
        if best[i][w] != best[i - 1][w]:
            chosen.append(i - 1)
            w -= weights[i - 1]
    return best[n][capacity], chosen[::-1]


@TABLE.add(
    lambda: (floats(40), 40), lambda: (floats(40), 41), lambda: (floats(17), -3), lambda: (ints(30), 30),
    lambda: ([], 0), lambda: ([0.5, 1, 2.5] * 10, 30), need="right", ulps=4.0,
)  # fmt: skip
def positions_of_all_kinds(v, n):
    total = 0
    for i in range(n):
        total += v[i] - v[-i - 1] * 0.5
    return total, v[0] if n else None, len(v), sum(v)


@TABLE.add(lambda: (floats(40), np.arange(40)), lambda: (ints(100), np.array([3, -1, 99])))
def positions_in_an_array(v, places):
    out = np.zeros(len(places))
    for k, place in enumerate(places):
        out[k] = v[place]
    return out, v, max(v), np.array(v) * 2


@TABLE.add(
    lambda: ([[float(k), k * 0.5] for k in range(30)], 9), lambda: ([(k, k + 1) for k in range(40)], 39), need="right"
)
def pairs(table, n):
    total = 0.0
    for i in range(n):
        x, y = table[i]
        total += x * y + table[(i * 7) % len(table)][1]
    return total


def first_below(v, bound):
    at = 0
    while at < len(v) and v[at] >= bound:
        at += 1
    return at


def test_one_program_serves_lists_of_many_lengths() -> None:
    program = weft.program(first_below, fallback="error")

    for n in range(20, 60):
        v = ints(n, n)
        assert program(v, 5) == first_below(v, 5)

    assert program.stats.variants < 4


def test_a_position_that_is_not_there_raises_what_python_raises() -> None:
    def last(v, n):
        total = 0
        for i in range(n):
            total += v[i]
        return total

    program = weft.program(last)
    assert program(ints(20), 20) == last(ints(20), 20)
    with pytest.raises(IndexError, match="list index out of range"):
        program(ints(20), 21)
