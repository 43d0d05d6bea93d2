"""Guards, allocations and invariants that want to leave a loop: what may not have happened must not happen early."""

from __future__ import annotations

import numpy as np

from tests.legality.data import numbers, positions
from tests.legality.harness import MATRIX, Theme

THEME = Theme("hoisting")


@THEME.trap(
    more=(
        lambda: (numbers(5), 3, 2),
        lambda: (numbers(5), 0, 9),
        lambda: (numbers(5), 3, 9),
        lambda: (numbers(5), 2, -5),
    )
)
def index_that_is_never_used(a, n, k):
    # With n = 0 nothing is read, in bounds or not.
    for i in range(n):
        a[k] += i


@THEME.trap(
    more=(
        lambda: (numbers(6, np.int64), 6, 4),
        lambda: (numbers(6, np.int64), 0, 0),
        lambda: (numbers(6, np.int64), 3, 0),
    )
)
def division_that_never_happens(a, n, k):
    # 12 // k is invariant, and raises only if there is an iteration.
    for i in range(n):
        a[i] = 12 // k


@THEME.trap(
    lambda n, t: (numbers(n, t), positions(n, n), numbers(n, np.bool_)),
    more=(lambda: (numbers(8), positions(8, 16, 3), positions(8, 16, 3) < 8),),
)
def bounds_under_a_condition(a, idx, use):
    # Indices outside stand only where the condition is false.
    for i in range(len(a)):
        if use[i]:
            a[idx[i]] -= i


@THEME.trap(
    lambda n, t: (numbers(n + 1, t), 0),
    more=(lambda: (numbers(8), 3), lambda: (numbers(8), -1), lambda: (numbers(8), 8)),
)
def element_read_every_time(a, k):
    # a[k] looks invariant until iteration k writes it.
    for i in range(len(a)):
        a[i] = a[i] + a[k]


@THEME.trap(lambda n, t: (numbers(n, t),))
def sum_of_an_array_that_changes(a):
    # a.sum() in the loop is another number each time.
    for i in range(len(a)):
        a[i] = a.sum() % 10


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def sum_of_an_array_that_does_not(a, b):
    # This one is the same each time, if b is not a.
    for i in range(len(a)):
        a[i] += b.sum()


@THEME.trap(lambda n, t: (numbers(n, t), np.arange(n) * 3 % 5))
def array_of_another_size_each_time(a, sizes):
    # The allocation depends on the iteration.
    for i in range(len(a)):
        t = np.ones(sizes[i])
        t[:1] = a[i]
        a[i] = t.sum()


@THEME.trap(
    lambda n, t: (numbers(n, t), np.arange(n) % 4),
    more=(lambda: (numbers(6), np.array([1, 2, 0, -1, 3, 2])),),
)
def size_that_is_no_size(a, sizes):
    # A negative size raises in its own iteration, after the writes before.
    for i in range(len(a)):
        a[i] += 1
        t = np.zeros(sizes[i])
        a[i] -= t.size


@THEME.trap(lambda n, t: (numbers(n + 1, t),))
def buffer_with_memory(a):
    # The buffer is made once and carries numbers from one iteration to the next.
    t = np.zeros(3)
    for i in range(len(a)):
        t[i % 3] += a[i]
        a[i] = t[(i + 1) % 3]
    return t


@THEME.trap(lambda n, t: (numbers(n + 1, t),))
def buffer_without_memory(a):
    # The buffer is made anew: hoisted, it must be cleared.
    for i in range(len(a)):
        t = np.zeros(3)
        t[i % 3] += a[i]
        a[i] = t[0] + 2 * t[1]


@THEME.trap(lambda n, t: (numbers(n + 1, t),))
def buffer_half_filled(a):
    # np.empty with all elements written, in an order that depends on the iteration.
    for i in range(len(a)):
        t = np.empty(2)
        t[i % 2] = a[i]
        t[1 - i % 2] = t[i % 2] * 2
        a[i] = t[0] - t[1]


@THEME.trap(lambda n, t: (numbers(n + 1, t),))
def buffer_that_leaves(a):
    # One of the buffers is returned: it must not be on the stack, nor used again.
    kept = np.zeros(4)
    for i in range(len(a)):
        t = np.zeros(4)
        t[1] = a[i]
        if a[i] > 3:
            kept = t
        t[2] = i
    return kept


@THEME.trap(lambda n, t: (numbers(n + 1, t),))
def view_of_a_buffer_that_leaves(a):
    # A view of it does, from the last iteration.
    v = a[:1]
    for i in range(len(a)):
        t = np.zeros(4)
        t[i % 4] = a[i]
        v = t[1:3]
    return v


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def statement_between_the_loops(A):
    # The nest is not perfect: collapsed, the statement in between would run n times.
    for i in range(A.shape[0]):
        A[i, 0] += 1
        for j in range(1, A.shape[1]):
            A[i, j] += A[i, 0]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def statement_after_the_inner_loop(A):
    # It reads what the whole inner loop left, and the next row reads it.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] -= A[0, j]
        A[0, 0] = A[i].sum() % 7


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def inner_bound_from_outside(A):
    # m changes between the rows.
    m = 1
    for i in range(A.shape[0]):
        for j in range(m):
            A[i, j] = m
        m = min(m + 2, A.shape[1]) if A[i, 0] > 0 else 1
    return m


@THEME.trap(
    lambda n, t: (numbers(n, t), 3), more=(lambda: (numbers(9), 0), lambda: (numbers(9), 9), lambda: (numbers(9), 12))
)
def guard_after_a_write(a, k):
    # The index leaves the array late; what was written before it stays.
    for i in range(len(a) - 3):
        a[i] = -i
        a[i + k] += 1


@THEME.trap(
    lambda n, t: (numbers((n, n), t), numbers((n, n), t, 1), 1),
    sizes=(2, 3, 5, 9),
    more=(lambda: (numbers((4, 4)), numbers((4, 3)), 0),),
)
def shapes_that_differ_inside(A, B, first):
    # The shapes of both sides are checked in the loop; the row above has been written by then.
    for i in range(first, A.shape[0]):
        A[i - 1, 0] += 1
        A[i] += B[i]


@THEME.trap(lambda n, t: (numbers(n, t), 2.0), more=(lambda: (numbers(8), 0.0),), dtypes=(np.float64, np.float32))
def reciprocal_of_an_invariant(a, x):
    # a / x is not a * (1 / x), and zero warns as often as NumPy does.
    for i in range(len(a)):
        a[i] = a[i] / (x + 1.0) + x / (i + 1)


@THEME.trap(lambda n, t: (numbers(n, t), 4))
def while_with_an_invariant_test(a, k):
    # The test reads an element the body writes.
    i = 0
    while i < len(a) and a[0] < 100:
        a[0] += abs(a[i]) + k
        a[i] -= 1
        i += 1
    return i


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def same_expression_around_a_write(a, b):
    # Common parts may be shared only as far as the write.
    for i in range(len(a)):
        x = a[i] * 3 + b[i]
        a[i] = x
        b[i] = a[i] * 3 + b[i]


@THEME.control(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def private_row(A):
    # A buffer of the iteration's own, as long as a row.
    for i in range(A.shape[0]):
        t = np.empty_like(A[i])
        for j in range(A.shape[1]):
            t[j] = A[i, A.shape[1] - 1 - j]
        A[i] = t


@THEME.control(lambda n, t: (numbers(n, t), 3, 4))
def invariant_numbers(a, p, q):
    # p * q + 1 once is enough.
    for i in range(len(a)):
        a[i] = a[i] * (p * q + 1) - p // q
