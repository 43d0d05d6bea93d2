# pyright: reportArgumentType=false, reportPossiblyUnboundVariable=false
"""Sums of slices that short loops shift: stencils and filters as many write them."""

from __future__ import annotations

import numpy as np

import weft
from tests.end_to_end.data import c16, f4, f8, i8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_shifted_slices(row: Row) -> None:
    row.check()


@TABLE.add(lambda: (f8(9, 8), f8(3, 3)), lambda: (f4(9, 8), f4(3, 3)), lambda: (c16(3, 3), f8(3, 3)))
def weighted(x, w):
    h, v = x.shape
    out = np.zeros((h - 2, v - 2), x.dtype)
    for i in range(3):
        for j in range(3):
            out += w[i, j] * x[i : i + h - 2, j : j + v - 2]
    return out, i, j


@TABLE.add(lambda: (f8(9, 8),), lambda: (i8(9, 8)[::-1, ::2],), lambda: (f8(2, 2),), lambda: (f8(82, 83),))
def neighbours(x):
    n = np.zeros_like(x)
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            if dy or dx:
                n[1:-1, 1:-1] += x[1 + dy : x.shape[0] - 1 + dy, 1 + dx : x.shape[1] - 1 + dx]
    return n


@TABLE.add(lambda: (f8(20),), lambda: (f8(3),), lambda: (f8(4),))
def with_jumps(x):
    y = np.zeros(max(x.size - 4, 0))
    for k in range(5):
        if k == 1:
            continue
        if k == 4:
            break
        y += x[k : x.size - 4 + k]
    else:
        y += 1.0
    return y, k


@TABLE.add(lambda: (f8(30),), lambda: (f8(4),), need="compiled")
def by_steps(x):
    best = x[:-4].copy()
    for k in range(0, 5, 2):
        best = np.maximum(best, x[k : x.size - 4 + k])
    for k in range(4, -1, -2):
        best[k:] = np.minimum(best[k:], 7.0)
    return best


@TABLE.add(lambda: (f8(30, 30),))
def pairs(p):
    n = sum(p[1 + dy : 29 + dy, 1 + dx : 29 + dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0))
    m = sum(p[1 + dy : 29 + dy] for dy in (-1, 0, 1) if (dy, 1) == (0, 1) or [dy] == [1])
    return n, m


@TABLE.add(lambda: (f8(40),), lambda: (f8(0),))
def many_turns(x):
    y = np.zeros(max(x.size - 30, 0))
    for k in range(31):
        y += x[k : x.size - 30 + k]
    return y


def test_one_loop_is_enough() -> None:
    @weft.program(fallback="error")
    def box(x):
        h, w = x.shape
        out = np.zeros((h - 2, w - 2))
        for i in range(3):
            for j in range(3):
                out += x[i : i + h - 2, j : j + w - 2]
        return out / 9

    x = np.arange(200.0).reshape(10, 20)
    np.testing.assert_allclose(box(x), x[1:-1, 1:-1])
    assert str(box.explain()).count("a loop over 2 axes") == 1


@TABLE.add(lambda: (i8(12) + 20,), lambda: (np.array([3, 0, 2], np.int32),), lambda: (i8(0),))
def ragged(lengths):
    out = np.zeros(lengths.sum())
    place = 0
    for k in range(len(lengths)):
        out[place : place + lengths[k]] = k
        place += lengths[k]
    return out, place


@TABLE.add(lambda: (f8(30), np.array([2, 3, 1])), lambda: (f8(30)[::-1], np.array([2, 3, 1], np.uint8)))
def ends_of_two_types(x, cuts):
    first, step, total = 0, 1, 0.0
    for cut in cuts:
        total += x[first : first + cut : step].sum() + x[-first - 1]
        x[first:20:step] *= 0.5
        first = first + cut
        step = cut
    return total, x[first:], first


@TABLE.add(lambda: (f8(6, 6),), lambda: (f4(5, 7),), lambda: (i8(3, 3),), lambda: (f8(0, 4),), need="native")
def slices_of_one(x):
    y = x.copy()
    for k in range(x.shape[0]):
        through = x[:, k : k + 1] + x[k : k + 1, :]
        y = np.where(through < y, through, y)
    return y


@TABLE.add(lambda: (f8(4, 3),), lambda: (f8(3, 4),), lambda: (f8(1, 1),), need="compiled")
def slices_of_one_and_none(x):
    total = 0.0
    for k in range(x.shape[0] + 1):
        total += x[:, k : k + 1].sum() + x[k : k + 1].size
    return total, x[2:3], x[:, 3:4].shape
