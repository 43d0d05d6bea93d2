# pyright: reportArgumentType=false, reportUnknownArgumentType=false
"""Lists whose items are replaced in the loop over them: each turn reads what is there by then, as Python does."""

# The programs are written as users write them, so that each form occurs as it is.

from __future__ import annotations

from itertools import pairwise

from tests.compiling import PLAINLY
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY
TABLE = Table()


@TABLE.parametrize()
def test_items_replaced_in_the_loop_over_them(row: Row) -> None:
    row.check()


@TABLE.add(lambda: (30,), lambda: (500,), lambda: (2,))
def crossed_out(n):
    is_prime = [True] * n
    is_prime[0] = is_prime[1] = False
    found = []
    for number, stands in enumerate(is_prime):
        if stands:
            found.append(number)
            for multiple in range(number * number, n, number):
                is_prime[multiple] = False
    return found, is_prime


@TABLE.add(lambda: (9,), lambda: (200,), lambda: (0,))
def the_next_one(n):
    values = [k * k % 7 for k in range(n)]
    total = 0
    for k, value in enumerate(values):
        total += value
        if k + 1 < len(values):
            values[k + 1] = value + 1
    return total, values


@TABLE.add(lambda: (9,), lambda: (200,), lambda: (0,))
def by_another_name(n):
    values = [1] * n
    same = values
    total = 0
    for value in values:
        same[-1] += value
        total += value
    return values, total, same is values


@TABLE.add(lambda: (9,), lambda: (200,))
def two_at_once_and_backwards(n):
    left, right = list(range(n)), list(range(n))
    total = 0
    for a, b in zip(left, right, strict=False):
        right[n - 1 - a] = a
        left[n - 1 - b] += b
        total += a * b
    for a in reversed(left):
        left[a % n] = 1
        total += a
    return left, right, total


@TABLE.add(lambda: (9,), lambda: (200,), need="right")
def neighbours(n):
    values = list(range(n))
    pairs = []
    for left, right in pairwise(values):
        values[right] = left * 10  # the next left one was read before
        pairs.append((left, right))
    return pairs, values


@TABLE.add(lambda: (9,), lambda: (200,), need="compiled")
def past_the_end(n):
    values = list(range(n))
    for value in values:
        values[value + 1] = value + 1
    return values


@TABLE.add(lambda: (9,), lambda: (200,), need="compiled")
def too_large_a_number(n):
    values = [1] * n
    for k, value in enumerate(values):
        if k + 1 < n:
            values[k + 1] = value * 3
    return values


@TABLE.add(lambda: (9,), lambda: (200,), need="right")
def longer_and_longer(n):
    values = [1] * n
    for value in values:
        if len(values) < 250:
            values.append(value + 1)
    return values


@TABLE.add(lambda: (9,), lambda: (200,), need="right")
def numbers_of_another_kind(n):
    values = [0] * n
    for k, value in enumerate(values):
        if k + 1 < n:
            values[k + 1] = value + 0.5
    return values
