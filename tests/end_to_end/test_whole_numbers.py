# pyright: reportArgumentType=false, reportCallIssue=false
"""Python's ints, large ones among them, where they meet floats."""

from __future__ import annotations

from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_whole_numbers(row: Row) -> None:
    row.check()


@TABLE.add(lambda: (10,), lambda: (1,), lambda: (2**24,))
def quotients_of_squares(n):
    return n**0.5 * (1 - 1 / (4 * n) + 1 / (21 * n**2)), 21 * n * n < 7.5


@TABLE.add(lambda: (2**45 + 1, 20), lambda: (-3, 4), lambda: (2**53, 1))
def states_beyond_every_size(state, steps):
    drawn = []
    for _ in range(steps):
        state = (3 * state + 2**41 + 1) % 2**49
        drawn.append(state / 2**49)
    return drawn, state > 0.5


@TABLE.add(lambda: (2**53 + 1, 2.5), lambda: (-(2**53) - 1, 0.0), need="compiled")
def ints_that_floats_do_not_hold(k, x):
    return k < x, k / 3
