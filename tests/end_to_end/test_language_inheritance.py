# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
"""`super()`: methods of the classes above, and what Python goes on with inside of methods that name it."""

from __future__ import annotations

import numpy as np

import weft
from tests.end_to_end.data import f8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_inheritance(row: Row) -> None:
    row.check()


class Scaled:
    factor = 2.0

    def apply(self, x):
        self.seen = x.sum()
        return x * self.factor

    @staticmethod
    def clipped(x):
        return np.maximum(x, 0.0)

    def at(self, x, i):
        return x[i] + self.factor


class Shifted(Scaled):
    def __init__(self):
        self.shift = 1.0

    def apply(self, x):
        return super().apply(x) + self.shift

    def picks(self, x, i, flag):
        y = x + x[i]
        if flag:
            return y
        return super(Shifted, self).apply(y)  # noqa: UP008 - as older programs have it

    def clips(self, x, n):
        for k in range(n):
            x = super().clipped(x - k)
        return x

    def element(self, x, i):
        total = x.sum()
        return total + super().at(x, i)

    def named(self, x):
        return __class__.factor * x


class Twice(Shifted):
    def apply(self, x):
        return super().apply(super().apply(x))

    def rows(self, x, n):
        return np.array([super(Twice, self).apply(x * k) for k in range(n)])


class Doubled:
    def apply(self, x):
        return super().apply(x) * 2.0


class Both(Doubled, Scaled):
    """The class after `Doubled` is none of those that `Doubled` has."""

    def apply(self, x):
        return super().apply(x) + 3.0


TABLE.add(lambda: (Shifted(), f8(5)), lambda: (Shifted(), f8(2, 3)), lambda: (Shifted(), f8(0)))(Shifted.apply)
TABLE.add(lambda: (Shifted(), f8(5), 1, True), lambda: (Shifted(), f8(5), -1, False))(Shifted.picks)
TABLE.add(lambda: (Shifted(), f8(5), 7, True), lambda: (Shifted(), f8(5), 5, False))(Shifted.picks)
TABLE.add(lambda: (Shifted(), f8(5), 3), lambda: (Shifted(), f8(5), 0))(Shifted.clips)
TABLE.add(lambda: (Shifted(), f8(5), 3), lambda: (Shifted(), f8(5), 5))(Shifted.element)
TABLE.add(lambda: (Shifted(), f8(5)))(Shifted.named)
TABLE.add(lambda: (Twice(), f8(5)), need="right")(Twice.apply)
TABLE.add(lambda: (Twice(), f8(5), 2))(Twice.rows)
TABLE.add(lambda: (Both(), f8(5)), need="right")(Both.apply)


class Unusual(Shifted):
    def missing(self, x):
        return super().nowhere(x)

    def bare(*both):
        return super().apply(both[1])

    def inner(self, x):
        def f(self, y):
            return super().apply(y)

        return f(self, x) + x[0]

    def stops(self, x, names):
        y = x + 1.0
        names.append(len(names))  # a list of the caller's: Python's
        return super().apply(y) + x[names[0]]


TABLE.add(lambda: (Unusual(), f8(5)), need="right")(Unusual.missing)
TABLE.add(lambda: (Unusual(), f8(5)), need="right")(Unusual.bare)
TABLE.add(lambda: (Unusual(), f8(5)), lambda: (Unusual(), f8(0)), need="right")(Unusual.inner)
TABLE.add(lambda: (Unusual(), f8(5), [2]), lambda: (Unusual(), f8(5), [9]), need="right")(Unusual.stops)


def test_a_method_that_is_replaced_above_is_seen():
    class Above:
        def f(self, x):
            return x + 1.0

    class Below(Above):
        def f(self, x):
            return super().f(x) * 2.0

    program = weft.program(Below.f)
    assert program(Below(), np.ones(2)).tolist() == [4.0, 4.0]
    Above.f = lambda self, x: x - 1.0
    assert program(Below(), np.ones(2)).tolist() == [0.0, 0.0]
