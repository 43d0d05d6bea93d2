# pyright: reportArgumentType=false, reportUnknownArgumentType=false
"""Lists of the caller's with more numbers than there may be slots: data, one program for every length."""

# The programs are written as users write them, so that each form occurs as it is.

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.table import Row, Table
from weft.support.number_lists import conversion_of, numbers_in

pytestmark = PLAINLY
TABLE = Table()


@TABLE.parametrize()
def test_long_lists(row: Row) -> None:
    row.check()


def floats(count: int) -> list[float]:
    return [k * 0.5 - 3 for k in range(count)]


def table(count: int, width: int) -> list[list[int]]:
    return [[(7 * i + 3 * j) % 11 for j in range(width)] for i in range(count)]


@TABLE.add(
    lambda: (floats(200), 3),
    lambda: (floats(300), -300),
    lambda: (list(range(150)), 1),
    lambda: ([k % 3 == 0 for k in range(129)], 0),
    lambda: (floats(200), 200),
)
def numbers_one_by_one(xs, k):
    total = 0
    for x in xs:
        total += x * 2
    last = None
    for i in range(len(xs)):
        if i and xs[i] > xs[i - 1]:
            last = xs[i]
    return total, last, len(xs), xs[k], xs[-1], xs[1:4], bool(xs), xs


@TABLE.add(lambda: (floats(200), list(range(200))), lambda: (floats(150), [True] * 150), ulps=2.0)
def numbers_as_arrays(xs, ys):
    both = [x + y for x, y in zip(xs, ys, strict=False)]
    a = np.array(xs)
    some = np.mean(xs), np.dot(xs, xs), sum(xs), max(xs), sorted(xs)[:3]
    return a, np.asarray(ys).dtype, some, both, list(ys), a[ys]


@TABLE.add(
    lambda: ([(k, k * 0.5) for k in range(100)], 2),
    lambda: ([(k * 0.5, k * 0.25) for k in range(100)], -1),
    lambda: ([(k % 2 == 0, k) for k in range(100)], 0),
    lambda: ([(k, k * 0.5) for k in range(100)], 100),
)
def tuples_of_numbers(pairs, k):
    left, right = 0, 0.0
    for i, (x, y) in enumerate(pairs):
        left += x * i
        right += y
    return left, right, pairs[k], pairs[1][1], np.array(pairs).shape, len(pairs)


@TABLE.add(
    lambda: (table(20, 10), 3),
    lambda: (table(200, 1), -1),
    lambda: ([[0.5 * j for j in range(40)] for i in range(5)], 1),
    lambda: (table(20, 10), 20),
    lambda: (table(20, 10), -21),
)
def lists_of_numbers(rows, k):
    best = rows[0][0]
    for i in range(len(rows)):
        for j in range(len(rows[i])):
            best = max(best, rows[i][j])
    sums = [sum(row) for row in rows]
    inner = rows[k]
    return best, sums, inner[-1], inner[::2], np.array(rows).shape, len(inner), inner


@TABLE.add(lambda: ([[k, k + 1] for k in range(100)], 9), lambda: ([[1.5, 2.5]] * 100, 0))
def left_in_the_middle(rows, k):
    found = 0
    for row in rows:
        found += row[0]
        if found > 5:
            found = found + row[k]  # out of bounds: Python goes on with the very row
    return found


@TABLE.add(lambda: (list(range(200)),), need="right")
def changed_by_python(xs):
    for i in range(len(xs)):
        xs[i] = xs[i] + 1
    xs.append(3)
    return len(xs)


@TABLE.add(
    lambda: ([2**70] * 200,),
    lambda: ([1] * 200 + [0.5],),
    lambda: ([(1, 2)] * 100 + [(1,)],),
    lambda: ([(2**60, 0.5)] * 100,),
    lambda: (["a"] * 200,),
    need="right",
)
def not_such_lists(xs):
    count = 0
    for x in xs:
        if x == xs[0]:
            count += 1
    return count


def test_one_program_serves_every_length() -> None:
    program = weft.program(numbers_one_by_one, fallback="error")
    for count in (129, 200, 1000):
        assert program(floats(count), 1)[:3] == numbers_one_by_one(floats(count), 1)[:3]
    assert program.stats.variants == 1


def test_what_leaves_is_the_very_object() -> None:
    def which(rows: Any, k: int) -> Any:
        total = 0
        for row in rows:
            total += row[0]
        return rows, rows[k], total

    program, rows = weft.program(which, fallback="error"), table(50, 5)
    whole, row, _ = program(rows, 7)
    assert whole is rows
    assert row is rows[7]


def test_a_list_that_is_looked_into_is_not_converted() -> None:
    def search(xs: Any, wanted: int) -> int:
        low, high = 0, len(xs) - 1
        while low <= high:
            middle = (low + high) // 2
            if xs[middle] == wanted:
                return middle
            low, high = (middle + 1, high) if xs[middle] < wanted else (low, middle - 1)
        return -1

    program = weft.program(search)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert program(list(range(1000)), 77) == 77
    assert program.stats.variants == 0


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([1.0, 2.0], "list f"),
        ([1, True], None),
        ([(1, 2.0), (3, 4.0)], "list (if"),
        ([(1, 2.0), (3.0, 4.0)], None),
        ([[1, 2], [3, 4]], "list [i"),
        ([[1, 2], [3]], None),
        ([[]], None),
        ([], None),
    ],
)
def test_names_of_conversions(values: list[Any], name: str | None) -> None:
    assert conversion_of(values) == name
    if name is not None:
        assert numbers_in(name, values).ravel().tolist() == np.array(values).ravel().tolist()
