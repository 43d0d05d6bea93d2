# pyright: reportArgumentType=false
"""Axes cut into blocks by a reshape, as pooling does, and slices whose ends are quotients of extents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.data import f8, i8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_blocks(row: Row) -> None:
    row.check()


@TABLE.add(lambda: (f8(2, 3, 8, 6),), lambda: (f8(2, 3, 7, 5),), lambda: (f8(1, 1, 2, 2),), lambda: (f8(1, 1, 1, 1),))
def pooled(x):
    n, c, h, w = x.shape
    ph, pw = h // 2, w // 2
    return x[:, :, : ph * 2, : pw * 2].reshape(n, c, ph, 2, pw, 2).mean(axis=(3, 5))


@TABLE.add(lambda: (f8(2, 8, 6, 3),), lambda: (f8(2, 5, 7, 3),))
def pooled_after_moving_axes(x):
    y = np.maximum(x.transpose(0, 3, 1, 2), 1.0)
    n, c, h, w = y.shape
    return y[:, :, : h // 2 * 2, : w // 2 * 2].reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))


@TABLE.add(lambda: (f8(9, 6), 3), lambda: (f8(6, 2), 3), need="compiled")
def blocks_are_written(x, k):
    rows = int(x.shape[0] / 3)
    blocks = x.reshape(rows, 3, x.shape[1] // 2, 2)
    blocks[:, 0] = 0.0
    blocks[..., 1] += k
    return blocks, x


@TABLE.add(lambda: (f8(8),), lambda: (f8(1),), lambda: (f8(0),))
def halves(x):
    n = len(x) // 2
    return x[:n] + x[n : 2 * n], x[n:], x[: n // 2]


@TABLE.add(lambda: (f8(8), 24), lambda: (f8(8), 5), lambda: (i8(3), -9), need="compiled")
def ends_beyond_the_axis(x, k):
    n = k // 2
    return x[:n] * 2, x[n:].sum()


def other_blocks(x, a, b):
    return x[:, :a].reshape(b, 2, a, 1) * 2.0


@pytest.mark.filterwarnings("ignore")
def test_axes_that_are_not_cut_one_by_one() -> None:
    program: Any = weft.program(other_blocks)
    for shape, a, b in (((6, 4), 4, 3), ((4, 6), 6, 2), ((6, 4), 3, 3), ((6, 4), 2, 3)):
        x = np.arange(24.0).reshape(shape)
        np.testing.assert_array_equal(program(x, a, b), other_blocks(x, a, b))
    with pytest.raises(ValueError, match="cannot reshape"):
        program(np.ones((6, 4)), 4, 5)
