# pyright: reportArgumentType=false
"""Questions whose answers are known from the types: `is True`, what kind of numbers something has."""

from __future__ import annotations

import math

import numpy as np

from tests.compiling import PLAINLY
from tests.end_to_end.data import c16, f4, f8, i8
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_kinds(row: Row) -> None:
    row.check()


@TABLE.add(lambda: (5, f8(5)), lambda: (0, f8(1)), lambda: (200, f8(200)))
def bools_of_a_list(n, x):
    done = [False] * n
    count = 0
    for i in range(n):
        if x[i] > 0.0:
            done[i] = True
    for i in range(n):
        if done[i] is False:
            count += 1
        if done[i] is not False:
            count += 1000
    return count


@TABLE.add(lambda: (True, f8(3)), lambda: (False, f8(3)))
def flags(flag, x):
    found = flag is True, flag is not True, flag is (not flag), flag is (len(x) == 3)
    return found, (x[0] > 0) is True, (x[0] == x[0]) is True, np.bool_(flag) is not False


@TABLE.add(lambda: (True, 1), lambda: (False, 0), lambda: (1, True), lambda: (2.0, False))
def other_numbers(flag, number):
    return flag is True, number is True, number is not False


@TABLE.add(lambda: (f8(3), f4(3)), lambda: (c16(3), i8(2)), lambda: (2, 1j), lambda: (f4(0), True))
def kinds(x, y):
    if np.iscomplexobj(x) or np.isrealobj(y):
        x = x * 2
    asked = [np.isscalar(x), np.isscalar("a"), np.isscalar(None), np.isscalar((x, y)), np.isscalar(x + y)]
    return x, np.iscomplexobj(y), asked, np.result_type(x, y), np.result_type(np.float32, x)


def first_of(x):
    return x[0] + 10.0


@TABLE.add(lambda: (f8(3), np.max), lambda: (f8(3), 2.0), lambda: (f8(3), abs), lambda: (f8(3), first_of))
def called_if_it_can_be(x, reference):
    def plus(y):
        return y + 1.0

    y = reference(x) if callable(reference) else reference
    return x / y, [
        callable(plus),
        callable(x.sum),
        callable(x),
        callable(len(x)),
        callable(None),
        callable([reference]),
    ]


@TABLE.add(lambda: (f8(3),), lambda: (i8(3),), lambda: (f4(2, 2),), lambda: (c16(2),))
def numbers_of_a_type(x):
    is_whole = np.issubdtype(x.dtype, np.integer)
    if is_whole:
        x = x.astype(np.promote_types(x.dtype, np.float32))
    elif np.issubdtype(x.dtype, np.floating) and np.can_cast(x.dtype, np.float32, "same_kind"):
        x = x + np.float32(1)
    return x, is_whole, np.can_cast(x, np.complex64), np.can_cast("i4", np.float64)


@TABLE.add(lambda: (f8(3), "integer"), lambda: (f8(3), "no such type"), need="right")
def wrong_types(x, name):
    return x + np.issubdtype(x.dtype, name)


@TABLE.add(*[lambda n=n: (n,) for n in (0, 1, 7, 20, np.int32(5), np.uint8(12), True)])
def factorials(n):
    return math.factorial(n), [math.factorial(k) for k in range(n)], 1.0 / math.factorial(n)


@TABLE.add(lambda: (21,), lambda: (-1,), lambda: (2.0,), lambda: (np.float64(3),), need="right")
def factorials_of_python(n):
    return math.factorial(n)
