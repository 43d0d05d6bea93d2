"""`np.einsum`: axes that are repeated, those of a diagonal that are not, numbers in arrays without axes."""

from __future__ import annotations

import numpy as np

from tests.end_to_end.data import f8, i8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_einsum(row: Row) -> None:
    row.check()


@TABLE.add(lambda: (f8(3, 3),), lambda: (f8(1, 1),), lambda: (f8(1, 3),), lambda: (f8(3, 1),), lambda: (f8(3, 2),))
def trace(a):
    return np.einsum("ii", a), np.einsum("ii->i", a)


@TABLE.add(
    lambda: (f8(3, 3), i8(3), f8(3)),
    lambda: (f8(1, 1), i8(3), f8(1)),
    lambda: (f8(3, 3), i8(1), f8(3)),
    lambda: (f8(1, 3), i8(3), f8(3)),
    lambda: (f8(3, 1), i8(1), f8(3)),
)
def diagonals_among_others(a, b, c):
    return np.einsum("ii,i,i->i", a, b, c), np.einsum("i,jj->", b, a)


@TABLE.add(lambda: (f8(),), lambda: (i8(),))
def of_no_axes(a):
    return np.einsum("->", a), np.einsum("...->...", a), np.einsum("->", a * 2)
