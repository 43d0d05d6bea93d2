# pyright: reportArgumentType=false
"""Nested functions given to functions that have variables of the same names, and Python that goes on in there."""

# ruff: noqa: B023 - each function is called in its turn

from __future__ import annotations

import numpy as np

from tests.compiling import PLAINLY
from tests.end_to_end.data import f8
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_given_functions(row: Row) -> None:
    row.check()


def halved(f, a, b, tolerance=1e-6):
    fa = f(a)
    while b - a > tolerance:
        m = 0.5 * (a + b)
        if (fa > 0) == (f(m) > 0):
            a = m
        else:
            b = m
    return 0.5 * (a + b)


@TABLE.add(lambda: (f8(4) ** 2, (0.5, 1.0)), lambda: (f8(0), (0.5, 1.0)))
def roots(x, shifts):
    out = np.empty((len(x), 2))
    for i, a in enumerate(x):
        for j, b in enumerate(shifts):

            def h(t):
                return t * t - a - b

            out[i, j] = halved(h, 0.0, 100.0)
    return out, halved(lambda tolerance: tolerance - len(shifts), 0.0, 9.0)


def clipped_sum(f, x, n):
    total = 0.0
    for i in range(n):
        part = x[i : i + 3]
        total = total + f(part[0])
        x[i] = f(x[i])
    return total


@TABLE.add(lambda: (f8(6), 3, 2.0), lambda: (f8(4), 4, 0.5), lambda: (f8(4), 9, 0.5), need="compiled")
def sums(x, n, total):
    i = n * total

    def f(y):
        return y * total + i

    once = clipped_sum(f, x, n)
    return once + clipped_sum(lambda y: y - i * n, x, n), total, i, x


@TABLE.add(lambda: (f8(5), 4, 1.5), lambda: (f8(5), 5, 1.5), need="compiled")
def functions_of_functions(x, n, y):
    part = x * 2.0

    def g(i):
        return part[int(abs(i)) % 5] * y

    def f(total):
        return g(total) + n

    return clipped_sum(f, x, n) + clipped_sum(g, x, n)


def grows(f, x, n):
    total, k = 0.0, 3
    for i in range(n):
        k = k * k * 7  # beyond 64 bits before long: Python goes on there
        total = total + f(x[i])
        x[i] = total
    return total, k


@TABLE.add(lambda: (f8(7), 7, 1.5), lambda: (f8(7), 3, 2.5), need="compiled")
def big_numbers_on_the_way(x, n, total):
    k = n * 2

    def f(y):
        return y * total + k

    return grows(f, x, n), grows(lambda i: i + total - k, x, n), k, total


def adder(n):
    def add(x):
        return x + n

    return add


@TABLE.add(lambda: (f8(5), 5), lambda: (f8(5), 3), need="right")
def functions_made_elsewhere(x, n):
    plus, more = adder(2.0), adder(n)
    return clipped_sum(plus, x, n) + clipped_sum(more, x, n) + clipped_sum(lambda y: more(plus(y)), x, n)


@TABLE.add(lambda: (f8(5), 3, 0), lambda: (f8(5), 3, 7), need="right")
def variables_without_a_value(x, n, k):
    def f(y):
        return y + total

    if k:
        total = 2.0
    return clipped_sum(f, x, n)


@TABLE.add(lambda: (f8(5), 3, 9), lambda: (f8(5), 3, 1), need="right")
def errors_inside(x, n, i):
    def f(total):
        return total + x[i]

    return clipped_sum(f, x, n)
