# pyright: reportArgumentType=false, reportCallIssue=false
"""Properties of objects: attributes that a function computes."""

from __future__ import annotations

import numpy as np

import weft
from tests.end_to_end.data import f8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_properties(row: Row) -> None:
    row.check()


class Grid:
    scale = 2.0

    def __init__(self, values):
        self.values = values
        self.shift = 1.0

    @property
    def n(self):
        return len(self.values)

    @property
    def mean(self):
        if self.n == 0:
            return np.float64(0.0)
        return self.values.sum() / self.n

    @property
    def total(self):
        total = 0.0
        for k in range(self.n):
            total += self.scale * self.values[k]
        return total

    @property
    def first(self):
        return self.values[0]


class Model:
    def __init__(self, values):
        self.grid = Grid(values)

    def spread(self):
        return self.grid.values - self.grid.mean


@TABLE.add(lambda: (Grid(f8(7)),), lambda: (Grid(f8(0)),))
def reads(grid):
    out = np.zeros(grid.n)
    for i in range(grid.n):
        out[i] = grid.values[i] - grid.mean if i % 2 else grid.total
    return out, grid.n


@TABLE.add(lambda: (Grid(f8(7)),))
def reads_in_order(grid):
    before = grid.mean + grid.values[0]
    grid.values[0] = 5.0
    grid.shift = grid.mean
    return before, grid.mean, grid.shift < grid.total < 100.0, [grid.n, grid.first], grid.values[grid.n - 1]


@TABLE.add(lambda: (Model(f8(5)), 3), lambda: (Model(f8(0)), 0))
def reads_of_parts(model, steps):
    while steps > 0 and model.grid.mean < 1e6:
        model.grid.values[:] = model.spread() * model.grid.n
        steps -= 1
    return model.grid.total


@TABLE.add(lambda: (Grid(f8(3)),), lambda: (Grid(f8(0)),), need="compiled")
def raises_in_a_property(grid):
    grid.values *= 2.0
    return grid.first + grid.n


def test_a_property_that_is_replaced_is_noticed() -> None:
    class Box:
        def __init__(self) -> None:
            self.x = np.arange(3.0)

        @property
        def size(self) -> float:
            return self.x.sum() * 2.0

    def size(box: Box) -> float:
        return box.size + 1.0

    program = weft.program(size, fallback="error")
    assert program(Box()) == 7.0
    Box.size = property(lambda self: self.x.sum() * 3.0)  # type: ignore[assignment]
    assert program(Box()) == 10.0
