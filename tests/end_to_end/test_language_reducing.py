# pyright: reportArgumentType=false
"""functools.reduce with functions of all kinds, and the functions of operator."""

from __future__ import annotations

import functools
import operator
from functools import reduce

import numpy as np

from tests.end_to_end.data import f4, f8, i8
from tests.end_to_end.table import Row, Table

TABLE = Table()
SCALE = 3


@TABLE.parametrize()
def test_reducing(row: Row) -> None:
    row.check()


def scaled_sum(a, b):
    return a * SCALE + b


def folded(step, numbers):
    """A function of the user's that is handed another."""
    total = 0.0
    for number in numbers:
        total = step(total, number)
    return total


@TABLE.add(lambda: (f8(4), f8(7)), lambda: (f8(1), f8(3)), lambda: (i8(4), f4(2)), lambda: (f8(3), f8(0)), ulps=4)
def polynomial(coefficients, x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = reduce(lambda a, b: a * x[i] + b, coefficients)
    return y, reduce(operator.mul, x.shape, 1)


@TABLE.add(lambda: (f8(3, 3), f8(3)), ulps=4)
def product_of_matrices(A, x):
    M = functools.reduce(np.dot, [A, A.T, A + 1])
    return M @ x, reduce(np.maximum, (x, x[::-1], -x)), reduce(operator.add, [[1, 2], [3], []])


@TABLE.add(lambda: (np.abs(i8(9)) + 1,), lambda: (np.array([12, 18, 30]),), lambda: (np.array([7]),))
def greatest_divisors(x):
    def divisor(a, b):
        while b:
            a, b = b, a % b
        return a

    found = [reduce(divisor, x.tolist()), reduce(divisor, x)]
    for i in range(len(x) - 2):
        found.append(reduce(divisor, x[i : i + 3].tolist(), 0))
    return found


@TABLE.add(lambda: (5,), lambda: (1,), lambda: (30,), lambda: (0,), need="compiled")
def factorials(n):
    return reduce(lambda a, b: a * b, range(1, n + 1), 1), reduce(scaled_sum, range(n), 2)


@TABLE.add(lambda: (f8(5), f8(3)), lambda: (np.array([1.0, 7.0, 2.0]), f8(3)), lambda: (f8(0), f8(1)), need="compiled")
def left_in_the_middle(x, table):
    offset = float(len(x))
    total = reduce(lambda a, b: scaled_sum(a, table[int(abs(b)) % 4]) + np.sqrt(offset), x, 0)
    return total, folded(lambda a, b: a + table[int(abs(b)) % 4] * offset * SCALE, x)


@TABLE.add(lambda: (f8(4),), lambda: (f8(1),), lambda: (f8(0),), need="compiled")
def without_a_start(x):
    return reduce(max, x), reduce(lambda a, b: a if abs(a) > abs(b) else b, x.tolist())


@TABLE.add(lambda: (f8(4), i8(4)), need="right")
def of_other_things(x, k):
    pairs = reduce(lambda a, b: a + b[0] * b[1], zip(x, k), 0.0)  # noqa: B905
    letters = reduce(lambda a, b: b + a, "abc")
    items = [1, 2, 3]

    def growing(a, b):
        if len(items) < 6:
            items.append(a)
        return a + b

    return pairs, letters, reduce(growing, items), items, reduce(lambda a, b: a * b, (i + 1 for i in range(5)))


@TABLE.add(lambda: (f8(4), 3), lambda: (i8(4), 2), lambda: (i8(3), 0), need="compiled")
def operators(x, k):
    found = []
    for i in range(len(x)):
        found.append(float(operator.truediv(operator.sub(x[i], k), 2)))
        found.append(float(operator.mod(operator.pow(x[i], 2), 3)))
    return found, operator.lt(x, k), operator.floordiv(7, k), operator.matmul(x, x), operator.xor(5, k)
