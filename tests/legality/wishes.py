"""`weft.map` and `weft.prange` state a wish; where it cannot be granted the loop runs in order, right all the same."""

from __future__ import annotations

import numpy as np

import weft
from tests.legality.data import numbers, positions
from tests.legality.harness import MATRIX, Theme

THEME = Theme("wishes")


@THEME.trap(lambda n, t: (numbers(n, t),))
def carried_number(a):
    # A sum that is stored on the way.
    s = 0
    for i in weft.prange(len(a)):
        s += a[i]
        a[i] = s
    return s


@THEME.trap(lambda n, t: (numbers(n, t),))
def last_one_counts(a):
    # An assignment that outlives the loop.
    last = -1
    for i in weft.prange(len(a)):
        if a[i] > 3:
            last = i
    return last


@THEME.trap(lambda n, t: (numbers(n, t),))
def neighbour(a):
    # Iterations overlap by one element.
    for i in weft.prange(1, len(a)):
        a[i] += a[i - 1]


@THEME.trap(lambda n, t: (numbers(n, t),))
def two_writes_each(a):
    # Each iteration writes the next one's element as well.
    for i in weft.prange(len(a) - 1):
        a[i] = i
        a[i + 1] = -i


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n)))
def scatter(a, idx):
    # Targets repeat.
    for i in weft.prange(len(idx)):
        a[idx[i]] = a[idx[i]] * 2 + i


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, 4)))
def counts(a, keys):
    # A histogram may be granted with sums resolved.
    h = np.zeros(4)
    for i in weft.prange(len(keys)):
        h[keys[i]] += a[i]
    return h


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def map_over_a_wavefront(A):
    # Neither of the two axes is free.
    n, m = A.shape
    for i, j in weft.map[1:n, 1:m]:
        A[i, j] += A[i - 1, j] - A[i, j - 1]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def map_with_one_free_axis(A):
    # Columns are free, rows are not.
    n, m = A.shape
    for i, j in weft.map[1:n, 0:m]:
        A[i, j] = A[i - 1, j] * 2 % 7


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def map_into_a_row(A):
    # All rows write the first.
    n, m = A.shape
    for i, j in weft.map[0:n, 0:m]:
        A[0, j] = A[i, j] - A[0, j]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def map_transposed(A):
    # (i, j) and (j, i) change places, twice.
    n = A.shape[0]
    for i, j in weft.map[0:n, 0:n]:
        A[i, j], A[j, i] = A[j, i] + 1, A[i, j]


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def leaves_early(a, b):
    # A break in a loop wished parallel.
    for i in weft.prange(len(a)):
        if a[i] > 9:
            break
        b[i] = a[i] + 1


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)), native=False)
def raises_at_the_end(a, b):
    # The last iteration raises; the others are done.
    for i in weft.prange(len(a)):
        b[i] = a[i] * 2
        a[i] = b[i + 1]


@THEME.trap(lambda n, t: (3, numbers(n, t), numbers(n, t, 1)))
def parallel_time(steps, a, b):
    # The loop over time is the wrong one to wish for.
    for t in weft.prange(steps):
        b[1:] = a[:-1] + t
        a[:] = b * 2


@THEME.trap(lambda n, t: (numbers(n, t),))
def shared_scratch(a):
    # All iterations use one scratch array.
    t = np.zeros(2)
    for i in weft.prange(len(a)):
        t[0] = a[i]
        t[1] = t[0] * 2 + t[1]
        a[i] = t[1] % 50
    return t


@THEME.control(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def free_loop(a, b):
    # Granted.
    for i in weft.prange(len(a)):
        b[i] = a[i] * 2 + b[i]


@THEME.control(lambda n, t: (numbers((n, n), t), numbers((n, n), t, 1)), sizes=MATRIX)
def free_map(A, B):
    # Granted in both axes.
    n, m = A.shape
    for i, j in weft.map[0:n, 0:m]:
        B[i, j] = A[j, i] + i * j


@THEME.control(lambda n, t: (numbers(n, t),))
def sum_in_parallel(a):
    # Granted as a reduction.
    s = 0
    for i in weft.prange(len(a)):
        s += a[i]
    return s


@THEME.control(lambda n, t: (numbers((n, n), t), numbers(n, t, 1)), sizes=MATRIX)
def rows_in_parallel(A, x):
    # A row per iteration, with a sum inside.
    for i in weft.prange(A.shape[0]):
        s = 0
        for j in range(A.shape[1]):
            s += A[i, j]
        x[i] = s
        A[i] -= s
