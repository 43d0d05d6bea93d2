"""Every kind of guard fails in the middle of work: state, result and exception are Python's.

Where the program resumes (loops, helpers, `else`...) is the business of `test_resume.py`.
"""

from __future__ import annotations

import math

import numpy as np

from tests.end_to_end.data import f8, i4, i8, parts, u1
from tests.end_to_end.guards import GuardRow, GuardTable

TABLE = GuardTable()


@TABLE.parametrize()
def test_guards(row: GuardRow) -> None:
    row.check()


# ---------------------------------------------------------------- bounds


@TABLE.add(lambda: (f8(5), 5), lambda: (f8(5), 6), lambda: (f8(0), 1))
def write_beyond_the_end(v, n):
    for i in range(n):
        v[i] = i * 2.0
    return n


@TABLE.add(lambda: (f8(5), 5), lambda: (f8(5), 6))
def negative_index_beyond_the_front(v, n):
    total = 0.0
    for k in range(n):
        total += v[-k - 1]
        v[-k - 1] = total
    return total


@TABLE.add(
    lambda: (f8(5), np.array([0, 4, -1])), lambda: (f8(5), np.array([1, 2, 99, 3])), lambda: (f8(5), np.array([-6]))
)
def index_read_from_an_array(v, which):
    for i in which:
        v[i] += 1.0
    return v.sum()


@TABLE.add(lambda: (f8(3, 4), 3, 4), lambda: (f8(3, 4), 3, 5), lambda: (f8(3, 4), 4, 4))
def second_axis(A, n, m):
    for i in range(n):
        for j in range(m):
            A[i, j] = A[i, j] * 10 + j


@TABLE.add(lambda: (f8(4), 4), lambda: (f8(4), 9))
def read_in_a_while(v, n):
    total, i = 0.0, 0
    while i < n:
        total += v[i]
        v[i] = -total
        i += 1
    return total


@TABLE.add(lambda: (f8(4, 2), 3), lambda: (f8(4, 2), 4), lambda: (f8(4, 2), -5))
def whole_row(A, i):
    A[0, 0] = 100.0
    A[i] = A[i] + 1
    return A[i].sum()


@TABLE.add(lambda: (f8(4), i8(4)), lambda: (f8(4), i8(3)), lambda: (f8(4), i8(0)))
def two_arrays_of_different_length(v, w):
    for i in range(len(v)):
        v[i] = w[i] + v[i]


@TABLE.add(lambda: (f8(6), 2), lambda: (f8(6), 3))
def index_computed_in_the_loop(v, k):
    for i in range(1, 6):
        v[i * k // 2 - 1] += i


# ---------------------------------------------------------------- slices and shapes


@TABLE.add(lambda: (f8(8), 6), lambda: (f8(8), 8), resumes=False)
def slice_clipped_on_the_right_side(v, n):
    total = 0.0
    for i in range(n):
        total += v[i : i + 3].sum()
        v[i] = total
    return total


@TABLE.add(lambda: (f8(8), 6), lambda: (f8(8), 7), lambda: (f8(8), 9))
def slice_clipped_on_the_left_side(v, n):
    for i in range(n):
        v[i : i + 3] = v[:3] + i


@TABLE.add(lambda: (f8(8), 3), lambda: (f8(8), 12), lambda: (f8(8), -3), lambda: (f8(8), 0), resumes=False)
def slice_by_an_argument(v, n):
    v[0] = 50.0
    w = v[:n] * 2
    return w, w.shape[0]


@TABLE.add(lambda: (f8(3), f8(2)), lambda: (f8(3), f8(5)), lambda: (f8(3), f8(0)))
def derived_sizes_that_differ(a, b):
    b[:1] = 7.0
    return a[:-1] + b


@TABLE.add(lambda: (f8(6), 5), lambda: (f8(6), 1), lambda: (f8(6), 3), resumes=False)
def derived_size_of_one_broadcasts(a, n):
    a[0] = -1.0
    return a[:n] + a[1:]


@TABLE.add(lambda: (f8(3), f8(2)), lambda: (f8(2), f8(3)), resumes=False)
def derived_size_of_one_meets_another(a, b):
    b[0] = 4.0
    return a[:-1] * b


@TABLE.add(lambda: (f8(5, 4), f8(4), 3), lambda: (f8(5, 4), f8(4), 7))
def row_beyond_the_end(A, b, n):
    for i in range(n):
        A[i] = A[i] + b
    return A.sum()


@TABLE.add(lambda: (f8(4), 4), lambda: (f8(4), 6), lambda: (f8(4), 1), resumes=False)
def assigned_length_differs(v, n):
    w = np.zeros(n) + 3
    v[0] = 9.0
    v[:] = w
    return w


@TABLE.add(lambda: (f8(3, 4), f8(4, 2), 4), lambda: (f8(3, 4), f8(4, 2), 3))
def product_of_derived_sizes(A, B, k):
    A[0] = 1.0
    return A @ B[:k]


@TABLE.add(lambda: (f8(12), 4), lambda: (f8(12), 5))
def reshape_that_does_not_fit(v, n):
    v[0] = 0.5
    return v.reshape(n, 3)


@TABLE.add(lambda: (f8(3), 2), lambda: (f8(3), -1))
def negative_extent(v, n):
    v[0] = 1.5
    return np.zeros(n) + v[0]


# ---------------------------------------------------------------- empty reductions


@TABLE.add(lambda: (f8(5), 3), lambda: (f8(5), 0))
def maximum_of_nothing(v, n):
    v[4] = 11.0
    return np.max(v[:n])


@TABLE.add(lambda: (f8(3, 4), 2), lambda: (f8(3, 4), 0))
def minimum_of_nothing_along_an_axis(A, n):
    A[0, 0] = -20.0
    low = A[:n].min(axis=0)
    A[1] = low
    return low


@TABLE.add(lambda: (f8(6), 4), lambda: (f8(6), 9))
def maximum_of_shrinking_parts(v, n):
    total = 0.0
    for i in range(n):
        total += v[i:].max()
        v[i % 3] = total
    return total


# ---------------------------------------------------------------- whole numbers of Python


@TABLE.add(lambda: (30,), lambda: (41,), lambda: (200,))
def product_overflows(n):
    t = 1
    for _ in range(n):
        t = t * 3
    return t


@TABLE.add(lambda: (2**60, 6), lambda: (2**60, 8), lambda: (-(2**60), 9), lambda: (2**63 - 1, 1))
def sum_overflows(x, n):
    t = x
    for i in range(n):
        t += x
        t -= i
    return t


@TABLE.add(lambda: (20,), lambda: (21,), lambda: (30,))
def factorial(n):
    result = 1
    for i in range(2, n + 1):
        result *= i
    return result


@TABLE.add(lambda: (1, 10), lambda: (1, 63), lambda: (1, 70), lambda: (3, 62), lambda: (-1, 64), lambda: (1, -1))
def left_shift(x, n):
    return (x << n) + 1


@TABLE.add(lambda: (1000, 3), lambda: (1000, 70), lambda: (-1000, 64), lambda: (5, -2), resumes=False)
def right_shift(x, n):
    return x >> n


@TABLE.add(lambda: (5, 3), lambda: (-(2**63), 1), lambda: (2**63 - 1, -1), lambda: (-(2**63), -1))
def edges_of_the_range(x, y):
    return -x, abs(x), x - y, x + y, x * y, x // y, x % y


@TABLE.add(lambda: (9 * 10**17,), lambda: (9 * 10**18,))
def overflow_in_a_condition(limit):
    x, steps = 1, 0
    while x < limit:
        x *= 10
        steps += 1
    return x, steps


@TABLE.add(lambda: (91,), lambda: (93,), lambda: (120,))
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@TABLE.add(lambda: (i8(4), 40), lambda: (i8(4), 70))
def overflow_between_writes(v, n):
    t = 1
    for i in range(n):
        t *= 2
        v[i % 4] += i
    v[0] = 77
    return t


@TABLE.add(lambda: (i8(4), 10), lambda: (i8(4), 64))
def large_number_into_an_array(v, n):
    t = 2**n
    v[0] = -3
    v[1] = t
    return t


@TABLE.add(lambda: (u1(4), 200), lambda: (u1(4), 256), lambda: (u1(4), -1))
def number_that_does_not_fit_an_element(v, x):
    v[0] = 3
    v[1] = x
    v[2] = 4


@TABLE.add(lambda: (u1(4), 200), lambda: (u1(4), 256), lambda: (u1(4), -1))
def number_that_does_not_fit_an_operand(v, x):
    v[0] = 3
    return v + x


@TABLE.add(lambda: (2.5,), lambda: (1e30,), lambda: (float("inf"),), lambda: (float("nan"),))
def float_to_int(x):
    return int(x) + 1


@TABLE.add(lambda: (3, 5), lambda: (3, 50), lambda: (3, -1), lambda: (-2, 64), lambda: (0, -1))
def power_of_whole_numbers(x, n):
    return x**n


@TABLE.add(lambda: (4, 0), lambda: (4, -3))
def power_with_falling_exponent(start, stop):
    total = 0
    for e in range(start, stop, -1):
        total += 2**e
    return total


@TABLE.add(lambda: (i8(4), 2), lambda: (i8(4), -1))
def power_of_whole_arrays(v, n):
    v[0] = 2
    return v**n


# ---------------------------------------------------------------- division and domains


@TABLE.add(lambda: (7, 2, i8(3)), lambda: (7, 0, i8(3)))
def whole_division_by_zero(x, y, v):
    v[0] = 9
    return x // y


@TABLE.add(lambda: (7, 2, i8(3)), lambda: (7, 0, i8(3)))
def remainder_by_zero(x, y, v):
    v[0] = 9
    return x % y


@TABLE.add(lambda: (7, 2), lambda: (7, 0))
def true_division_by_zero(x, y):
    return x / y


@TABLE.add(lambda: (7.5, 2.0, f8(3)), lambda: (7.5, 0.0, f8(3)), lambda: (0.0, -0.0, f8(3)))
def float_division_by_zero(x, y, v):
    v[1] = x
    return x / y


@TABLE.add(lambda: (7.5, 2.0), lambda: (7.5, 0.0))
def float_floor_division_by_zero(x, y):
    return x // y


@TABLE.add(lambda: (7.5, 2.0), lambda: (7.5, 0.0))
def float_remainder_by_zero(x, y):
    return x % y


@TABLE.add(lambda: (i8(5), 6), lambda: (i8(5), 3))
def division_by_zero_in_a_loop(v, n):
    for i in range(5):
        v[i] = 12 // (n - i)
    return v.sum()


@TABLE.add(lambda: (2.0,), lambda: (-1.0,), lambda: (-math.inf,))
def math_sqrt(x):
    return math.sqrt(x)


@TABLE.add(lambda: (2.0,), lambda: (math.nan,), lambda: (-0.0,), lambda: (math.inf,), resumes=False)
def math_sqrt_of_special_numbers(x):
    return math.sqrt(x), math.exp(x), math.floor(x)


@TABLE.add(lambda: (2.0, f8(2)), lambda: (0.0, f8(2)), lambda: (-3.0, f8(2)))
def math_log(x, v):
    v[0] = 5.0
    return math.floor(math.log(x))


@TABLE.add(lambda: (0.0,), lambda: (1000.0,))
def math_exp(x):
    return math.exp(x)


@TABLE.add(
    lambda: (4.0, 2.0),
    lambda: (0.0, -1.0),
    lambda: (10.0, 400.0),
    lambda: (-8.0, 0.5),
    lambda: (-8.0, 3.0),
    resumes=False,
)
def float_power(x, p):
    return x**p


# ---------------------------------------------------------------- overlap of arguments


def overlapping(shift: int, size: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Two views of one buffer, `shift` elements apart."""
    buffer = f8(size + abs(shift))
    return buffer[max(0, shift) :][:size], buffer[max(0, -shift) :][:size]


@TABLE.add(
    lambda: (f8(6), i8(6) * 1.0), lambda: overlapping(1), lambda: overlapping(-1), lambda: overlapping(5), resumes=False
)
def overlap_in_a_loop(a, b):
    for i in range(len(a)):
        a[i] = b[i] * 2 + a[i]


@TABLE.add(lambda: (f8(6), i8(6) * 1.0), lambda: overlapping(1), lambda: overlapping(-2), resumes=False)
def overlap_in_whole_arrays(a, b):
    a[:] = b + a
    b[1:] = a[:-1]
    a += b[::-1]


def interleaved() -> tuple[np.ndarray, np.ndarray]:
    """Two views whose bounds overlap but whose elements do not."""
    buffer = f8(12)
    return buffer[::2], buffer[1::2]


@TABLE.add(lambda: (f8(6), i8(6) * 1.0), interleaved, resumes=False)
def interleaved_views(a, b):
    for i in range(len(a)):
        a[i] = b[i] * 2 + a[i - 1]
    b[:] = a


def reinterpreted() -> tuple[np.ndarray, np.ndarray]:
    """One buffer seen as two types."""
    buffer = i8(6)
    return buffer.view(np.int32)[::2], buffer


@TABLE.add(lambda: (i4(6), i8(6)), reinterpreted, resumes=False)
def one_buffer_of_two_types(a, b):
    for i in range(len(a)):
        b[i] = a[i] + 1
        a[i] = a[i] * 3


def itself_overlapping() -> tuple[np.ndarray]:
    """An array whose rows share elements."""
    return (np.lib.stride_tricks.as_strided(f8(9), (4, 3), (16, 8)),)


@TABLE.add(lambda: (f8(4, 3),), itself_overlapping, resumes=False)
def rows_that_share_elements(A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] * 2 + 1


# ---------------------------------------------------------------- warnings


@TABLE.add(lambda: (parts(4), parts(4)), lambda: (parts(4), f8(4) * 0), resumes=False)
def array_division_by_zero_warns(a, b):
    a[0] = 0.0
    return a / b
