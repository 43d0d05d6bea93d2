"""Recurrences, open and hidden: sweeps, wavefronts, stencils in one array and in two."""

from __future__ import annotations

import numpy as np

from tests.legality.data import fractions, numbers
from tests.legality.harness import MATRIX, Theme

THEME = Theme("recurrences")
FLOATS = (np.float64, np.float32)


@THEME.trap(lambda n, t: (numbers(n, t),))
def one_back(a):
    # The plainest of all.
    for i in range(1, len(a)):
        a[i] = a[i] - a[i - 1]


@THEME.trap(lambda n, t: (numbers(n, t),))
def three_back(a):
    # Groups of three are independent, the loop is not.
    for i in range(3, len(a)):
        a[i] += a[i - 3]


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def through_two_statements(a, b):
    # Neither statement reads what it writes; together they are a chain.
    for i in range(1, len(a)):
        b[i] = a[i - 1] + 1
        a[i] = b[i] * 2 % 13


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def statements_in_the_other_order(a, b):
    # Two loops after one another would do; one parallel loop would not.
    for i in range(1, len(a)):
        a[i] = a[i] + 1
        b[i] = a[i - 1] * 2


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def reads_ahead(a, b):
    # b takes the old a[i + 1]: split in two loops, the second must come first.
    for i in range(len(a) - 1):
        a[i] = a[i] * 2
        b[i] = a[i + 1] + a[i]


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1), numbers(n, t, 2)))
def through_three_arrays(a, b, c):
    # a -> b -> c -> a, one step on.
    for i in range(len(a) - 1):
        b[i] = a[i] + 1
        c[i] = b[i] - 2
        a[i + 1] = c[i] % 9


@THEME.trap(lambda n, t: (fractions((n, n), t),), sizes=MATRIX, dtypes=FLOATS)
def seidel(A):
    # New values from above and left, old ones from below and right.
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            A[i, j] = 0.25 * (A[i - 1, j] + A[i, j - 1] + A[i + 1, j] + A[i, j + 1])


@THEME.trap(lambda n, t: (fractions((n, n), t),), sizes=MATRIX, dtypes=FLOATS)
def seidel_by_rows(A):
    # The row above is new, the row below old; within the row all old, as the slice says.
    for i in range(1, A.shape[0] - 1):
        A[i, 1:-1] = 0.25 * (A[i - 1, 1:-1] + A[i, :-2] + A[i + 1, 1:-1] + A[i, 2:])


@THEME.trap(lambda n, t: (3, fractions((n, n), t)), sizes=MATRIX, dtypes=FLOATS)
def seidel_in_time(steps, A):
    # Nine points, and sweeps that could be skewed but not run in any order.
    for _ in range(steps):
        for i in range(1, A.shape[0] - 1):
            A[i, 1:-1] += A[i - 1, :-2] + A[i - 1, 2:] + A[i + 1, 1:-1]
            for j in range(1, A.shape[1] - 1):
                A[i, j] = (A[i, j] + A[i, j - 1]) / 5.0


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def wavefront(A):
    # Antidiagonals are parallel, rows and columns are not.
    for i in range(1, A.shape[0]):
        for j in range(1, A.shape[1]):
            A[i, j] = max(A[i - 1, j], A[i, j - 1]) + A[i, j]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def knight_moves(A):
    # Distances (1, -2) and (2, 1): no loop is free, skewing would help.
    for i in range(2, A.shape[0]):
        for j in range(1, A.shape[1] - 2):
            A[i, j] = A[i - 1, j + 2] - A[i - 2, j - 1]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def up_and_to_the_right(A):
    # Distance (1, -1): interchanging the loops would turn it round.
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1] - 1):
            A[i, j] = A[i - 1, j + 1] + 1


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def columns_in_order(A):
    # The outer loop is free, the inner is not.
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            A[i, j] += A[i, j - 1]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def rows_in_order(A):
    # The inner loop is free, the outer is not.
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] += A[i - 1, j]


@THEME.trap(lambda n, t: (fractions(n, t), fractions(n, t, 1)), dtypes=FLOATS)
def there_and_back(a, b):
    # A sweep up and a sweep down, as in a tridiagonal solver.
    n = len(a)
    for i in range(1, n):
        a[i] = a[i] - 0.3 * a[i - 1]
        b[i] = b[i] - 0.2 * a[i]
    for i in range(n - 2, -1, -1):
        b[i] = b[i] - 0.4 * b[i + 1]


@THEME.trap(lambda n, t: (fractions((n, n), t), fractions((n, n), t, 1)), sizes=MATRIX, dtypes=FLOATS)
def alternating_directions(u, v):
    # Along rows one after another, then along columns: the two nests must not be fused.
    for i in range(1, u.shape[0]):
        v[i] = u[i] - 0.5 * v[i - 1]
    for j in range(v.shape[1] - 2, -1, -1):
        u[:, j] = v[:, j] + 0.25 * u[:, j + 1]


@THEME.trap(lambda n, t: (4, fractions(n, t)), dtypes=FLOATS)
def stencil_in_one_array(steps, a):
    # Slices read old values; steps follow each other.
    for _ in range(steps):
        a[1:-1] = a[1:-1] + 0.1 * (a[2:] - 2.0 * a[1:-1] + a[:-2])


@THEME.trap(lambda n, t: (4, fractions(n, t)), dtypes=FLOATS)
def stencil_in_one_array_by_element(steps, a):
    # The same by elements reads one new neighbour: another result.
    for _ in range(steps):
        for i in range(1, len(a) - 1):
            a[i] = a[i] + 0.1 * (a[i + 1] - 2.0 * a[i] + a[i - 1])


@THEME.trap(lambda n, t: (4, fractions(n, t), fractions(n, t, 1)), dtypes=FLOATS)
def stencil_in_two_arrays(steps, a, b):
    # Inner loops are parallel; fusing the two of a step reads b[i + 1] too early.
    for _ in range(steps):
        for i in range(1, len(a) - 1):
            b[i] = 0.3 * (a[i - 1] + a[i] + a[i + 1])
        for i in range(1, len(a) - 1):
            a[i] = 0.3 * (b[i - 1] + b[i] + b[i + 1])


@THEME.trap(lambda n, t: (3, fractions((n, n), t), fractions((n, n), t, 1)), sizes=MATRIX, dtypes=FLOATS)
def leapfrog(steps, e, h):
    # Each field is updated from differences of the other, one forward, one backward.
    for t in range(steps):
        e[0] = t
        e[1:] += 0.5 * (h[1:] - h[:-1])
        h[:-1] -= 0.7 * (e[1:] - e[:-1])


@THEME.trap(lambda n, t: (3, numbers(n, t)))
def boundary_first(steps, a):
    # Periodic ends are copied between the steps, out of what the step wrote.
    for t in range(steps):
        a[1:-1] = a[:-2] - a[2:]
        if len(a) > 1:
            a[0] = a[-2]
            a[-1] = a[1] + t


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def summed_area(A):
    # Two scans after another; as one nest it needs the correction for the corner.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if i > 0:
                A[i, j] += A[i - 1, j]
            if j > 0:
                A[i, j] += A[i, j - 1]
            if i > 0 and j > 0:
                A[i, j] -= A[i - 1, j - 1]


@THEME.trap(lambda n, t: (numbers((n + 1, 5), t),), sizes=MATRIX)
def running_maximum_of_rows(A):
    # Whole rows, each from the one before.
    for i in range(1, A.shape[0]):
        A[i] = np.maximum(A[i], A[i - 1])


@THEME.trap(lambda n, t: (numbers(n, t), 3))
def blocks(a, size):
    # Blocks are done one after another, and each reads the last element of the one before.
    for start in range(0, len(a) - size, size):
        for k in range(size):
            a[start + k + size] += a[start + size - 1]


@THEME.trap(lambda n, t: (numbers((n, n), t), numbers(n, t, 1)), sizes=MATRIX)
def matrix_vector_in_place(A, x):
    # The product is stored into the vector it still needs.
    for i in range(len(x)):
        s = 0
        for j in range(len(x)):
            s += A[i, j] * x[j]
        x[i] = s % 19


@THEME.trap(lambda n, t: (6, numbers((n, n), t)), sizes=MATRIX)
def planes_by_parity(steps, A):
    # Even steps write even rows from odd ones: legal within a step, not across.
    for t in range(steps):
        for i in range(t % 2, A.shape[0] - 1, 2):
            A[i] = A[i + 1] - A[i]


@THEME.control(lambda n, t: (fractions(n, t), fractions(n, t, 1)), dtypes=FLOATS)
def one_stencil(a, b):
    # From one array into another.
    for i in range(1, len(a) - 1):
        b[i] = 0.5 * (a[i - 1] + a[i + 1])


@THEME.control(lambda n, t: (numbers((n, n), t), numbers((n, n), t, 1)), sizes=MATRIX)
def in_step(A, B):
    # Two statements of one point, both of its own elements.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = B[i, j] + 1
            B[i, j] = A[i, j] * 2
