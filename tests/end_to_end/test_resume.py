"""Where a failed guard may be: in every kind of loop, in helpers, in the middle of a statement. Python goes on there.

Most programs here overflow: `2 ** n` with a large n is a big integer in Python, so the program can go on after it.
"""

# Loop variables are used after their loops, also where that is an exception.
# pyright: reportPossiblyUnboundVariable=false
# ruff: noqa: B007, B905, E731, PLW0120, RET504

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.data import f8, i8
from tests.end_to_end.guards import GuardRow, GuardTable
from tests.end_to_end.outcome import assert_same, run

TABLE = GuardTable()


@TABLE.parametrize()
def test_resume(row: GuardRow) -> None:
    row.check()


# ---------------------------------------------------------------- loops


@TABLE.add(lambda: (f8(6), 5), lambda: (f8(6), 20))
def in_a_for_loop(v, n):
    t = 1
    for i in range(6):
        v[i] += i
        t = t << n
        v[i] *= 2
    v[0] = -1.0
    return t, i


@TABLE.add(lambda: (f8(6), 5), lambda: (f8(6), 20))
def in_a_while_loop(v, n):
    t, i = 1, 0
    while i < 6:
        v[i] += 1
        t <<= n
        i += 1
    else:
        v[0] = t % 7
    return t, i


@TABLE.add(lambda: (f8(3, 4), 3), lambda: (f8(3, 4), 8))
def in_nested_loops(A, n):
    t, count = 1, 0
    for i in range(3):
        for j in range(4):
            A[i, j] += count
            t *= 2**n
            count += 1
        A[i, 0] = -A[i, 0]
    return t, count


@TABLE.add(lambda: (f8(3, 4), 3), lambda: (f8(3, 4), 8))
def in_a_while_inside_a_for(A, n):
    t = 1
    for i in range(3):
        j = 0
        while j < 4:
            t *= 2**n
            j += 1
            A[i, j - 1] -= j
    return t


@TABLE.add(lambda: (9, 3), lambda: (9, 30), lambda: (40, 30))
def in_a_for_with_else_and_break(n, k):
    t = 1
    for i in range(n):
        t = t << k
        if i == 20:
            result = "left"
            break
    else:
        result = "finished"
    return result, t, i


@TABLE.add(lambda: (f8(5), 8), lambda: (f8(5), 30))
def in_enumerate(v, n):
    t = 1
    for i, x in enumerate(v, 2):
        t = (t << n) + i
        v[i - 2] = x + i
    return t, i, x


@TABLE.add(lambda: (f8(5), i8(7), 8), lambda: (f8(5), i8(7), 30))
def in_zip(v, w, n):
    t = 1
    for x, y in zip(v, w):
        t = t << n
        w[0] += 1
    return t, x, y


@TABLE.add(lambda: (f8(5), 8), lambda: (f8(5), 30))
def in_reversed(v, n):
    t, order = 1, 0
    for i in reversed(range(1, 5)):
        t = t << n
        order = order * 10 + i
    for x in reversed(v):
        v[0] += x
    return t, order


@TABLE.add(lambda: (f8(4, 3), 8), lambda: (f8(4, 3), 30))
def in_rows(A, n):
    t = 1
    for row in A:
        row[0] = 5.0
        t = t << n
        row[1:] += row[0]
    return t


@TABLE.add(lambda: (20, 6), lambda: (20, 30))
def in_a_range_with_steps(n, k):
    t, order = 1, 0
    for i in range(n, 0, -6):
        t <<= k
        order = order * 31 + i
    return t, order


@TABLE.add(lambda: (f8(4), 8), lambda: (f8(4), 30))
def in_a_prange(v, n):
    t = 1
    for i in weft.prange(4):
        t = t << n
        v[i] += 1
    return t


@TABLE.add(lambda: (f8(2, 3), 5), lambda: (f8(2, 3), 30))
def in_a_map(A, n):
    t = 1
    for i, j in weft.map[0:2, 0:3]:
        t = t << n
        A[i, j] += i - j
    return t


@TABLE.add(lambda: (f8(4), 5), lambda: (f8(4), 40))
def with_break_and_continue_after_it(v, n):
    t = 1
    for i in range(10):
        t = t << n
        if i == 1:
            continue
        v[i % 4] += 1
        if i == 6:
            break
        v[0] -= 1
    return t, i


@TABLE.add(lambda: (f8(4), 5), lambda: (f8(4), 40))
def with_return_after_it(v, n):
    t = 1
    for i in range(10):
        t = t << n
        v[i % 4] += 1
        if i == 6:
            return t, v[1]
    return None


@TABLE.add(lambda: (5, 10), lambda: (70, 10))
def in_a_branch(n, x):
    if x > 5:
        y = 2**n
        x = x - 1
    else:
        y = -1
    return y + x


@TABLE.add(lambda: (f8(4), 2, 1), lambda: (f8(4), 70, 1))
def in_an_expression(v, n, flag):
    v[1] = 3.0
    return (2**n if flag else 7) + len(v), flag and 1 << n


# ---------------------------------------------------------------- functions


def grow(t, n, v):
    v[0] += 1
    t = t << n
    v[1] += 1
    return t


def grow_twice(t, n, v):
    t = grow(t, n, v)
    v[2] += 1
    return grow(t, n, v) + 1


def find(v, wanted, n):
    for i in range(len(v)):
        n = n * n
        if v[i] == wanted:
            return i, n
    return -1, n


def store(v, i, x):
    v[i] = x


@TABLE.add(lambda: (f8(4), 5), lambda: (f8(4), 40), lambda: (f8(4), 70))
def in_a_helper(v, n):
    t = grow(1, n, v)
    v[3] = 5.0
    t = t + grow(t, n, v)
    return t


@TABLE.add(lambda: (f8(4), 2), lambda: (f8(4), 9))
def in_a_helper_of_a_helper_in_a_loop(v, n):
    t = 1
    for i in range(5):
        t = grow_twice(t, n, v)
        v[3] += i
    return t


@TABLE.add(lambda: (f8(6), 1), lambda: (f8(6), 3))
def in_the_loop_of_a_helper(v, n):
    i, t = find(v, 99.0, n)
    v[i] = 0.5
    return t, i


@TABLE.add(lambda: (f8(4), 3), lambda: (f8(4), 4))
def exception_in_a_helper(v, i):
    v[0] = 1.0
    store(v, i, 2.0)
    v[1] = 3.0


@TABLE.add(lambda: (f8(4), 5), lambda: (f8(4), 70))
def in_a_lambda(v, n):
    shift = lambda x: (x << n) + 1
    v[0] = 1.0
    t = shift(1) - shift(2)
    v[1] = 2.0
    return t


@TABLE.add(lambda: (f8(4), 5), lambda: (f8(4), 70))
def in_a_nested_function(v, n):
    def shifted(x):
        v[0] += 1
        return x << n

    t = shifted(1)
    n = 2
    return t + shifted(1)


# ---------------------------------------------------------------- in the middle of a statement


def bump(counter):
    counter[0] += 1
    return counter[0]


def summed(force, length, n, v):
    length = length / 2
    t = 1
    for i in range(3):
        t <<= n
        v[i] += force(v[i], t % 5) * length
        length += 1
    return v, t, force(length, 0)


@TABLE.add(lambda: (f8(3), 5), lambda: (f8(3), 30))
def in_a_function_whose_names_hide_those_of_another(v, n):
    length, t = 4.0, 7

    def bent(x):
        return x * length

    def force(x, i, scale=2.0):
        return bent(x) * scale + t - i + sum([length + k for k in range(2)])

    a = summed(force, length, n, v)
    length = 8.0
    return a, summed(lambda length, i: length * t + i, length, n, v), force(v[0], 1), summed(force, 1.0, n, v)


def in_a_function_that_binds_what_another_reads(v, n):
    length = 4.0

    def force(x, i):
        scaled = lambda length: length * 2 + i
        return scaled(x) + length

    return summed(force, length, n, v)


@pytest.mark.filterwarnings("ignore::weft.FallbackWarning")
def test_a_function_that_binds_a_name_it_is_read_apart_by_runs_in_python() -> None:
    program = weft.program(in_a_function_that_binds_what_another_reads)
    for n in (5, 30):
        assert_same(program(f8(3), n), in_a_function_that_binds_what_another_reads(f8(3), n))


@TABLE.add(lambda: (i8(4) * 0, f8(6), 3), lambda: (i8(4) * 0, f8(6), 70))
def what_was_done_is_not_done_again(counter, v, n):
    v[bump(counter)] += bump(counter) + (1 << n) % 5 + bump(counter)
    return counter[0]


@TABLE.add(lambda: (i8(2) * 0, f8(4), 3), lambda: (i8(2) * 0, f8(4), 4))
def what_was_done_before_a_bad_store(counter, v, i):
    v[i] = bump(counter) * 2.0
    return counter[0]


@TABLE.add(lambda: (f8(4), 3, 5), lambda: (f8(4), 3, 70), lambda: (f8(4), 9, 5))
def targets_are_assigned_in_order(v, i, n):
    v[0], v[i], x = 10.0, 20.0, 1 << n
    return x


@TABLE.add(lambda: (f8(4), 3, 5), lambda: (f8(4), 9, 5))
def chained_targets_are_assigned_in_order(v, i, n):
    v[0] = x = v[i] = n
    return x


@TABLE.add(lambda: (5, 3), lambda: (5, 70))
def conditions_are_evaluated_once(x, n):
    if x > 0 and (1 << n) > 100:
        return n
    return -n


@TABLE.add(lambda: (f8(5), i8(3), 4), lambda: (f8(5), i8(3), 80))
def everything_that_lives_is_carried_over(v, w, n):
    a, b, c, d = 1, 2.5, True, None
    e, f, g = v[1:], np.float32(1.5), (w, "text")
    h = v * 2
    t = 1
    for i in range(3):
        t = t << n
        h[i] += 1
        e = e[:-1]
    e[0] = 42.0
    return a, b, c, d, e, f, g, h, t, i


@TABLE.add(lambda: (f8(5), True, 4), lambda: (f8(5), True, 80), lambda: (f8(5), False, 80))
def unbound_names_stay_unbound(v, flag, n):
    if flag:
        x = v[0]
    t = 1 << n
    return t, x


@TABLE.add(lambda: (f8(5), f8(5), 4), lambda: (f8(5), f8(5), 80))
def swapped_arrays_are_carried_over(a, b, n):
    t = 1
    for _ in range(3):
        a, b = b, a
        a[0] += 1
        t = t << n
    b[1] = -5.0
    return a, b, t


@TABLE.add(lambda: (f8(4), 3), lambda: (f8(4), 7))
def fails_twice(v, i):
    t = 10 ** (i * 4)
    v[0] = 1.0
    v[i] = 2.0
    return t


# ---------------------------------------------------------------- what the user sees


def lines_of(error: BaseException | None) -> list[tuple[str, int | None]]:
    """Function and line of the frames in this file, outermost first, without those of the test itself."""
    frames = traceback.extract_tb(error.__traceback__ if error else None)
    return [(frame.name, frame.lineno) for frame in frames if frame.filename == __file__]


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (exception_in_a_helper, lambda: (f8(4), 4)),
        (targets_are_assigned_in_order, lambda: (f8(4), 9, 5)),
        (what_was_done_before_a_bad_store, lambda: (i8(2), f8(4), 4)),
    ],
    ids=lambda value: value.__name__,
)
def test_the_traceback_shows_the_users_line(function: Any, make: Any) -> None:
    expected = run(function, make())
    actual = run(weft.program(function, fallback="error"), make())

    assert lines_of(expected.error)
    assert lines_of(actual.error)[-1][1] == lines_of(expected.error)[-1][1]


def test_the_caller_can_catch_and_go_on() -> None:
    def attempt(function: Any) -> tuple[Any, ...]:
        v, log = f8(4), []
        for n in (3, 6, 4, 5, 2):
            try:
                function(v, n)
            except IndexError as error:
                log.append(str(error))
        return v, log

    def fill(v, n):
        for i in range(n):
            v[i] = v[i] * 2 + n

    assert_same(attempt(weft.program(fill, fallback="error")), attempt(fill))


def test_many_failures_do_not_leak() -> None:
    def fill(v, n):
        w = v * 2
        for i in range(n):
            w[i] = 1.0
        return w

    program = weft.program(fill, fallback="error")
    v = f8(4)
    program(v, 4)
    references = [count_references(v) for _ in range(2)]
    for _ in range(50):
        assert isinstance(run(program, (v, 5)).error, IndexError)
    assert count_references(v) == references[-1]


def count_references(value: Any) -> int:
    import gc
    import sys

    gc.collect()
    return sys.getrefcount(value)
