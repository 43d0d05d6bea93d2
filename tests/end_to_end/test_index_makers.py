# pyright: reportArgumentType=false
"""Arrays made by indexing: grids and vectors joined in brackets."""

from __future__ import annotations

import numpy as np

from tests.end_to_end.data import c16, f4, f8, i8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_index_makers(row: Row) -> None:
    row.check()


@TABLE.add(lambda: (3, 5), lambda: (0, 2), lambda: (2, 0), lambda: (4, 1))
def whole(n, m):
    y, x = np.mgrid[0:n, 0:m]
    g = np.mgrid[-2:n, :m, 1:4]
    g[0] += 7
    return y * 10 + x, g, g.sum(), np.mgrid[0:3, 0:2]


@TABLE.add(lambda: (3, 5), ulps=4)
def bell(n, m):
    y, x = np.mgrid[0:n, 0:m]
    return np.exp(-((x - m // 2) ** 2 + (y - n // 2) ** 2) / 8.0)


@TABLE.add(lambda: (-3, 5), need="compiled")
def negative(n, m):
    return np.mgrid[0:n, 0:m]


@TABLE.add(lambda: (-1.5, 1.5), lambda: (0, 3), lambda: (2.0, -1), lambda: (0.1, 0.7))
def points(low, high):
    y, x = np.mgrid[low:high:7j, -1:1:4j]
    return y, x, np.mgrid[low:high:3j, 0:5], np.mgrid[0:5, low:high:2j]


@TABLE.add(lambda: (3, 5), lambda: (1, 0))
def open_grids(n, m):
    y, x = np.ogrid[0:n, -m:m]
    u, v, w = np.ogrid[-1:1:5j, 0:n, :2]
    return y * x, u + v * w, u


@TABLE.add(lambda: (6, 0.5), need="compiled")
def left_to_numpy(n, s):
    return np.mgrid[0:n:2, 0:n], np.mgrid[0:3:s, 0:2], np.ogrid[0:n], np.mgrid[0:n], np.mgrid[0:1:3j]


@TABLE.add(
    lambda: (f8(4), f8(3)),
    lambda: (f4(4)[::-2], f4(0)),
    lambda: (c16(2), c16(3)),
    lambda: (i8(2), i8(3)),
    need="compiled",
)
def vectors(a, b):
    return np.r_[a, b, a], np.c_[a, a * 2], np.r_[b[1:], b[:1]]


@TABLE.add(lambda: (f8(4), 2.5), lambda: (f4(4), 2.5), lambda: (f8(0), -0.0), need="compiled")
def numbers(a, x):
    return np.r_[np.inf, a[:-1], x], np.r_[a, 1.5], np.minimum(np.r_[np.inf, a], np.r_[a, np.inf])


@TABLE.add(lambda: (f8(4), i8(3)), lambda: (f4(4), f8(3)), need="compiled")
def mixed(a, b):
    return np.r_[a, b], np.r_[a, 1], np.r_[b, 2.5, a], np.r_[0:3, a], np.r_[1, 2, 3]
