# pyright: reportArgumentType=false, reportUnknownArgumentType=false
"""Lambdas handed to functions that call something else by the names that the lambdas read."""

# The programs are written as users write them, so that each form occurs as it is.

from __future__ import annotations

import numpy as np

from tests.compiling import PLAINLY
from tests.end_to_end.data import f8
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY
TABLE = Table()


@TABLE.parametrize()
def test_names_that_mean_two_things(row: Row) -> None:
    row.check()


def first_of(v, wanted):
    for k, x in enumerate(v):
        if wanted(x):
            return k
    return None


def root_of(f, a, b):
    for _ in range(60):
        c = (a + b) / 2
        if f(a) * f(c) <= 0:
            b = c
        else:
            a = c
    return a


def applied(v, f):
    out = np.zeros(len(v))
    for k in range(len(v)):
        x = v[k]
        out[k] = f(x) + x
    return out


@TABLE.add(lambda: (np.arange(9.0), 3.5), lambda: (np.arange(9.0), 99.0), lambda: (f8(0), 1.0))
def the_first_above(v, x):
    k = first_of(v, lambda u: x < u)
    return k, x


@TABLE.add(lambda: (2.0, 3.0), lambda: (0.5, 0.25))
def a_root(a, b):
    c = 1.0
    x = root_of(lambda t: a * t * t - b - c, 0.0, 10.0)
    return x, a, b, c


@TABLE.add(
    lambda: (np.arange(5.0), np.array([3, 1, 4, 1, 5])), lambda: (np.arange(7.0), np.array([3, 1])), need="compiled"
)
def out_of_bounds_inside(v, x):
    return applied(v, lambda k: x[int(k)] * 2.0)


@TABLE.add(lambda: (f8(6), 2), lambda: (f8(6), 2**62), need="compiled")
def too_large_inside(v, x):
    x += 1
    y = applied(v, lambda k: float(x * 4) * k)
    return y, x


@TABLE.add(lambda: (f8(6), 2), need="right")
def a_lambda_in_a_lambda(v, x):
    y = applied(v, lambda k: applied(v, lambda u: u * x + k).sum())
    return y, x


@TABLE.add(lambda: (f8(6), 2.0), need="right")
def a_default_that_clashes(v, x):
    y = applied(v, lambda k, s=x: k * s + x)
    return y, x


@TABLE.add(lambda: (f8(6), 2.0), need="right")
def scopes_of_their_own(v, x):
    y = applied(v, lambda k: sum(x * k for x in (1.0, 2.0)) + x)
    return y, x
