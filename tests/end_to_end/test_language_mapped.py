"""`map` and `filter`, and generators that are looped over: written out as loops, in Python's order."""

# The programs are written as users write them, so that each form occurs as it is.
# pyright: reportPossiblyUnboundVariable=false, reportUnboundVariable=false
# ruff: noqa: B007, B905, C417, PLR0124, PLW0120, RUF007

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.data import f8
from tests.end_to_end.outcome import check
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_mapped(row: Row) -> None:
    row.check()


def weighted(a, b):
    return a * b + 1


def large(t):
    return t > 0.4


@TABLE.add(lambda: (f8(5), 2), lambda: (f8(5)[::2], -1))
def unpacked(x, n):
    a, b, c = map(np.array, (x, x * n, x))
    first, second = map(float, (x[0], x[1]))
    p, *q = map(abs, (n, -n, 3))
    return a + b + c, first * second, p, q, weighted(*map(abs, (n, x[0])))


@TABLE.add(lambda: (f8(6), 3), lambda: (f8(0), 3), lambda: (f8(1), 0))
def listed(x, k):
    doubled = list(map(lambda t: t * k, x))
    sines = np.array([0.0, *map(math.sin, (k, k + 1))])
    copied = [*map(lambda t: t + k, x)]
    doubled.append(1.0)
    return doubled, sines, copied, tuple(map(len, (x, doubled))), sorted(map(abs, x))


@TABLE.add(lambda: (f8(6), 3), lambda: (f8(0), 3), lambda: (f8(1), -1), need="compiled")
def several_iterables(x, n):
    return (
        list(map(weighted, x, x[1:])),
        sum(map(weighted, x, range(n))),
        sum(map(lambda i: x[i], range(len(x))), 0.5),
        list(map(lambda p: p[0] * p[1], zip(x, x[1:]))),
    )


@TABLE.add(lambda: (f8(6) - 0.3,), lambda: (f8(1),))
def consumed(x):
    return (
        any(map(large, x)), all(map(np.isfinite, x)), min(map(abs, x)), max(map(weighted, x, x)),
        sum(map(abs, filter(large, x))),
    )  # fmt: skip


@TABLE.add(lambda: (np.array([0.5, 0.0, -1.0, np.nan, 2.0]),), lambda: (np.zeros(3),), lambda: (np.zeros(0),))
def filtered(x):
    return list(filter(large, x)), list(filter(None, x)), len(list(filter(lambda t: t == t and not large(t), x)))


@TABLE.add(lambda: (f8(7), 3.0), lambda: (f8(0), 3.0))
def looped_over(x, k):
    total, turns = 0.0, 0
    for y in map(lambda t: t * k, x):
        turns += 1
        if y > 2:
            continue
        total += y
    else:
        total += 100
    for y in (t * 2 for t in x if t > 0.3):
        if y > 1.5:
            break
        total -= y
    for y in filter(large, map(abs, x)):
        total *= y
    return total, turns, [y for y in map(abs, x) if y > 0.3]


@TABLE.add(lambda: (f8(5),))
def the_function_is_looked_at_once(x):
    f = weighted
    for y in map(f, x, range(3)):
        f = None
    k = 2
    for z in map(lambda t: t * k, x):  # but what it reads is read when it runs
        k += 1
    return y, f, z


@TABLE.add(lambda: (f8(4),), lambda: (np.array([1.0, 2.0, -1.0, 5.0]),), need="right")
def what_raises_in_the_middle(x):
    done = [0]
    for y in map(math.sqrt, x):
        done[0] += 1
        x[0] = y
    return done, x


@TABLE.add(lambda: (f8(3), 3), lambda: (f8(3), 7), need="compiled")
def items_are_taken_one_by_one(x, n):
    for y in map(lambda i: x[i], range(n)):
        x[0] += y
    return x


@TABLE.add(lambda: (f8(3),), lambda: (f8(2),), need="compiled")
def too_few_or_many(x):
    a, b = map(abs, x)
    return a, b


@TABLE.add(lambda: (np.zeros((4, 3)), 4), lambda: (np.zeros((4, 3)), 3), lambda: (np.zeros((4, 3)), 0), need="compiled")
def lists_are_stored_in_arrays(a, n):
    a[:, 0] = list(range(n))
    a[a[:, 0] > 0.5, 1] = [k * 0.5 for k in range(1, n)]
    a[0] = list(map(float, range(3)))
    return a


@TABLE.add(lambda: (np.zeros(3, dtype=np.int64), 0.0), lambda: (np.zeros(3, dtype=np.int64), np.nan), need="right")
def lists_that_are_converted_one_by_one(a, x):
    a[:] = [x + k for k in range(len(a))]
    return a


def test_functions_of_the_users_are_not_pythons() -> None:
    def map(a, b):
        return a + b

    def filter(a, b):
        return a - b

    def sum(a):
        return 5

    def own(x, y):
        for z in map(x, y):
            x = x + z
        return filter(x, y), map(x, y)

    def given(x):
        return sum(t for t in x)

    check(own, lambda: (f8(3), f8(3)))
    program: Any = weft.program(given)
    with pytest.warns(weft.FallbackWarning):
        assert program(f8(3)) == 5


def test_two_lambdas_of_one_line_are_two_functions() -> None:
    check(lambda x: list(map(lambda t: t * 2, x)), lambda: (f8(3),))
