"""Loops that end early: what was written before stays, what comes after does not happen."""

from __future__ import annotations

import numpy as np

from tests.legality.data import fractions, numbers, positions
from tests.legality.harness import MATRIX, Theme

THEME = Theme("exits")


def one_at(array, place, value):
    """The array with one element changed, where it has it."""
    if place < len(array):
        array[place] = value
    return array


def read_only(array):
    array.flags.writeable = False
    return array


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def break_at_a_value(a, b):
    # Independent iterations, but only those before the first negative number exist.
    for i in range(len(a)):
        if a[i] < -3:
            break
        b[i] = a[i] * 2


@THEME.trap(lambda n, t: (abs(numbers(n, t)), 20))
def break_after_the_write(a, limit):
    # The element that ends the loop has been changed before it is looked at.
    for i in range(len(a)):
        a[i] = a[i] * 2
        if a[i] > limit:
            break
        a[i] += 1


@THEME.trap(lambda n, t: (fractions(n, t), numbers(n, t, 1)), dtypes=(np.float64, np.float32))
def continue_before_a_division(a, b):
    # The division must not run (nor warn) where it is jumped over.
    for i in range(len(a)):
        a[i] -= 1
        if b[i] == 0:
            continue
        a[i] = a[i] / b[i]


@THEME.trap(lambda n, t: (numbers(n, t), 5))
def return_from_the_middle(a, wanted):
    # Elements before the one that is found are marked, the others are not.
    for i in range(len(a)):
        if a[i] == wanted:
            return i
        a[i] = 100 + i
    return -1


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)), native=False, sizes=(0, 1, 2, 7, 41))
def error_in_the_last_iteration(a, b):
    # All but the last iteration are in bounds; they are done when it raises.
    for i in range(len(a)):
        a[i] = b[i + 1] + 1


@THEME.trap(
    lambda n, t: (numbers(n, t), numbers(n, t, 1), positions(n, n)),
    more=(
        lambda: (numbers(9), numbers(9, seed=1), one_at(positions(9, 9), 5, 9)),
        lambda: (numbers(9), numbers(9, seed=1), one_at(positions(9, 9), 5, -10)),
        lambda: (numbers(9), numbers(9, seed=1), one_at(positions(9, 9), 8, 99)),
        lambda: (numbers(9), numbers(9, seed=1), one_at(positions(9, 9), 0, -9)),
    ),
)
def error_between_two_writes(a, b, idx):
    # The write before the bad index of the same iteration has happened.
    for i in range(len(a)):
        a[i] = i
        b[idx[i]] += a[i]
        a[i] -= 1


@THEME.trap(
    lambda n, t: (numbers(n, t),), more=(lambda: (one_at(abs(numbers(9)), 6, -1.0),), lambda: (abs(numbers(9)),))
)
def raise_in_the_middle(a):
    # An exception of the program's own, after some of the writes.
    total = 0.0
    for i in range(len(a)):
        if a[i] < 0:
            raise ValueError("negative")
        total += a[i]
        a[i] = total
    return total


@THEME.trap(
    more=(lambda: (numbers(9, np.int64), 20), lambda: (numbers(9, np.int64), 4), lambda: (numbers(0, np.int64), 0))
)
def division_by_zero_on_the_way(a, m):
    # Python's integers raise where NumPy's would not.
    for i in range(len(a)):
        a[i] = 60 // (m - i)


@THEME.trap(
    lambda n, t: (numbers((n, n), t), numbers(n, t, 1)), sizes=MATRIX, more=(lambda: (numbers((4, 3)), numbers(5)),)
)
def shapes_stop_fitting(A, b):
    # The slices of both sides have equal lengths in some iterations only.
    for i in range(A.shape[0]):
        A[i, i:] = b[i:]
        A[i, 0] += 1


@THEME.trap(lambda n, t: (fractions(n + 1, t), 0.5), dtypes=(np.float64, np.float32))
def until_small_enough(a, tolerance):
    # The number of sweeps depends on what they leave.
    count = 0
    while np.abs(a).max() > tolerance:
        a *= 0.5
        count += 1
    return count


@THEME.trap(lambda n, t: (numbers((n, n), t), 12), sizes=MATRIX)
def leave_both_loops(A, wanted):
    # The inner break is seen by the outer loop; rows before are complete, this one is not.
    found = -1
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] == wanted:
                found = i
                break
            A[i, j] += 100
        if found >= 0:
            break
    return found


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def break_of_each_row(A):
    # Rows are independent; within a row the loop ends early.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] < 0:
                break
            A[i, j] = -1


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def otherwise(a, b):
    # The else block runs only if no break did.
    for i in range(len(a)):
        if a[i] > 12:
            b[i] = 0
            break
        b[i] += a[i]
    else:
        b[:] = -b


@THEME.trap(lambda n, t: (numbers(n, t), 1), dtypes=(np.int64, np.float64))
def numbers_grow_too_large(a, s):
    # From some iteration on the Python integer does not fit 64 bits; Python goes on from there.
    for i in range(len(a)):
        s = s * 10 + 7
        a[i] = s % 13


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)), native=False)
def error_after_the_loop(a, b):
    # The loop is parallel; the error after it must find it done.
    for i in range(len(a)):
        b[i] = a[i] * 3
    a[:] = b
    b[len(a)] = 0


@THEME.trap(
    more=(
        lambda: (numbers(9, np.int64), fractions(9)),
        lambda: (numbers(9, np.int64), one_at(fractions(9), 6, np.nan)),
        lambda: (numbers(9, np.int64), one_at(fractions(9), 0, np.inf)),
        lambda: (numbers(9, np.int64), one_at(fractions(9), 8, 1e300)),
    ),
)
def conversion_fails(a, b):
    # int() of a number that is none raises, in the iteration that meets it.
    for i in range(len(a)):
        a[i] = -1
        a[i] = int(b[i] * 4)


@THEME.trap(lambda n, t: (numbers((n, n), t), 25), sizes=MATRIX)
def return_out_of_two_loops(A, limit):
    # The running total ends the program in the middle of a row.
    total = 0.0
    for i in range(A.shape[0]):
        A[i] += 1
        for j in range(A.shape[1]):
            total += abs(A[i, j])
            if total > limit:
                return A[i].sum()
            A[i, j] = 0
    return -1.0


@THEME.trap(lambda n, t: (numbers(n, t), 3))
def two_pointers(a, pivot):
    # Partition from both ends: which elements change places depends on all before.
    low = 0
    high = len(a) - 1
    while low < high:
        if a[low] < pivot:
            low += 1
        elif a[high] >= pivot:
            high -= 1
        else:
            a[low], a[high] = a[high], a[low]
    return low


@THEME.trap(lambda n, t: (numbers(n + 1, t),), dtypes=(np.int64, np.int32))
def trip_count_in_the_array(a):
    # The range is fixed when the loop begins, though its bound is overwritten at once.
    a[0] = len(a) - 1
    for i in range(a[0]):
        a[0] += 1
        a[i + 1] = a[0]


@THEME.trap(lambda n, t: (numbers(n, t),))
def bound_that_moves(a):
    # The end comes nearer while the loop runs.
    n = len(a)
    i = 0
    while i < n:
        if a[i] < 0:
            n -= 1
            a[i] = a[n]
        else:
            a[i] += 1
            i += 1
    return n


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)), more=(lambda: (numbers(5), read_only(numbers(5))),))
def second_array_refuses(a, b):
    # The first write is done when the second raises.
    for i in range(len(a)):
        a[i] += 1
        b[i] = a[i]


@THEME.trap(more=tuple(lambda k=k: (numbers(9), numbers(9, seed=1), k) for k in (0, 8, 9, 12, 17, 18, -1)))
def wraps_then_leaves(a, b, k):
    # k - i turns negative (still fine) and then leaves the array.
    for i in range(len(a)):
        a[i] = b[k - 2 * i] + 1


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1), numbers(max(n - 2, 0), t, 2)), native=False)
def which_error_comes_first(a, b, c):
    # The shorter array raises first, between a write to one and a write to the other.
    for i in range(len(a)):
        a[i] = i
        b[i] = c[i]
    a[0] = b[-1]


@THEME.trap(lambda n, t: (numbers(n, t), 7))
def break_inside_a_condition(a, limit):
    # A sum that decides when to stop is no reduction.
    s = 0
    for i in range(len(a)):
        if a[i] > 0:
            s += a[i]
            if s > limit:
                break
        else:
            a[i] = -a[i]
    return s


@THEME.trap(lambda n, t: (numbers(n, t),))
def all_or_nothing(a):
    # The check reads everything first; the writes after it may then go in parallel.
    for i in range(len(a)):
        if a[i] == 0:
            return False
    for i in range(len(a)):
        a[i] = 10 - a[i]
    return True


@THEME.control(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def continue_only(a, b):
    # Jumping over the rest of an iteration ends nothing else.
    for i in range(len(a)):
        if a[i] < 0:
            continue
        b[i] = a[i] + b[i]


@THEME.trap(lambda n, t: (numbers(n + 4, t), 4.0))
def break_out_of_a_tuple(a, limit):
    # A loop over a tuple is unrolled.
    for shift in (1, 2, 3):
        if a[shift] > limit:
            break
        a[shift:] += a[:-shift]


@THEME.trap(lambda n, t: (numbers(n + 1, t), numbers(n + 1, t, 1)), native=False)
def caught_in_the_middle(a, b):
    # The exception ends the loop, not the function.
    try:
        for i in range(len(a)):
            a[i] = b[i + 1]
    except IndexError:
        a[0] = -1


@THEME.trap(
    lambda n, t: (numbers(n + 1, t), one_at(numbers(n + 1, t, 1), 0, 1), np.float32(3)),
    more=[lambda: (numbers(5), np.zeros(5), np.float32(np.inf))],
)
def warning_of_what_is_never_reached(a, b, y):
    # The loop writes nothing but may warn: it must not join a map above the exception.
    t = b * 2
    a += t
    if b[0] == 0:
        raise ValueError("as it was written")
    for _ in range(len(a)):
        if np.fmod(y, b[0]) == 77:
            w = b[1:]  # noqa: F841
    return a + t


def with_break(other):
    return [lambda: (np.arange(9), other.copy()), lambda: (np.arange(9), np.arange(9))]


@THEME.trap(None, more=with_break(np.arange(5)))
def store_behind_a_break(a, c):
    # Both maps are over the same points; the second is only reached where the lengths are equal.
    t, u = np.zeros_like(a), np.zeros_like(a)
    for k in range(2):
        t[:] = a * k
        if len(c) != len(a):
            break
        u[:] = t + c
    return t, u


@THEME.trap(None, more=with_break(np.zeros(9, np.int64)))
def store_behind_a_continue(a, c):
    # The turn ends before the store, not the loop.
    t, u = np.zeros_like(a), np.zeros_like(a)
    last = len(a) - 1
    for k in range(3):
        t[:] = a * k
        if c[last] == 0:
            continue
        u[:] = t + 1
    return t, u


@THEME.trap(None, more=with_break(np.arange(3)))
def collected_behind_a_return(z, c):
    # What is not as long as the mask is not looked at.
    keep = z > 3
    found = z[keep]
    if len(c) != len(z):
        return found, None
    return found, c[keep]


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def stores_behind_counted_breaks(a, c):
    # No guard stands between the stores, only the way out.
    t, u = np.zeros_like(a), np.zeros_like(a)
    for i in range(3):
        for k in range(3):
            t[:] = a + k
            if k == i:
                break
            u[:] = t + u
        if i == 2:
            continue
        t[:] = u - 1
        c[:] = t
    return t, u
