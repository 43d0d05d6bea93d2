"""A temporary and its reader: fusing them must not read later, earlier, more or less than the program does."""

from __future__ import annotations

import numpy as np

from tests.legality.data import fractions, numbers, signs
from tests.legality.harness import MATRIX, Theme

THEME = Theme("producers")
FLOATS = (np.float64, np.float32)


@THEME.trap(lambda n, t: (numbers(n, t),))
def input_cleared_between(a):
    # Computing t where it is read would read zeros.
    t = a * 2
    a[:] = 0
    return t + 1


@THEME.trap(lambda n, t: (numbers(n, t),))
def input_changed_in_part(a):
    # Only the second half of what t was made from changes.
    t = a * 2
    a[len(a) // 2 :] = 7
    return t + a


@THEME.trap(lambda n, t: (numbers(n + 1, t),))
def one_element_changed(a):
    # One element is enough.
    t = a - 1
    a[0] = 50
    b = t * 2
    a[-1] = b[0]
    return b


@THEME.trap(lambda n, t: (numbers(n, t),))
def temporary_partly_overwritten(a):
    # The reader must see the written part and the computed rest.
    t = a * 3
    t[::2] = 0
    t[1:] += t[:-1]
    return t - a


@THEME.trap(lambda n, t: (numbers(n, t),))
def read_at_two_offsets(a):
    # Each element of t is read twice, once one iteration later.
    t = a * a
    b = np.zeros_like(a)
    b[1:] = t[1:] - t[:-1]
    return b


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def loops_with_an_offset(a, b):
    # Fused as they stand, the second would read t[i + 1] before it is written.
    t = np.empty_like(a)
    for i in range(len(a)):
        t[i] = a[i] * 2
    for i in range(len(a) - 1):
        b[i] = t[i + 1] - t[i]


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def loops_in_opposite_directions(a, b):
    # The reader begins at the end.
    t = np.empty_like(a)
    for i in range(len(a)):
        t[i] = a[i] + i
    for i in range(len(a) - 1, -1, -1):
        b[len(a) - 1 - i] = t[i]


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def write_after_read(a, b):
    # The second loop overwrites what later iterations of the first still need.
    for i in range(len(a) - 1):
        b[i] = a[i + 1] + 1
    for i in range(len(a)):
        a[i] = b[i] * 2


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def write_after_write(a, b):
    # Both loops write b, shifted: the second one's values stay.
    for i in range(len(a)):
        b[i] = a[i]
    for i in range(len(a) - 1):
        b[i + 1] = -a[i]


@THEME.trap(lambda n, t: (3, numbers(n, t)))
def inputs_change_in_a_later_loop(steps, a):
    # t is from before the loop; a is not.
    t = a * 2
    for k in range(steps):
        a += t - k
    return a


@THEME.trap(lambda n, t: (3, numbers(n, t)))
def made_once_or_every_time(steps, a):
    # u looks invariant, but its input changes in the loop; t is.
    b = a + 0
    for _ in range(steps):
        t = a * 3
        u = b + 1
        b[:] = t - u
    return b


@THEME.trap(lambda n, t: (numbers(n, t),))
def returned_temporary(a):
    # t leaves too: it must exist, and not share memory with u.
    t = a + 1
    u = t * 2
    u[:1] = 0
    return t, u


@THEME.trap(lambda n, t: (numbers(n, t),))
def view_of_a_temporary_leaves(a):
    # The view keeps the whole temporary alive, with what is written to it afterwards.
    t = a + 1
    v = t[1:]
    t *= 2
    return v


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def read_once_per_row(A):
    # The row is computed once and read by all: inlined it would be computed n times, from what has changed.
    r = A[0] * 2 if A.shape[0] else A.sum(axis=0)
    A -= r
    return A + r


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def reduction_in_between(A):
    # Every element needs the whole sum first.
    s = (A * 2).sum(axis=1)
    B = A - s[:, None]
    A[:] = B.sum(axis=0)
    return B


@THEME.trap(lambda n, t: (numbers(n, t),))
def number_in_between(a):
    # A sum of all between two maps over the same points.
    s = a.sum()
    a -= s
    return a.sum() - s


@THEME.trap(lambda n, t: (numbers(n + 1, t),))
def largest_in_between(a):
    # Reads of a before and after its change.
    m = a.max()
    b = a - m
    a[0] = m + 1
    return b, a.max()


@THEME.trap(lambda n, t: (numbers(n, t), numbers(1, t, 1)))
def broadcast_of_one(a, b):
    # b has one element: NumPy stretches it.
    t = b * 2
    b[0] = 9
    return a + t, a - b


@THEME.trap(lambda n, t: (fractions(n, t), numbers(n, t, 1)), dtypes=FLOATS)
def guarded_division(a, b):
    # Both sides of np.where are computed: zero divides, with a warning; the result does not take it.
    q = a / np.where(b == 0, 1, b)
    return np.where(b == 0, 0.0, q)


@THEME.trap(lambda n, t: (fractions(n, t), numbers(n, t, 1)), dtypes=FLOATS)
def unguarded_division(a, b):
    # The warning must come although the number is not used.
    q = a / b
    return np.where(b == 0, -1.0, q)


@THEME.trap(lambda n, t: (fractions(n, t), numbers(n, t, 1)), dtypes=FLOATS)
def division_in_a_branch(a, b):
    # Turned into a select, the division would run where the branch does not.
    for i in range(len(a)):
        if b[i] != 0:
            a[i] = a[i] / b[i]
        else:
            a[i] = -1.0


@THEME.trap(lambda n, t: (fractions(n, t) - 1,), dtypes=FLOATS)
def root_in_a_branch(a):
    # The root of a negative number would be NaN with a warning.
    s = 0.0
    for i in range(len(a)):
        r = np.sqrt(a[i]) if a[i] > 0 else a[i] * 0
        a[i] = r
    return s


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def out_is_the_input_of_the_next(a, b):
    # out= makes b a temporary with a name that the caller sees.
    np.multiply(a, 2, out=b)
    np.add(b[::-1], b, out=a)
    b[:] = a - b


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def chain_of_in_place(a, b):
    # Four statements on one array; only element by element may they be one loop.
    a *= 2
    a += b
    b -= a[::-1]
    a -= b


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def transposed_reader(A):
    # The reader walks the temporary the other way.
    t = A + 1
    A[:] = t.T - A
    return t


@THEME.trap(lambda n, t: (numbers((n, n), t), numbers((n, n), t, 1)), sizes=MATRIX)
def rows_then_columns(A, B):
    # The second nest needs whole columns of what the first makes row by row.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] * 2
    for j in range(A.shape[1]):
        for i in range(1, A.shape[0]):
            A[i, j] = B[i, j] + B[i - 1, j]


@THEME.trap(lambda n, t: (numbers((n, n), t), numbers(n, t, 1)), sizes=MATRIX)
def row_by_row(A, x):
    # x is written once per row and read by the next rows.
    for i in range(A.shape[0]):
        t = A[i] + x
        x[i] = t.sum()
        A[i] = t - x


@THEME.trap(lambda n, t: (numbers(n, t),))
def scan_in_between(a):
    # The reader of the scan is shifted, and the scan's input is overwritten.
    s = np.cumsum(a)
    a[1:] = s[:-1] * 2
    return s + a


@THEME.trap(lambda n, t: (numbers(n, t),))
def same_text_other_value(a):
    # a * 2 is not the same the second time.
    x = a * 2
    a[1:] += 1
    y = a * 2
    return x, y, x - y


@THEME.trap(lambda n, t: (numbers(n, t), True), more=(lambda: (numbers(8), False),))
def changed_in_a_branch(a, flag):
    # On one path the input changes between the producer and its reader.
    t = a + 5
    if flag:
        a[1:] = t[:-1]
    return t * a


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def half_of_the_points(a, b):
    # The reader's range is half of the producer's; the other half is returned.
    t = a - b
    h = len(a) // 2
    b[:h] = t[h : 2 * h]
    return t[:h] + b[:h]


@THEME.trap(lambda n, t: (5, numbers(n, t)))
def buffer_of_the_loop(steps, a):
    # Allocated anew every time, and only partly written: no stale numbers from the step before.
    total = 0
    for k in range(steps):
        t = np.zeros_like(a)
        t[k % 3 :: 2] = a[k % 3 :: 2] + k
        total += t.sum()
        a -= t
    return total


@THEME.trap(lambda n, t: (4, numbers(n, t)))
def buffer_kept_in_a_name(steps, a):
    # The array of the first step is still needed in the last: it cannot share memory with theirs.
    first = a
    for k in range(steps):
        t = a + k
        if k == 1:
            first = t
        t[::2] -= 1
    return first


@THEME.trap(lambda n, t: (signs(n, t), signs(n, t, 1)))
def diamond(a, b):
    # Two temporaries of one input meet again, after the input changed.
    p = a + b
    q = a - b
    a[:] = q
    b[:] = p
    return p * q + a


def helper(x, y):
    x[1:] = y[:-1]
    return x * 2


@THEME.trap(lambda n, t: (numbers(n, t),))
def through_a_helper(a):
    # The call changes its argument and gives a new array.
    t = a + 1
    u = helper(t, a)
    v = helper(a, t)
    return u, v, t


@THEME.trap(
    more=(
        lambda: (np.zeros((0, 3)),),
        lambda: (np.zeros((3, 0)),),
        lambda: (numbers((1, 3)),),
        lambda: (numbers((3, 1)),),
    )
)
def empty_and_single(A):
    # Extents 0 and 1: broadcasts that are none, sums of nothing.
    t = A - A.sum(axis=0)
    u = t * A.sum(axis=1)[:, None]
    A += u
    return t.sum() + u.sum()


@THEME.control(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def plain_chain(a, b):
    # Temporaries nobody else sees.
    t = a * 2
    u = t + b
    v = u - a
    return v * t


@THEME.control(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def loops_in_step(a, b):
    # The same range and the same element.
    t = np.empty_like(a)
    for i in range(len(a)):
        t[i] = a[i] + 1
    for i in range(len(a)):
        b[i] = t[i] * 2


@THEME.control(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def map_into_a_sum(A):
    # Squares need no array of their own.
    return (A * A - 1).sum(axis=1)
