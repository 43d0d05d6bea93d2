"""Loops that become reductions, and those that must not."""

# ruff: noqa: B007, PLR1730

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.passes.loops import SIZES, assert_agrees, body_text, count, matrix, reasons, through, unguarded, vector
from weft.ir.nodes import Loop, Map, Reduce
from weft.passes.loop_reductions import LoopReductions
from weft.passes.loop_to_map import LoopToMap

STEPS = (LoopReductions(),)

# ---- sums, products, extremes ---------------------------------------------------------------------------------------


def total(a):
    s = np.float64(3.0)
    for i in range(len(a)):
        s += a[i]
    return s


def difference(a):
    s = a.dtype.type(0)
    for i in range(len(a)):
        s = s - a[i] * a[i]
    return s


def element_first(a):
    s = np.float64(0)
    for i in range(len(a)):
        s = a[i] + s
    return s


def product(a):
    s = np.float64(1)
    for i in range(len(a)):
        s *= a[i]
    return s


def backwards(a):
    s = np.float64(0)
    for i in range(len(a) - 1, -1, -1):
        s += a[i] * i
    return s


def every_other(a):
    s = np.float64(0)
    for i in range(0, len(a), 2):
        s += a[i]
    return s


def from_the_second(a):
    s = np.float64(0)
    for i in range(1, len(a)):
        s += a[i] - a[i - 1]
    return s


def numpy_maximum(a):
    s = np.float64(-3)
    for i in range(len(a)):
        s = np.maximum(s, a[i])
    return s


def numpy_minimum(a):
    s = np.float64(3)
    for i in range(len(a)):
        s = np.minimum(a[i], s)
    return s


def python_max(a):
    s = np.float64(-3)
    for i in range(len(a)):
        s = max(s, a[i])
    return s


def python_min(a):
    s = np.float64(3)
    for i in range(len(a)):
        s = min(s, a[i])
    return s


def if_greater(a):
    s = np.float64(2)
    for i in range(len(a)):
        if a[i] > s:
            s = a[i]
    return s


def if_less_reversed(a):
    s = np.float64(2)
    for i in range(len(a)):
        if s > a[i]:
            s = a[i]
    return s


def only_positive(a):
    s = np.float64(1)
    for i in range(len(a)):
        if a[i] > 0:
            s += a[i]
    return s


def two_kinds(a):
    s = np.float64(1)
    for i in range(len(a)):
        if a[i] > 0:
            s += a[i]
        else:
            s += 1.0
    return s


def otherwise(a):
    s = np.float64(1)
    for i in range(len(a)):
        if a[i] > 0:
            pass
        else:
            s -= a[i]
    return s


def largest_even_place(a):
    s = np.float64(-3)
    for i in range(len(a)):
        if i % 2 == 0:
            s = max(s, a[i])
    return s


def how_many_positive(a):
    c = 0
    for i in range(len(a)):
        if a[i] > 0:
            c += 1
    return c


def any_positive(a):
    found = False
    for i in range(len(a)):
        if a[i] > 0:
            found = True
    return found


def python_floats(a):
    s = 1.5
    for i in range(len(a)):
        s += 0.5 * i
    return s


def python_ints(a):
    s = 0
    for i in range(len(a)):
        s += 2 * i
    return s


def two_sums(a):
    s = np.float64(0)
    t = np.float64(0)
    for i in range(len(a)):
        s += a[i]
        t += a[i] * a[i]
    return s, t


def a_sum_beside_what_stays(a):
    s = np.float64(0)
    t = np.float64(7)
    for i in range(len(a)):
        s += a[i] * t
        t = t  # noqa: PLW0127
    return s, t


REDUCED = [
    total, difference, element_first, product, backwards, every_other, from_the_second, numpy_maximum, numpy_minimum,
    python_max, python_min, if_greater, if_less_reversed, only_positive, two_kinds, otherwise,
    largest_even_place, how_many_positive, any_positive, python_floats, python_ints, two_sums, a_sum_beside_what_stays,
]  # fmt: skip


@pytest.mark.parametrize("function", REDUCED, ids=lambda f: f.__name__)
def test_becomes_a_reduction(function: Callable[..., Any]) -> None:
    made, _ = through(unguarded(function, (vector(9),)), *STEPS)
    assert count(made, Loop) == 0
    assert count(made, Reduce) >= 1
    for size in (*SIZES, 41):
        assert_agrees(function, made, lambda size=size: (vector(size),))


@pytest.mark.parametrize("function", [total, difference, numpy_maximum, only_positive], ids=lambda f: f.__name__)
@pytest.mark.parametrize("value", [-0.0, np.nan, np.inf, -np.inf])
def test_special_numbers(function: Callable[..., Any], value: float) -> None:
    made, _ = through(unguarded(function, (vector(9),)), *STEPS)
    for place in (0, 4, 8):
        assert_agrees(function, made, lambda place=place: (with_value(value, place),))


def with_value(value: float, place: int) -> Any:
    a = vector(9)
    a[place] = value
    return a


@pytest.mark.parametrize("function", [python_max, python_min, if_greater, if_less_reversed], ids=lambda f: f.__name__)
def test_python_passes_over_nan(function: Callable[..., Any]) -> None:
    made, _ = through(unguarded(function, (vector(9),)), *STEPS)
    for place in range(9):
        assert_agrees(function, made, lambda place=place: (with_value(np.nan, place),))
    assert_agrees(function, made, lambda: (np.full(4, np.nan),))


def from_an_argument(a, s):
    for i in range(len(a)):
        s = s + a[i]
    return s


@pytest.mark.parametrize("start", [-0.0, np.nan, np.inf])
def test_an_empty_sum_is_what_it_was(start: float) -> None:
    made, _ = through(unguarded(from_an_argument, (vector(9), np.float64(1))), *STEPS)
    assert count(made, Loop) == 0
    assert_agrees(from_an_argument, made, lambda: (vector(0), np.float64(start)))


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_the_element_type_is_kept(dtype: Any) -> None:
    made, _ = through(unguarded(difference, (vector(9, dtype),)), *STEPS)
    assert count(made, Loop) == 0
    assert_agrees(difference, made, lambda: (vector(9, dtype),))


def python_max_of_integers(a):
    s = a[0]
    for i in range(1, len(a)):
        s = max(s, a[i])
    return s


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16])
def test_extremes_of_integers(dtype: Any) -> None:
    made, _ = through(unguarded(python_max_of_integers, (vector(9, dtype),)), *STEPS)
    assert count(made, Loop) == 0
    assert_agrees(python_max_of_integers, made, lambda: (vector(9, dtype),))


# ---- nests and elements ---------------------------------------------------------------------------------------------


def squares(A):
    s = np.float64(0)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s += A[i, j] * A[i, j]
    return s


def weighted(A):
    s = np.float64(0)
    for i in range(A.shape[0]):
        w = A[i, 0]
        for j in range(A.shape[1]):
            s -= w * A[i, j]
    return s


def test_a_nest_is_one_reduction(golden: Golden) -> None:
    made, _ = through(unguarded(weighted, (matrix(3, 4),)), *STEPS)
    assert count(made, Loop) == 0
    assert count(made, Reduce) == 1
    assert body_text(made) == golden
    for function in (squares, weighted):
        made, _ = through(unguarded(function, (matrix(3, 4),)), *STEPS)
        for size in (1, 2, 5):
            assert_agrees(function, made, lambda size=size: (matrix(size, size + 1),))
    assert_agrees(squares, through(unguarded(squares, (matrix(3, 4),)), *STEPS)[0], lambda: (matrix(0, 3),))
    assert_agrees(squares, through(unguarded(squares, (matrix(3, 4),)), *STEPS)[0], lambda: (matrix(3, 0),))


def matrix_product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def test_an_element_that_grows(golden: Golden) -> None:
    made, _ = through(unguarded(matrix_product, (matrix(3, 4), matrix(4, 2), matrix(3, 2))), *STEPS, LoopToMap())
    assert count(made, Loop) == 0
    assert count(made, Map) == 2
    assert body_text(made) == golden
    for n, m, k in ((0, 1, 2), (1, 1, 1), (3, 4, 5), (2, 2, 0)):
        assert_agrees(matrix_product, made, lambda n=n, m=m, k=k: (matrix(n, k), matrix(k, m, 1), matrix(n, m, 2)))


def into_the_first(a, b):
    for i in range(len(b)):
        a[0] += b[i]


def test_an_element_that_may_not_exist_is_touched_only_with_an_iteration(golden: Golden) -> None:
    made, _ = through(unguarded(into_the_first, (vector(3), vector(4))), *STEPS)
    assert count(made, Loop) == 0
    assert body_text(made) == golden
    assert_agrees(into_the_first, made, lambda: (vector(0), vector(0)))
    assert_agrees(into_the_first, made, lambda: (vector(2), vector(7)))


def over_two_loops(A, s):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s[0] -= A[i, j]


def lower_rows(A):
    for i in range(A.shape[0]):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]


@pytest.mark.parametrize(("function", "loops"), [(over_two_loops, 0), (lower_rows, 2)], ids=["two loops", "lower rows"])
def test_elements_in_nests(function: Callable[..., Any], loops: int) -> None:
    arguments = (lambda n: (matrix(n, n), vector(3))) if function is over_two_loops else (lambda n: (matrix(n, n),))
    made, _ = through(unguarded(function, arguments(4)), *STEPS, LoopToMap())
    assert count(made, Loop) == loops
    for size in (1, 2, 5):
        assert_agrees(function, made, lambda size=size: arguments(size))


# ---- what is no reduction -------------------------------------------------------------------------------------------


def alternating(a, b):
    s = np.float64(0)
    for i in range(len(a)):
        s = a[i] - s
    return s


def horner(a, b):
    s = np.float64(0)
    for i in range(len(a)):
        s = s * 2.0 + a[i]
    return s


def prefix(a, b):
    s = np.float64(0)
    for i in range(len(a)):
        s += a[i]
        b[i] = s
    return s


def prefix_before(a, b):
    s = np.float64(0)
    for i in range(len(a)):
        b[i] = s
        s += a[i]
    return s


def doubled(a, b):
    s = np.float64(1)
    for i in range(len(a)):
        s = s + s
    return s


def added_twice(a, b):
    s = np.float64(1)
    for i in range(len(a)):
        s = s + a[i] * s
    return s


def fibonacci(a, b):
    s, t = np.float64(0), np.float64(1)
    for i in range(len(a)):
        s, t = t, s + t
    return s


def exchanged(a, b):
    s, t = np.float64(0), np.float64(1)
    for i in range(len(a)):
        s, t = t, s + a[i]
    return s, t


def one_needs_the_other(a, b):
    s, t = np.float64(0), np.float64(0)
    for i in range(len(a)):
        s += a[i]
        t += s
    return t


def condition_on_the_sum(a, b):
    s = np.float64(0)
    for i in range(len(a)):
        if s < 10:
            s += a[i]
    return s


def halved(a, b):
    s = np.float64(1)
    for i in range(len(a)):
        s = s / 2.0
    return s


def element_first_max(a, b):
    s = np.float64(0)
    for i in range(len(a)):
        s = max(a[i], s)
    return s


def position_of_the_largest(a, b):
    s, k = np.float64(-99), 0
    for i in range(len(a)):
        if a[i] > s:
            s = a[i]
            k = i
    return k


def last_positive(a, b):
    last = np.float64(0)
    for i in range(len(a)):
        if a[i] > 0:
            last = a[i]
    return last


def scaled_product(a, b):
    s = b[0]
    for i in range(len(a)):
        s *= a[i]
    return s


def writes_beside(a, b):
    s = np.float64(0)
    for i in range(len(a)):
        s += a[i]
        b[i] = a[i] * 2
    return s


def sum_of_what_is_written(a, b):
    s = np.float64(0)
    for i in range(len(a)):
        b[i] = a[i] * 2
        s += b[i]
    return s


def read_before_it_is_written(a, b):
    s = np.float64(0)
    for i in range(len(a)):
        s += b[i]
        b[i] = a[i] * 2
    return s


def the_same_element_in_all_turns(a, b):
    s = np.float64(0)
    for i in range(len(a)):
        s += b[0]
        b[i] = a[i] * 2
    return s


def changed_by_the_next(a, b):
    s = np.float64(0)
    for i in range(len(a) - 1):
        b[i] = a[i] * 2
        s += b[i + 1]
    return s


def element_read_elsewhere(a, b):
    for i in range(len(a)):
        b[0] += b[i]


def element_that_moves(a, b):
    for i in range(len(a)):
        b[i // 2] += a[i]


def scatter(a, b):
    for i in range(len(a)):
        b[int(a[i] * a[i]) % len(b)] += 1


def element_copied_out(a, b):
    for i in range(1, len(a)):
        b[0] += a[i]
        b[i] = b[0]


def guarded_read(a, b):
    s = np.float64(0)
    for i in range(len(a)):
        if i > 0:
            s += a[i - 1]
    return s


def may_warn_on_one_side(a, b):
    s = np.float64(0)
    for i in range(len(a)):
        if a[i] != 0:
            s += np.log(a[i])
    return s


STAYS = [
    alternating, horner, prefix, prefix_before, doubled, added_twice, fibonacci, exchanged, one_needs_the_other,
    condition_on_the_sum, halved, element_first_max, position_of_the_largest, last_positive, scaled_product,
    read_before_it_is_written, element_read_elsewhere, element_that_moves, scatter, element_copied_out, guarded_read,
    may_warn_on_one_side, changed_by_the_next, the_same_element_in_all_turns,
]  # fmt: skip


@pytest.mark.parametrize("function", [writes_beside, sum_of_what_is_written], ids=lambda f: f.__name__)
def test_a_light_sum_goes_beside_what_is_written(function: Callable[..., Any], golden: Golden) -> None:
    made, _ = through(unguarded(function, (vector(9), vector(9, seed=1))), *STEPS)
    assert (count(made, Reduce), count(made, Loop)) == (1, 1)
    assert body_text(made) == golden
    for size in SIZES:
        assert_agrees(function, made, lambda size=size: (vector(size), vector(size, seed=1)))


@pytest.mark.parametrize("function", STAYS, ids=lambda f: f.__name__)
def test_stays_a_loop(function: Callable[..., Any]) -> None:
    before = unguarded(function, (vector(9), vector(9, seed=1)))
    made, _ = through(before, *STEPS)
    assert made is before


def sum_of_integers(a):
    s = a[0]
    for i in range(1, len(a)):
        s += a[i]
    return s


def test_integers_of_numpy_tell_when_they_overflow_so_they_stay_in_order() -> None:
    before = unguarded(sum_of_integers, (vector(9, np.int64),))
    made, session = through(before, *STEPS)
    assert made is before
    assert "s is more than added up in the loop over i" in reasons(session)


def many_sums(a):
    s, t, u = np.float64(0), np.float64(0), np.float64(0)
    for i in range(len(a)):
        x = np.exp(np.sin(a[i]))
        s += x
        t += x * x
        u += x - 1.0
    return s, t, u


def wished_sums(a):
    s, t, u = np.float64(0), np.float64(0), np.float64(0)
    for i in weft.prange(len(a)):
        x = np.exp(np.sin(a[i]))
        s += x
        t += x * x
        u += x - 1.0
    return s, t, u


def test_sums_that_share_much_work_stay_together_unless_wished() -> None:
    before = unguarded(many_sums, (vector(9),))
    made, session = through(before, *STEPS)
    assert made is before
    assert "the sums of the loop over i share too much work" in reasons(session)
    made, _ = through(unguarded(wished_sums, (vector(9),)), *STEPS)
    assert count(made, Reduce) == 3


def wished_with_writes(a, b):
    s, m = np.float64(0), np.float64(99)
    for i in weft.prange(len(a)):
        b[i] = a[i] * 2
        s += b[i]
        m = np.minimum(m, a[i])
    return s, m


def wished_with_flags(a, b):
    s, m, seen = np.float64(0), np.float64(-99), False
    for i in weft.prange(len(a)):
        b[i] = a[i] + 1
        if len(b) > 3:
            seen = True
        if a[i] > m:
            m = a[i]
        s += a[i]
    return s, m, seen


def wished_over_what_it_reads(a, b):
    s = np.float64(0)
    for i in weft.prange(len(a) - 1):
        a[i] = a[i + 1] * 2
        s += a[i]
    return s


def wished_sum_of_what_is_written_later(a, b):
    s = np.float64(0)
    for i in weft.prange(1, len(a)):
        s += a[i - 1]
        a[i] = b[i]
    return s


def test_a_wish_puts_reductions_in_front_of_the_map(golden: Golden) -> None:
    made, _ = through(unguarded(wished_with_writes, (vector(9), vector(9, seed=1))), *STEPS, LoopToMap())
    assert count(made, Loop) == 0
    assert body_text(made) == golden
    for function in (wished_with_writes, wished_with_flags):
        made, _ = through(unguarded(function, (vector(9), vector(9, seed=1))), *STEPS, LoopToMap())
        assert count(made, Loop) == 0
        for size in SIZES:
            assert_agrees(function, made, lambda size=size: (vector(size), vector(size, seed=1)))


@pytest.mark.parametrize("function", [wished_over_what_it_reads, wished_sum_of_what_is_written_later])
def test_a_wish_that_needs_an_order_stays_a_loop(function: Callable[..., Any]) -> None:
    made, _ = through(unguarded(function, (vector(9), vector(9, seed=1))), *STEPS, LoopToMap())
    assert count(made, Loop) == 1
    assert_agrees(function, made, lambda: (vector(9), vector(9, seed=1)))
