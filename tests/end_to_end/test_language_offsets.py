# pyright: reportArgumentType=false
"""Loops over a few numbers around loops of any length: one body for all of them, or one for each."""

from __future__ import annotations

import numpy as np

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.data import f8, i8
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_offsets(row: Row) -> None:
    row.check()


@TABLE.add(lambda: (i8(5, 4),), lambda: (i8(1, 1),))
def neighbours(g):
    H, W = g.shape
    out = np.zeros_like(g)
    for dy, dx in [(-1, 0), (1, 0), (0, -1), (0, 1)]:
        for i in range(H):
            for j in range(W):
                if 0 <= i + dy < H and 0 <= j + dx < W:
                    out[i, j] += g[i + dy, j + dx]
    return out, dy, dx


@TABLE.add(lambda: (f8(20),), lambda: (f8(3),), ulps=4)
def lags(x):
    found = []
    for k in (1, 2, 4, 8):
        total = 0.0
        for i in range(len(x) - k):
            total += (x[i + k] - x[i]) ** 2
        found.append(total)
    return found, np.array(found)


@TABLE.add(lambda: (f8(4, 5, 3),), ulps=8)
def axes(x):
    total = 0.0
    for axis in (0, 1, 2):
        d = np.diff(x, axis=axis)
        for i in range(d.shape[0]):
            total += np.abs(d[i]).sum()
    return total


@TABLE.add(lambda: (f8(9),), lambda: (f8(9) * 100,), need="right")
def broken_off_and_changed(x):
    steps = [1, 2, 3]
    total = 0
    for k in steps:
        i = 0
        while i < len(x) and x[i] < 5:
            i += k
            if i == 7:
                break
        else:
            total += 100
        total += i
        if k == 2 and total > 300:
            steps.append(5)
    return total, steps


@TABLE.add(lambda: (f8(9), 0), lambda: (f8(9), 8), lambda: (f8(9), 20), need="right")
def left_in_the_middle(x, far):
    total = 0.0
    for k, w in enumerate((0.5, 0.25, 0.125)):
        for i in range(len(x)):
            total += w * x[i - k]
        x[k] += x[k + far]
    for k in (10**19, 2, 3):
        for _ in range(len(x)):
            total += k
    for a, b in zip((1, 2, 3), (x[0], x[1], 2.5), strict=True):
        for _ in range(len(x)):
            total += a * b
    return total


def test_there_is_one_body() -> None:
    program = weft.program(neighbours)
    program(i8(5, 4))
    assert program.inspect_source().count("for (int64_t j") <= 2
