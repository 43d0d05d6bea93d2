# pyright: reportArgumentType=false, reportUnknownArgumentType=false
"""Long lists of the caller's that loops of any number of turns look into: data, where the loops have turns enough."""

# The programs are written as users write them, so that each form occurs as it is.

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY
TABLE = Table()


@TABLE.parametrize()
def test_lists_that_loops_look_into(row: Row) -> None:
    row.check()


def floats(count: int) -> list[float]:
    return [k * 0.5 - 3 for k in range(count)]


@TABLE.add(lambda: (floats(300), 300, 2000), lambda: (floats(1000), 7, 500), lambda: (floats(200), 201, 500), ulps=2.0)
def over_and_over(xs, k, n):
    total = 0.0
    for i in range(n):
        total += xs[i % k] * xs[-1 - i % k]
    return total


@TABLE.add(lambda: (floats(900), 30, 30), lambda: (floats(900), 31, 30), lambda: (list(range(900)), 30, 30))
def a_grid_in_one_line(image, rows, columns):
    edges = list(range(len(image)))
    for i in range(1, rows - 1):
        for j in range(1, columns - 1, 2):
            edges[j + i * columns] = int(image[j + 1 + i * columns] - image[j - 1 + i * columns])
    return edges


@TABLE.add(
    lambda: ([[i * j % 7 for j in range(20)] for i in range(15)], 15, 20),
    lambda: ([[i * j * 0.5 for j in range(20)] for i in range(15)], 16, 20),
)
def rows_of_a_table(table, n, m):
    best = table[0][0]
    for i in range(n):
        for j in range(m):
            best = max(best, table[i][j])
    return best


@TABLE.add(
    lambda: ([(k, k * 0.5) for k in range(300)], np.arange(90)), lambda: ([(0, 1.0)] * 200, np.array([199] * 90))
)
def places_in_an_array(pairs, places):
    total = 0.0
    for k, place in enumerate(places):
        a, b = pairs[place]
        total += a * b + k
    return total


@TABLE.add(lambda: (floats(300), list(range(0, 300, 2))), ulps=2.0)
def places_in_a_list(xs, places):
    total = 0.0
    for place in places:
        total += xs[place]
    return total


@TABLE.add(lambda: (floats(300), 3), lambda: (floats(300), 200), lambda: (floats(300), 400), need="compiled")
def a_few_in_front(xs, n):
    total = 0.0
    for i in range(n):
        total += xs[i]
    return total, xs


def window(xs: Any, first: Any, count: Any) -> Any:
    total = 0.0
    for k in range(first, first + count):
        total = total * 0.5 + xs[k]
    return total


def test_a_few_turns_are_left_to_python() -> None:
    """The third time, no array is made."""
    program, xs = weft.program(window), floats(5000)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for first in range(4):
            assert program(xs, first, 9) == window(xs, first, 9)
    assert program.stats.resumes == 2
    assert {warning.category for warning in told} == {weft.FallbackWarning}
    assert "only a few items of a list of more than 128 are read" in str(told[0].message)


def test_many_turns_are_compiled() -> None:
    program, xs = weft.program(window, fallback="error"), floats(5000)
    for first in range(4):
        assert program(xs, first, 4000) == window(xs, first, 4000)
    assert program.stats.resumes == 0


def test_turns_of_triangles_are_counted_by_the_loop_around() -> None:
    def below(xs: Any, n: Any) -> Any:
        total = 0.0
        for i in range(n):
            for j in range(i):
                total += xs[i * n + j]
        return total

    program, xs = weft.program(below), floats(900)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.FallbackWarning)
        for n in (30, 30, 10, 30):
            np.testing.assert_allclose(program(xs, n), below(xs, n), rtol=1e-14)
