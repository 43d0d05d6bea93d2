"""Buffers that change names: which array a statement writes depends on the step."""

from __future__ import annotations

import numpy as np

from tests.legality.data import fractions, numbers, twice
from tests.legality.harness import Theme

THEME = Theme("swaps")
STEPS = (1, 2, 7, 41)  # an empty array that comes back is another object: see test_known_faults


@THEME.trap(
    lambda n, t: (5, fractions(n, t), fractions(n, t, 1)),
    sizes=STEPS,
    dtypes=(np.float64, np.float32),
    more=(lambda: (4, fractions(8), fractions(8, seed=1)), lambda: (3, *twice(fractions(8)))),
)
def two_buffers(steps, a, b):
    # Each step writes what the next one reads, under the other name.
    for _ in range(steps):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        a, b = b, a
    return a


@THEME.trap(lambda n, t: (5, numbers(n, t), numbers(n, t, 1)), sizes=STEPS)
def two_buffers_by_element(steps, a, b):
    # The inner loop is parallel, the outer is not; the arrays are one pair under two names.
    for _ in range(steps):
        for i in range(1, len(a)):
            b[i] = a[i - 1] - b[i]
        a, b = b, a
    return a, b


@THEME.trap(
    lambda n, t: (7, fractions(n, t), fractions(n, t, 1), fractions(n, t, 2)),
    sizes=STEPS,
    dtypes=(np.float64, np.float32),
)
def three_buffers(steps, old, now, new):
    # A wave: after three steps every array has been all three.
    for _ in range(steps):
        new[1:-1] = 2.0 * now[1:-1] - old[1:-1] + 0.1 * (now[:-2] - 2.0 * now[1:-1] + now[2:])
        old, now, new = now, new, old
    return now


@THEME.trap(lambda n, t: (6, numbers(n, t), numbers(n, t, 1)), sizes=STEPS)
def every_other_step(steps, a, b):
    # In every other step the statement reads what it wrote in the step before.
    for t in range(steps):
        b[1:] = a[:-1] + b[1:]
        if t % 2 == 0:
            a, b = b, a
    return a


@THEME.trap(lambda n, t: (6, numbers(n + 1, t), numbers(n + 1, t, 1)), sizes=STEPS)
def swapped_by_data(steps, a, b):
    # Whether they change places is known after the write.
    for t in range(steps):
        a[t % len(a)] += b[0] + 1
        if a[0] > b[0]:
            a, b = b, a
        b[1:] -= a[:-1]
    return a, b


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1), n // 2), more=(lambda: (*twice(numbers(8)), 3),))
def swap_of_slices(a, b, k):
    # The right side is two views: the second assignment reads what the first one wrote.
    a[:k], b[:k] = b[:k], a[:k]


@THEME.trap(lambda n, t: (numbers(n, t),))
def reverse_by_swapping(a):
    # Elements change places; each pair is independent of the others.
    n = len(a)
    for i in range(n // 2):
        a[i], a[n - 1 - i] = a[n - 1 - i], a[i]


@THEME.trap(lambda n, t: (numbers(n, t),), sizes=(0, 1, 2, 7, 13))
def bubble_sort(a):
    # Neighbours change places: every comparison needs the one before.
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]


@THEME.trap(lambda n, t: (5, numbers(n, t)), more=(lambda: (4, numbers(7)),))
def own_buffer(steps, a):
    # Half of the steps write the argument, half a buffer of our own; the last one decides what is returned.
    b = np.zeros_like(a)
    for t in range(steps):
        b[:] = a * 2 - t
        a, b = b, a
    return a + 0


@THEME.trap(lambda n, t: (5, numbers((2, n), t)))
def two_rows(steps, A):
    # The buffers are rows of one array.
    x = A[0]
    y = A[1]
    for _ in range(steps):
        y[1:] = x[:-1] + 1
        x, y = y, x
    A[0, :1] += 100


@THEME.trap(lambda n, t: (numbers(n, t),))
def old_is_no_copy(a):
    # `old` is the same array: the difference is zero.
    old = a
    a += 1
    a[:] = a - old


@THEME.trap(lambda n, t: (numbers(n, t),))
def old_is_another(a):
    # `a + 1` is a new array: `old` keeps the first.
    old = a
    a = a + 1
    old[1:] = a[:-1]
    return a - old


@THEME.trap(lambda n, t: (9, numbers(n, t), numbers(n, t, 1)))
def new_arrays_every_step(steps, a, b):
    # One name takes over the other's array, the other a new one: memory of a step outlives it.
    for _ in range(steps):
        a, b = b, a + b
    return a, b - a


@THEME.trap(lambda n, t: (6, numbers(n + 1, t), numbers(n + 1, t, 1)), sizes=STEPS)
def both_names_on_one(steps, a, b):
    # From some step on both names are one array, and the shift is in place.
    for t in range(steps):
        b[1:] = a[:-1] * 2 - b[1:]
        if t == 2:
            a = b
    return a


@THEME.trap(lambda n, t: (6, numbers(n + 2, t), numbers(n + 2, t, 1)), sizes=STEPS)
def swapped_and_left(steps, a, b):
    # Leaving in the middle of a step: before or after the names changed.
    for t in range(steps):
        b[1:] += a[:-1]
        if b[1] > 60:
            break
        a, b = b, a
        if a[0] < -50:
            return b
        a[0] -= t
    return a


@THEME.trap(lambda n, t: (4, numbers(n + 1, t), numbers(n + 1, t, 1)))
def a_view_of_the_other(steps, a, b):
    # x is a part of a in one step and of b in the next.
    x = a[1:]
    for t in range(steps):
        y = b[:-1]
        x += y + t
        x = b[1:] if t % 2 == 0 else a[1:]
        b[0] = a[0] - 1
        a, b = b, a


@THEME.trap(lambda n, t: (5, numbers(n, t), numbers(n, t, 1), numbers(n, t, 2)), sizes=STEPS)
def rotation_inside(steps, a, b, c):
    # The rotation happens a number of times that depends on the step.
    for t in range(steps):
        for k in range(t):
            a[:] = b + c - k
            a, b, c = b, c, a
        c[1:] = a[:-1]
    return a


@THEME.control(lambda n, t: (6, numbers(n, t), numbers(n, t, 1)), sizes=STEPS)
def swap_element_by_element(steps, a, b):
    # No point looks at another: any order within a step, and steps may even be joined.
    for _ in range(steps):
        b[:] = a * 2 - b
        a, b = b, a
    return b
