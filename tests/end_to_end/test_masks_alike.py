# pyright: reportArgumentType=false
"""Masks that are computed twice from the same elements, and those that only look so."""

from __future__ import annotations

import numpy as np

import weft
from tests.end_to_end.data import c16, f4, f8, i8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_masks_alike(row: Row) -> None:
    row.check()


@TABLE.add(lambda: (f8(40) - 20,), lambda: (f4(5, 8) - 20,), lambda: (f8(80)[::-2] - 30,), lambda: (f8(0),))
def powers(a):
    a[a > 0] = a[a > 0] ** (-1.5)
    return a


@TABLE.add(lambda: (f8(40) - 20, f8(40)), lambda: (i8(40) - 20, f8(40)))
def both_sides(a, b):
    b[(a > -3) & (a < 9)] = b[(a > -3) & (a < 9)] * 2 + a[(a > -3) & (a < 9)]
    return b, a[a < 5].sum(), a[a < 5].mean(), b[a < 5]


@TABLE.add(lambda: (f8(40) - 20,))
def written_between(a):
    first = a[a > 0]
    a[3] = 7.5
    a[a > 0] = a[a > 0] + 1
    a[a > 3] = -1.0
    a[a > 3] = -2.0
    return first, a, a[a > 0]


@TABLE.add(lambda: (f8(40) - 20,))
def written_before_use(a):
    m = a > 0
    a[2] = 9.0
    low = a[m]
    a[a > 0] = a[a > 0] * 3
    return low, a, m


@TABLE.add(lambda: (f8(40) - 20,))
def mask_changed(a):
    m = a > 0
    x = a[m]
    m[1] = True
    a[a > 0] = a[a > 0] * 3
    return x, a[m], a


@TABLE.add(lambda: (f8(40) - 20, 3.0, 5.0), lambda: (c16(40), 0.5, 2.0))
def by_a_number(a, low, high):
    a[abs(a) > low] = a[abs(a) > low] / 2
    a[abs(a) > high] = a[abs(a) > low][: a[abs(a) > high].size]
    return a


@TABLE.add(lambda: (f8(40) - 20,))
def zeros_of_either_sign(a):
    a[a > 0.0] = np.copysign(1.0, a[a > -0.0])
    return a


@TABLE.add(lambda: (f8(6, 6) - 20, 4))
def in_loops(a, n):
    for k in range(n):
        a[a < 0] = a[a < 0] * 0.5 + k
        if k > 1:
            a[a < 0] = 0.25
        a[a > 2] -= a[a > 2] * 0.125
    return a


@TABLE.add(lambda: (f8(40) - 20, f8(40) - 12))
def through_a_view(a, b):
    v = a[::2]
    x = v[v > 0]
    a[:] = b
    y = v[v > 0]
    return x, y


def test_one_mask_is_enough() -> None:
    @weft.program(fallback="error")
    def update(a):
        b = a * 2
        b[b > 0] = b[b > 0] ** 2
        return b

    a = np.linspace(-3, 3, 100)
    np.testing.assert_array_equal(update(a), np.where(a > 0, (a * 2) ** 2, a * 2))
    assert update.inspect_source().count("ctx->alloc(") == 1  # the result: nothing is counted, nothing collected
