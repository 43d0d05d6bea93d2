"""The rows "errors", "indices" and "state": the exception Python raises, and what it leaves behind."""

# The programs are written as users write them.
# ruff: noqa: PLR0912, PLR0915, C901

from __future__ import annotations

import numpy as np
import pytest

import weft
from tests.end_to_end.data import f8, i8
from tests.semantics.cases import agree, choices


def indices(k, a, m, i, j):
    """Negative indices wrap, slices clip, steps may be negative; what is out of bounds raises."""
    if k == 0:
        return a[i], a[-1], m[i, j], m[i][j], m[-1, -1]
    if k == 1:
        return a[i:j], a[j:i], a[i:], a[:j], a[::-1], a[-3:-1]
    if k == 2:
        return a[i:j:2], a[j:i:-1], a[:: i + 4], m[::-1, ::2], m[i:j, j:i:-1]
    if k == 3:
        return a[None, i], m[..., j], m[i, ...], m[:, None, j], a[...]
    if k == 4:
        return m[i]
    if k == 5:
        return m[:, j]
    if k == 6:
        a[i] = 7
        a[j:] = 8
        m[i, j] = 9
        m[:, j] = a[0]
    elif k == 7:
        a[i:j] += 1
        a[j] *= 2
    elif k == 8:
        return a[i, j]
    elif k == 9:
        return m[i, j, 0]
    elif k == 10:
        return a[:: i - i]
    return a


def test_indices() -> None:
    pairs = ((0, 2), (-1, 1), (2, -2), (5, 0), (-6, 3), (7, 9), (-9, 50), (3, 3))
    agree(indices, *choices(11, *[lambda i=i, j=j: (f8(6), f8(5, 4), i, j) for i, j in pairs]))


def raising(k, a, b, m, n):
    """A store, the statement that raises, another store: what is left is what Python leaves."""
    a[0] = 1.0
    for i in range(3):
        b[i] = i
    if k == 0:
        a[1:] = b
    elif k == 1:
        m[:] = a
    elif k == 2:
        a += m
    elif k == 3:
        a[n] = 2.0
    elif k == 4:
        b[0] = 1 // n
    elif k == 5:
        b[0] = 1.5 % n
    elif k == 6:
        a[:] = m @ a
    elif k == 7:
        a[:] = np.concatenate((a, m))
    elif k == 8:
        a[:] = a.reshape(2, n)
    elif k == 9:
        if a > 0:
            a[2] = 3
    elif k == 10:
        raise ValueError("n is", n)
    elif k == 11:
        a[1] = [1, 2, 3][n]
    elif k == 12:
        a[2] = undefined  # type: ignore[reportUndefinedVariable]  # noqa: F821
    elif k == 13:
        x, y, z = b
        a[1] = x + y + z
    elif k == 14:
        a[1] = 5 ** (-n) + (2 ** (n - 4))
    elif k == 15:
        a.shape_ = 3
    elif k == 16:
        b += 0.5
    elif k == 17:
        a[2] = np.zeros(n - 3).max()
    a[3] = 4.0
    return a


def test_state_after_an_exception() -> None:
    makers = [lambda n=n: (f8(5), i8(4), f8(3, 4), n) for n in (0, 2, 7)]
    agree(raising, *choices(18, *makers), need="right")


def late(a, b, index, n):
    """Some elements of a loop are stored before the one that raises."""
    count = 0
    for i in range(n):
        a[i] = b[index[i]] * 2
        count += 1
    b[0] = count
    return count


def late_division(a, b, c, n):
    for i in range(n):
        a[i] = b[i] // c[i] if c[i] != 7 else b[i + n]
    return a


def scattered(a, index, value):
    for i in range(len(index)):
        a[index[i]] += value[i]
    a[0] = -1


@pytest.mark.parametrize("size", [6, 50_000])
def test_state_after_an_exception_in_a_loop(size: int) -> None:
    """Also where the loop runs on several threads."""

    def indexed(at: int):
        index = np.arange(size) % 5
        if at >= 0:
            index[at] = 10
        return np.zeros(size), f8(5), index, size

    agree(late, lambda: indexed(-1), lambda: indexed(size // 2), lambda: indexed(0), lambda: indexed(size - 1))
    agree(scattered, *[lambda at=at: (f8(5), indexed(at)[2], np.ones(size)) for at in (-1, size // 2)])

    def divided(at: int):
        c = np.ones(size, np.int64)
        c[at] = 7
        return np.zeros(size, np.int64), np.arange(size), c, size

    agree(late_division, lambda: divided(size // 2), lambda: divided(size - 1))


def parallel_rows(m, v, n):
    for i in weft.prange(n):
        m[i] = v[i] * 2
        m[i, 0] = v[i] / 2


def test_an_exception_in_a_loop_that_was_to_be_parallel() -> None:
    makers = [lambda n=n: (f8(40, 30), f8(50), n) for n in (40, 45, 60)]
    agree(parallel_rows, *makers)


def nested(a, depth):
    return inner(a, depth) + 1


def inner(a, depth):
    a[0] = depth
    return a[depth]


def test_an_exception_in_a_function_called() -> None:
    agree(nested, lambda: (f8(4), 1), lambda: (f8(4), 9))


class Account:
    def __init__(self, values):
        self.values, self.total = values, 0.0


def attributes(account, k):
    account.total = account.total + 1
    account.values[0] = account.total
    account.total += account.values[k]
    return account.total


def test_attributes_after_an_exception() -> None:
    agree(attributes, lambda: (Account(f8(3)), 1), lambda: (Account(f8(3)), 9))
