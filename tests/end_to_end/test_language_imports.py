"""Imports inside of a function: of modules that do not change they cost nothing, and what they bind is compiled."""

# The programs are written as users write them, so that each form occurs as it is.
# pyright: reportAssignmentType=false

from __future__ import annotations

from typing import Any

import pytest

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.data import f8
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_imports(row: Row) -> None:
    row.check()


@TABLE.add(lambda: (f8(5),), lambda: (f8(2) - 0.5,))
def functions_that_take_functions(x):
    import functools as tools
    from functools import reduce

    return reduce(lambda a, b: a * b, x), tools.reduce(max, x, 0.25)


@TABLE.add(lambda: (f8(5),))
def things_to_loop_over(x):
    import itertools
    from itertools import pairwise

    total = 0
    for i, j in itertools.product(range(3), range(2)):
        total = total + i * j
    return total, [b - a for a, b in pairwise(x)]


@TABLE.add(lambda: (f8(5),))
def heaps(x):
    from heapq import heappop, heappush

    heap = []
    for v in x:
        heappush(heap, v)
    return heappop(heap), heappop(heap)


@TABLE.add(lambda: (f8(5),), lambda: (f8(5) + 9,))
def one_of_two(x):
    if x[0] > 5:
        from math import sin as f
    else:
        from math import cos as f
    return f(x[0])


@TABLE.add(lambda: (f8(5),))
def a_name_that_means_something_else_later(x):
    from functools import reduce

    first = reduce(lambda a, b: a + b, x, 0.0)

    def reduce(f, v, w):
        return f(v, w)

    return first, reduce(lambda a, b: a - b, x, 1.0)


def test_clocks_cost_one_statement_each() -> None:
    def timed(x):
        import time

        start = time.perf_counter()
        total = 0.0
        for i in range(len(x)):
            for j in range(i):
                total = max(total, x[i] * x[j])
        return total, time.perf_counter() - start

    program: Any = weft.program(timed)
    with pytest.warns(weft.FallbackWarning) as found:
        total, seconds = program(f8(9))
    assert not any("importing" in str(warning.message) for warning in found)
    assert total == timed(f8(9))[0]
    assert seconds > 0
    assert program.stats.native_calls > 0
