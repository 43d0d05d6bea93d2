# pyright: reportArgumentType=false
"""What leaves a program, and what it changes of the caller's: parts of complex arrays, arrays in dicts and lists."""

from __future__ import annotations

import numpy as np

from tests.end_to_end.data import c16, f8, i8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_leaving(row: Row) -> None:
    row.check()


# ---------------------------------------------------------------- real and imaginary parts


@TABLE.add(lambda: (c16(5),), lambda: (c16(2, 3),), lambda: (c16(0),), ulps=4, need="compiled")
def parts_of_new_arrays(z):
    w = z * 2
    return w.real, w.imag[::-1], np.real(z + 1)


@TABLE.add(lambda: (c16(5),), need="right")
def parts_beside_the_whole(z):
    w = z * 2
    return w.real, w


@TABLE.add(lambda: (c16(5),), need="right")
def parts_of_arguments(z):
    return z.real


@TABLE.add(lambda: (c16(5), 2), lambda: (c16(5), 0), need="right")
def parts_of_either(z, n):
    w = z
    for _ in range(n):
        w = w * 2
    return w.real


@TABLE.add(lambda: (f8(5),), need="right")
def imaginary_part_of_real_numbers(x):
    y = x + 1
    return y.imag


# ---------------------------------------------------------------- arrays in dicts and lists of the caller


def parameters():
    return {"W": f8(3, 2), "b": f8(2)}


@TABLE.add(lambda: (parameters(), parameters(), 0.5), lambda: (parameters(), {"W": 1.0, "b": 2}, 2), ulps=4)
def updated(params, grads, rate):
    for key in params:
        params[key] -= rate * grads[key]
    params["b"] *= 2
    return params


@TABLE.add(lambda: ([f8(3), f8(2)], 2.0), lambda: ([f8(3), i8(2)], 2.0), need="compiled")
def updated_in_lists(parts, x):
    parts[0] += x
    parts[1] += x
    return parts


@TABLE.add(lambda: ((f8(3), f8(2)), 2.0), need="right")
def updated_in_tuples(parts, x):
    parts[0] += x
    return parts


@TABLE.add(lambda: ({"n": 1, "x": f8(2)}, 2), need="right")
def numbers_in_dicts(state, k):
    state["x"] += k
    state["n"] += k
    return state["n"]


# ---------------------------------------------------------------- ranges as arrays


@TABLE.add(lambda: (5, 3), lambda: (1, 1), lambda: (0, 2), lambda: (4, 0), need="compiled")
def grids(n, m):
    X, Y = np.meshgrid(range(n), range(0, 2 * m, 2))
    return X - Y, np.array(range(7, 0, -3)), np.sum(range(n)), np.arange(9.0)[np.array(range(2, 5))]
