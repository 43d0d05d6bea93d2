# pyright: reportArgumentType=false, reportUnknownArgumentType=false
"""Loops over the points of grids and over one object many times."""

# The programs are written as users write them, so that each form occurs as it is.

from __future__ import annotations

import itertools
from itertools import repeat

import numpy as np

from tests.compiling import PLAINLY
from tests.end_to_end.data import f8
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY
TABLE = Table()


@TABLE.parametrize()
def test_grids(row: Row) -> None:
    row.check()


@TABLE.add(lambda: (f8(5),), lambda: (f8(0),), lambda: (np.arange(4),))
def points_of_one_axis(x):
    total = 0
    for point in np.ndindex(x.shape):
        total += x[point] * point[0]
    for (i,) in np.ndindex(x.shape[0]):
        total += x[i]
    for point in itertools.product(range(3)):
        total += point[0]
    return total


@TABLE.add(lambda: (2, 3), lambda: (2, 0), lambda: (-1, 3), lambda: (2, -1))
def negative_extents(n, m):
    seen = 0
    for i, j in np.ndindex(n, m):
        seen += i * 10 + j
    return seen


@TABLE.add(lambda: (f8(4), 3), lambda: (f8(4), -3))
def negative_extent(x, n):
    for (i,) in np.ndindex(n):
        x[i] += 1.0
    return x


@TABLE.add(lambda: (f8(4), 3), lambda: (f8(4), 0), lambda: (f8(4), -2), lambda: (f8(4), np.int64(2)))
def one_step_many_times(x, n):
    y = x.copy()
    for _ in itertools.repeat(None, n):
        y = y * 0.5 + x
    return y


@TABLE.add(lambda: (f8(4), 2.0))
def no_number_of_times(x, n):
    for _ in repeat(None, n):
        x += 1.0
    return x


@TABLE.add(lambda: (f8(4), 3), lambda: (f8(4), 9), lambda: (f8(4), 0))
def one_number_beside_others(x, n):
    total = 0.0
    for k, (value, weight) in enumerate(zip(x, repeat(2.5, times=n), strict=False)):
        total += value * weight + k
    return total


@TABLE.add(lambda: (f8(4), 3), lambda: (f8(4), 0))
def one_array_many_times(x, n):
    firsts = []
    for same in repeat(x, n):
        firsts.append(same[0])
        same[0] += 1.0
    return firsts


@TABLE.add(lambda: (np.arange(1, 9), 3), lambda: (np.arange(1, 9), 10), need="compiled")
def out_of_bounds_in_a_turn(x, n):
    total = 0
    for step in repeat(1, n):
        total += x[total] * step
    return total


@TABLE.add(lambda: (3.5,), lambda: (np.arange(3),))
def a_known_number_of_times(x):
    out = []
    for k, same in enumerate(repeat(x, 3)):
        out.append(same * k)
    return out, [same + 1 for same in repeat(x, 2)], [a * b for a, b in zip(repeat(x, 3), (1, 2), strict=False)]


@TABLE.add(lambda: (3, 2), lambda: (3, 3), lambda: (3, 0), lambda: (2**61, 5), need="right")
def one_list_many_times(x, n):
    seen = []
    for same in repeat([x, 1], n):
        same[0] = same[0] + x
        seen.append(same[0])
    for same in repeat([x, 1], 2):
        same[1] = same[1] + 1
        seen.append(same[1])
    row = [x, 2]
    for first, second in zip(repeat(row, n), repeat(row, n), strict=False):
        first[0] += x
        second[1] += 1
    return seen, row
