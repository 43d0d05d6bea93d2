# pyright: reportArgumentType=false
"""`in` and `not in`, for arrays and for lists that grow."""

from __future__ import annotations

import numpy as np

from tests.end_to_end.data import b1, f4, f8, i4, i8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_membership(row: Row) -> None:
    row.check()


@TABLE.add(
    lambda: (f8(5), 3.0), lambda: (i8(5), 3), lambda: (i4(2, 3), np.int64(4)), lambda: (f4(3), 0.1), lambda: (f8(0), 1),
    lambda: (np.array([np.nan, 1.0]), np.nan), lambda: (b1(4), True), lambda: (f8(6)[::-2], np.float32(2)),
    lambda: (np.array([1j, 2.0]), 2), lambda: (i8(3).reshape(1, 3, 1), 1),
)  # fmt: skip
def in_an_array(x, v):
    return v in x, v not in x


@TABLE.add(lambda: (np.arange(5, dtype=np.uint8), 300), lambda: (np.arange(5, dtype=np.uint8), -1), need="compiled")
def beyond_the_type(x, v):
    return v in x


@TABLE.add(lambda: (i8(4, 5) % 7, 1), lambda: (i8(1, 2), 9))
def in_rows_and_columns(grid, value):
    total = 0
    for k in range(20):
        if k in grid[0, :] or (k not in grid[:, 1] and k + value in grid):
            total += k
    return total


@TABLE.add(lambda: (40, 7), lambda: (0, 7), lambda: (3, 3))
def in_a_list_that_grows(n, divisor):
    seen, path = [], [(0, 0)]
    for k in range(n):
        value = k * k % divisor
        if value not in seen:
            seen.append(value)
        if (value, k % 3) not in path:
            path.append((value, k % 3))
    return seen, path, (1, 1) in path, 5 in seen


@TABLE.add(lambda: (f8(6),), lambda: (np.array([np.nan, 1.0, np.nan]),), need="right")
def in_a_list_of_floats(x):
    seen = []
    for value in x:
        if value not in seen:
            seen.append(value)
    return seen


@TABLE.add(lambda: (9,), need="right")
def other_items(n):
    seen = []
    for k in range(n):
        if (k,) not in seen and 1.5 not in seen:
            seen.append(k)
    return seen
