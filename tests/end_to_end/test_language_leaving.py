# pyright: reportArgumentType=false
"""What leaves a program, and what it changes of the caller's: parts of complex arrays, arrays in dicts and lists."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import weft
from tests.end_to_end.data import c16, f8, i8
from tests.end_to_end.outcome import assert_same_outcome, run
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


# ---------------------------------------------------------------- what Python is given in the middle


def rows_of(x, n):
    rows, last = [], x[0]
    for k in range(n):
        last = x[k] * 2.0
        rows.append(last)
    return np.array(rows)


def doubles(x, n, loud):
    for k in range(3):
        x = rows_of(x, n)
        if loud:
            print(end="")  # Python goes on here
            x[0] += k
    return x


def lists_and_their_rows(x, n, loud):
    rows, last = [], x[0] * 1.0
    for k in range(n):
        last = x[k] * 2.0
        rows.append(last)
    if loud:
        print(end="")
        last += 1.0  # also an item of the list
    return rows


def test_lists_of_inlined_functions_do_not_matter_where_python_goes_on():
    program = weft.program(doubles)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert program(np.ones((3, 2)), 3, False).tolist() == [[8.0, 8.0]] * 3
    given = run(program, (f8(3, 2), 2, True))
    assert_same_outcome(given, run(doubles, (f8(3, 2), 2, True)))
    assert "goes on in Python" in str(given.own_warnings[0].message)
    assert program.stats.resumes == 1


@pytest.mark.parametrize("loud", [False, True])
def test_an_array_in_a_list_stays_the_one_beside_it_where_python_goes_on(loud):
    given = run(weft.program(lists_and_their_rows), (f8(3, 2), 3, loud))
    assert_same_outcome(given, run(lists_and_their_rows, (f8(3, 2), 3, loud)))


# ---------------------------------------------------------------- views that must not be written


class Holder:
    pass


@TABLE.add(lambda: (f8(3, 4),), lambda: (f8(0, 2),))
def read_only_views(A):
    d = np.diag(A)
    row = np.broadcast_to(A[:, 0], (2, len(A)))
    return d, [row, (np.diag(A * 2.0), A)], {"whole": np.broadcast_to(A, A.shape)}


@TABLE.add(lambda: (f8(5),), lambda: (f8(3),), lambda: (f8(2),))
def windows(x):
    return np.lib.stride_tricks.sliding_window_view(x, 3)


@TABLE.add(lambda: (Holder(), f8(3, 3), 1), lambda: (Holder(), f8(3, 3), 5), need="compiled")
def read_only_attributes(holder, A, i):
    holder.d = np.diag(A)
    A[0, 0] = 9.0
    return holder.d[i] + holder.d.sum()


@TABLE.add(lambda: (f8(3, 3),), need="right")
def written_anyway(A):
    d = np.diag(A)
    d[0] = 1.0
    return d


@pytest.mark.parametrize("make", [np.diag, lambda A: np.broadcast_to(A, A.shape)])
def test_read_only_views_share_memory_and_refuse_writes(make):
    A = f8(3, 3).copy()
    given = weft.program(lambda A: make(A))(A)  # noqa: PLW0108 - a function of NumPy has no text
    assert np.shares_memory(given, A)
    assert not given.flags.writeable
    assert A.flags.writeable
    assert given.base is A
