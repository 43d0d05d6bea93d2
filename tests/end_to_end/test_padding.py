# pyright: reportArgumentType=false
"""Borders of arrays and differences of neighbours."""

from __future__ import annotations

import numpy as np

from tests.end_to_end.data import b1, c16, f4, f8, i8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_padding(row: Row) -> None:
    row.check()


@TABLE.add(
    lambda: (f8(4, 3),), lambda: (i8(5),), lambda: (b1(2, 3),), lambda: (c16(2, 2, 2),), lambda: (f8(0, 3),),
    lambda: (f4(8, 6)[::-2, ::3],),
)  # fmt: skip
def numbers(a):
    return np.pad(a, 1), np.pad(a, (2, 0)), np.pad(a, ((1, 2),), "constant"), np.pad(a, 0), np.pad(a, [1, 2])


@TABLE.add(lambda: (f8(4, 3), 2, 1.5), lambda: (f8(4, 3), 0, np.inf), lambda: (f8(4, 3), -1, 0.0), need="compiled")
def of_run_time(a, width, value):
    return np.pad(a, ((width, 1), (0, width)), constant_values=value), np.pad(a, width, mode="edge")


@TABLE.add(
    lambda: (f8(4, 3),), lambda: (i8(3, 3)[:, ::-1],), lambda: (f8(2, 2),), lambda: (f8(1, 5),), lambda: (f8(0, 3),),
    need="compiled",
)  # fmt: skip
def repeated(a):
    return (
        np.pad(a, ((1, 2), (2, 1)), mode="edge"),
        np.pad(a, ((1, 2), (2, 1)), mode="wrap"),
        np.pad(a, 1, mode="reflect"),
        np.pad(a, ((2, 1), (1, 2)), mode="symmetric"),
    )


@TABLE.add(lambda: (f8(4, 3), f8(6)), need="compiled")
def other_forms(a, v):
    columns = np.pad(a.T, 1)
    return columns, np.pad(v, 2, "mean"), np.pad(v, (1, 2), constant_values=(3, 4)), np.pad(v, 1, constant_values=7)


@TABLE.add(lambda: (f8(9, 8), 3), lambda: (i8(9, 8), 2))
def life(g, steps):
    for _ in range(steps):
        p = np.pad(g, 1)
        n = sum(p[1 + y : 10 + y, 1 + x : 9 + x] for y in (-1, 0, 1) for x in (-1, 0, 1) if (y, x) != (0, 0))
        g = ((n == 3) | ((g == 1) & (n == 2))).astype(g.dtype)
    return g


@TABLE.add(lambda: (f8(5, 4),), lambda: (f4(5, 4)[:, ::-1],), lambda: (i8(2, 2),), lambda: (c16(4, 3),))
def slopes(a):
    y, x = np.gradient(a)
    return y, x, np.gradient(a, axis=1), np.gradient(a, 0.5, axis=-2), np.gradient(a, 2, 0.25), np.gradient(a[0])


@TABLE.add(lambda: (f8(1, 4),), lambda: (f8(4, 0),), need="compiled")
def too_short(a):
    return np.gradient(a)


@TABLE.add(lambda: (f8(5), f8(5)), need="compiled")
def other_slopes(a, x):
    return np.gradient(a, x), np.gradient(a, edge_order=2), np.gradient(a, np.float64(0.5)), np.gradient(a, axis=(0,))
