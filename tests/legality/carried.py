"""Numbers that go from one iteration to the next: sums, and what looks like one."""

from __future__ import annotations

import numpy as np

from tests.legality.data import fractions, numbers, signs
from tests.legality.harness import MATRIX, Theme

THEME = Theme("carried")
FLOATS = (np.float64, np.float32)


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def used_before_it_changes(a, b):
    # b[i] is the sum without a[i].
    s = 0.0
    for i in range(len(a)):
        b[i] = s
        s += a[i]
    return s


@THEME.trap(lambda n, t: (numbers(n, t),))
def running_sum(a):
    # The sum is stored in every iteration: a scan, not a reduction.
    s = 0
    for i in range(len(a)):
        s += a[i]
        a[i] = s


@THEME.trap(lambda n, t: (numbers(n + 1, t),))
def last_value_wins(a):
    # Only the last assignment counts: not any of them.
    x = a[0]
    for i in range(len(a)):
        x = a[i] * 2
    return x


@THEME.trap(lambda n, t: (numbers(n, t),))
def last_that_fits(a):
    # The last one that meets the condition, and whether there was one.
    x = -1.0
    for i in range(len(a)):
        if a[i] > 5:
            x = i * 1.0
    return x


@THEME.trap(lambda n, t: (numbers(n, t) * 0.5,), dtypes=FLOATS)
def position_of_the_smallest(a):
    # Ties go to the first: the order of comparisons matters.
    best = np.inf
    where = -1
    for i in range(len(a)):
        if a[i] < best:
            best = a[i]
            where = i
    return where, best


@THEME.trap(lambda n, t: (numbers(n, t),))
def position_of_the_largest_from_behind(a):
    # Ties go to the last, in a loop that runs down.
    where = len(a) - 1
    for i in range(len(a) - 1, -1, -1):
        if a[i] > a[where]:
            where = i
    return where


@THEME.trap(lambda n, t: (numbers(n, t),))
def alternating_sign(a):
    # The sign is carried: the sum is one only if it is known in closed form.
    sign = 1
    s = 0
    for i in range(len(a)):
        s += sign * a[i]
        sign = -sign
    return s


@THEME.trap(lambda n, t: (numbers(n, t),))
def sum_of_some(a):
    # A sum under a condition on the element: a reduction with care.
    s = 0
    count = 0
    for i in range(len(a)):
        if a[i] > 0:
            s += a[i]
            count += 1
    return s, count


@THEME.trap(lambda n, t: (numbers(n, t),))
def condition_on_the_sum(a):
    # The condition reads the accumulator: no reduction at all.
    s = 0
    for i in range(len(a)):
        if s < 10:
            s += a[i]
        else:
            s -= 3
    return s


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def two_that_need_each_other(a, b):
    # Each of the two sums uses the other's present value.
    s = 0
    t = 0
    for i in range(len(a)):
        s += a[i] + (t % 3)
        t += b[i] - (s % 5)
    return s, t


@THEME.trap(lambda n, t: (numbers(n, t),))
def fibonacci_like(a):
    # Both names change at once.
    x, y = 0, 1
    for i in range(len(a)):
        x, y = y, (x + y) % 101
        a[i] += x
    return x, y


@THEME.trap(lambda n, t: (signs(n, t),))
def product(a):
    # A product may be taken in any order of exact numbers.
    p = 1
    for i in range(len(a)):
        p *= a[i]
    return p


@THEME.trap(lambda n, t: (numbers(n, t),))
def difference(a):
    # s -= x is a sum of negatives.
    s = 100
    for i in range(len(a)):
        s -= a[i]
    return s


@THEME.trap(lambda n, t: (numbers(n, t),))
def reversed_difference(a):
    # s = x - s looks like the one above and alternates.
    s = 0
    for i in range(len(a)):
        s = a[i] - s
    return s


@THEME.trap(lambda n, t: (fractions(n, t),), dtypes=FLOATS)
def reversed_quotient(a):
    # s = x / s is no product.
    s = 1.0
    for i in range(len(a)):
        s = a[i] / s
    return s


@THEME.trap(lambda n, t: (fractions(n, t), 0.9), dtypes=FLOATS)
def decaying_sum(a, q):
    # The accumulator is scaled in every step.
    s = 0.0
    for i in range(len(a)):
        s = q * s + a[i]
    return s


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def sum_read_inside(a, b):
    # A sum, and its value in between goes elsewhere.
    s = 0
    for i in range(len(a)):
        s += a[i]
        b[i] = b[i] - s


@THEME.trap(lambda n, t: (numbers(n, t),))
def sum_of_what_is_written(a):
    # The sum goes into the element that is added next.
    s = 0
    for i in range(len(a) - 1):
        s += a[i]
        a[i + 1] = s % 7


@THEME.trap(lambda n, t: (numbers(n, t),), dtypes=(np.complex128, np.complex64))
def complex_sum(a):
    # Two numbers in one accumulator, and a product of it afterwards.
    s = 0j
    for i in range(len(a)):
        s += a[i]
    return s * 2


@THEME.trap(lambda n, t: (numbers(n, np.bool_), numbers(n, np.bool_, 1)), dtypes=(np.bool_,))
def any_and_all(a, b):
    # Truth values, once short-circuited and once not.
    found = False
    complete = True
    for i in range(len(a)):
        found = found or a[i]
        complete = complete and b[i]
    return bool(found), bool(complete)


@THEME.trap(lambda n, t: (numbers(n, t),), dtypes=(np.int64, np.int32))
def parity(a):
    # Exclusive or of all, with a step that depends on it.
    p = 0
    for i in range(len(a)):
        p ^= int(a[i]) & 7
        a[i] = p
    return p


@THEME.trap(lambda n, t: (numbers(n, t),))
def loop_variable_afterwards(a):
    # The variable lives on with its last value, and none was given if there was no iteration.
    i = -7
    for i in range(len(a)):
        a[i] += 1
    return i


@THEME.trap(lambda n, t: (numbers(n, t),))
def loop_variable_changed(a):
    # An assignment to the variable lasts until the next iteration only.
    s = 0
    for i in range(len(a)):
        s += a[i] * i
        i = i * 100  # noqa: PLW2901
        s += i
    return s


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def sums_of_rows(A):
    # Reset in every row: rows are independent. Not reset: they are not.
    total = 0
    for i in range(A.shape[0]):
        s = 0
        for j in range(A.shape[1]):
            s += A[i, j]
        A[i, 0] = s
        total = 2 * total % 1001 + s
    return total


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def sum_that_is_not_reset(A):
    # The same two loops, with the accumulator outside.
    s = 0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s += A[i, j]
        A[i, 0] = s


@THEME.trap(lambda n, t: (numbers(n, t),))
def smallest_and_largest(a):
    # Two of them at once, and a NaN would be lost by one of them.
    low = 99
    high = -99
    for i in range(len(a)):
        low = min(low, a[i])
        high = max(high, a[i])
    return low, high


@THEME.trap(
    lambda n, t: (numbers(n + 1, t) * 0.5,), dtypes=FLOATS, more=(lambda: (np.array([1.0, np.nan, 0.5, 2.0]),),)
)
def smallest_by_comparison(a):
    # With NaN, `<` and np.minimum differ, and so does the order.
    m = a[0]
    for i in range(1, len(a)):
        if a[i] < m:  # noqa: PLR1730 - min() would be another program
            m = a[i]
    return m


@THEME.trap(lambda n, t: (numbers(n, t),))
def sum_from_the_other_end(a):
    # Runs down, and each partial sum is stored.
    s = 0
    for i in range(len(a) - 1, -1, -1):
        s += a[i]
        a[i] = s


@THEME.trap(lambda n, t: (numbers(n, t),))
def flag_that_switches(a):
    # Elements are changed in every other stretch between large ones.
    on = False
    for i in range(len(a)):
        if a[i] > 6:
            on = not on
        if on:
            a[i] = 0


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def count_is_an_index(a, b):
    # Compaction: where an element goes is how many came before.
    k = 0
    for i in range(len(a)):
        if a[i] >= 0:
            b[k] = a[i]
            k += 1
    return k


@THEME.trap(lambda n, t: (numbers(n, t),))
def index_that_jumps(a):
    # The place is carried and wraps: it may come back.
    k = 0
    n = len(a)
    for i in range(n):
        k = (k + 3) % n
        a[k] += i


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def previous_element(a, b):
    # The carried number is a shifted read of b, before b changes.
    before = 0
    for i in range(len(a)):
        now = b[i]
        b[i] = a[i] - before
        before = now


@THEME.trap(lambda n, t: (numbers(n, t),), dtypes=(np.float32, np.float64))
def sum_in_double(a):
    # A Python float accumulates float32: the sum is NumPy's scalar from the first element on.
    s = 0.0
    for x in a:
        s = s + float(x)
    return s


@THEME.control(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def dot(a, b):
    # A plain sum of products.
    s = 0
    for i in range(len(a)):
        s += a[i] * b[i]
    return s


@THEME.control(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def sum_of_a_matrix(A):
    # A sum over two loops.
    s = 0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s += A[i, j]
    return s


@THEME.control(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def private_number(a, b):
    # x is given anew in each iteration before it is used.
    for i in range(len(a)):
        x = a[i] * 2
        x = x + b[i]
        b[i] = x
