"""Arrays that a loop or branch binds, under another shape: they share memory with what they were bound to."""

from __future__ import annotations

import numpy as np

from tests.compiling import PLAINLY
from tests.end_to_end.data import f8, i8
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_bound_shapes(row: Row) -> None:
    row.check()


@TABLE.add(lambda: (i8(3, 4) + 20,), lambda: (i8(1, 5) + 20,), lambda: (i8(2, 4) + 20,))
def counted(grid):
    for _ in range(3):
        grid = np.where(grid > 2, grid - 1, grid + 2)
    return np.bincount(grid.ravel(), minlength=3), grid


@TABLE.add(*(lambda k=k: (f8(3, 4), k) for k in range(2)), lambda: (f8(1, 4), 1))
def written_through(a, k):
    if k:
        a = a + 1
    line = a.reshape(-1)
    line[0] = 5
    return a, line


@TABLE.add(*(lambda k=k: (f8(3, 4), k) for k in range(4)))
def swapped(a, k):
    b = np.zeros_like(a)
    for i in range(k):
        a, b = b, a
        a.reshape(-1)[i] += 3
        b.ravel()[:] = a.ravel() + i
    return a, b


@TABLE.add(*(lambda k=k: (f8(3, 4), k) for k in range(4)))
def turned(a, k):
    for i in range(k):
        a = (a + 1).reshape(a.shape[1], a.shape[0])
        a.ravel()[i] = 0
    return a.ravel().sum(), a


@TABLE.add(lambda: (f8(2, 4), 3), lambda: (f8(2, 4), 0))
def old_and_new(a, k):
    line = a.ravel()
    for _ in range(k):
        line = a.ravel()
        a = np.roll(a, 1, 0)
        line[0] = 9
    return a, line


@TABLE.add(lambda: (f8(2, 4) + 90,), lambda: (f8(2, 4) * 0 + 3,))
def all_of_the_argument(a):
    """The result is an object of its own, even where it is all of the argument."""
    x = a
    while x.sum() < 100:
        x = x * 2
    return x.reshape(2, -1)


@TABLE.add(lambda: (f8(2, 4) + 90,), lambda: (f8(2, 4) * 0 + 3,))
def itself_if_contiguous(a):
    x = a
    while x.sum() < 100:
        x = x * 2
    return np.ascontiguousarray(x)


@TABLE.add(*(lambda k=k: (f8(4, 3), k) for k in range(3)), need="right")
def not_always_by_rows(a, k):
    for _ in range(k):
        a = a.T
    return a.ravel()
