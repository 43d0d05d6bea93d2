# pyright: reportArgumentType=false
"""Tuples and lists repeated as often as a number says that is known when the program runs."""

from __future__ import annotations

import numpy as np

from tests.end_to_end.data import f8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_repeating(row: Row) -> None:
    row.check()


@TABLE.add(lambda: (5, 3), lambda: (5, 0), lambda: (5, -2), lambda: (5, True))
def numbers(n, k):
    return [1, 2] * k, k * [n, 2.5, None], [n] * k, (k * 2) * [n + 0.5, -0.0]


@TABLE.add(lambda: (5, 3), lambda: (5, 0), lambda: (5, -2))
def tuples_in_lists(n, k):
    pairs = [(n, 2.5), (1, 2)] * k
    return pairs, [(1, 2)] * k, sum(x * y for x, y in pairs), len(pairs)


@TABLE.add(lambda: (5, 3), lambda: (2, 0), need="compiled")
def changed_afterwards(n, k):
    found = [(0, 0.0), (1, 1.0)] * k
    for i in range(n):
        found[i] = (i, i * 0.5)
    return found


@TABLE.add(lambda: (5, 3), lambda: (0, 2), lambda: (5, -1))
def lists_of_any_length(n, k):
    squares = [i * i for i in range(n)]
    many, twice = squares * k, 2 * squares
    squares.append(7)
    many.append(8)
    return squares, many, twice, len(twice)


@TABLE.add(lambda: (list(range(200)), 2), lambda: ([1, 2, 3], 2))
def lists_of_the_caller(numbers, k):
    total = 0
    for number in numbers * k:
        total += number
    return total, numbers * 2


@TABLE.add(lambda: (3, 4), lambda: (3, 1), lambda: (3, 0))
def one_array_many_times(n, k):
    parts = [np.zeros(n)] * k
    for i in range(k):
        parts[i] = parts[i] + i
    for part in parts:
        n += part.sum()
    return n, parts


@TABLE.add(lambda: (f8(3), 4))
def changed_wherever_it_stands(x, k):
    rows = [x * 2] * k
    rows[0][1] = 5.0
    pairs = [[x[0]] * 2] * k
    pairs[1][0] = 9.0
    return rows, pairs


@TABLE.add(lambda: (3, 2.5, 2), lambda: (3, 2.5, 0))
def tuples(a, b, k):
    total = 0
    for number in (a, b) * k:
        total += number
    return total, (a, b) * k, np.ones((2,) * k)


@TABLE.add(lambda: (3, 2.5), lambda: (3, 1j), need="compiled")
def no_such_number(a, k):
    return [a, 1] * k


@TABLE.add(lambda: (f8(3), 2), lambda: (f8(3), 300), need="right")
def too_many_one_by_one(x, k):
    rows = [x] * k
    rows[1] = x * 2
    return sum(row.sum() for row in rows)


@TABLE.add(lambda: (3, 2), lambda: (3, 0))
def lists_many_times(n, k):
    row = [1] * n
    rows = [row, 5] * k
    row[0] = 7
    same = [[0] * n] * k
    if k > 1:
        same[1][0] = 1
    return rows, same, [[0] * n] * k, [[i * i for i in range(n)], [1] * n] * k, [([0] * n, 2)] * k
