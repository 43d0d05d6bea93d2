# pyright: reportArgumentType=false, reportCallIssue=false
"""Extents that an argument says are 1: such axes are stretched and dropped, as those of arrays are."""

from __future__ import annotations

import numpy as np

from tests.end_to_end.data import f8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_extents_of_one(row: Row) -> None:
    row.check()


class Layer:
    def __init__(self, units):
        self.units = units


@TABLE.add(lambda: (1, f8(3, 4)), lambda: (3, f8(3, 4)), lambda: (1, f8(1, 4)), need="native")
def stretched(k, x):
    offset = np.full((k, 1), 0.5)
    many = np.ones((k, x.shape[1]))
    out = x.copy()
    out[:] = many
    return x + many, many * offset, out


@TABLE.add(lambda: (1, f8(1, 4)), lambda: (2, f8(1, 4)), lambda: (1, f8(2, 4)))
def squeezed(k, x):
    product = np.dot(np.ones((k, 4)), x.T)
    return np.squeeze(product), np.squeeze(product).ndim, product.squeeze() * 2.0


@TABLE.add(lambda: (Layer(1), [4, 1]), lambda: (Layer(2), [4, 2]))
def counted_by_objects_and_lists(layer, sizes):
    weights = np.ones((sizes[1], sizes[0]))
    return np.squeeze(weights.sum(axis=1)), np.zeros((3, sizes[0], layer.units)) + np.arange(layer.units * 1.0)


@TABLE.add(lambda: (2, f8(3, 4)), lambda: (0, f8(3, 4)), need="compiled")
def that_do_not_match(k, x):
    return x + np.ones((k, 4))
