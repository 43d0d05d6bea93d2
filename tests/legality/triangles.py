"""Triangular loops, factorisations, and inner bounds that come from arrays."""

from __future__ import annotations

import numpy as np

from tests.legality.data import diagonal_heavy, fractions, numbers
from tests.legality.harness import MATRIX, Theme

THEME = Theme("triangles")
FLOATS = (np.float64, np.float32)
SUMS = 64.0  # sums of products may be taken in any order: so many units in the last place


def rows_of(count):
    """Where each of `count` ragged rows begins; some are empty."""
    return np.concatenate(([0], np.cumsum(np.arange(count) * 2 % 4)))


@THEME.trap(lambda n, t: (diagonal_heavy(n, t),), sizes=MATRIX, dtypes=FLOATS, ulps=SUMS)
def cholesky_by_elements(A):
    # Row i needs rows before it complete; only the sums over k are reductions, of numbers already final.
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            A[i, j] = A[i, j] / A[j, j]
            A[i, i] -= A[i, j] * A[i, j]
        A[i, i] = np.sqrt(A[i, i])


@THEME.trap(lambda n, t: (diagonal_heavy(n, t),), sizes=MATRIX, dtypes=FLOATS, ulps=SUMS)
def lu_by_elements(A):
    # Three nested loops of which the two inner may go in any order.
    n = A.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] = A[i, j] - A[i, k] * A[k, j]


@THEME.trap(lambda n, t: (diagonal_heavy(n, t), fractions(n, t, 1)), sizes=MATRIX, dtypes=FLOATS, ulps=SUMS)
def forward_by_rows(L, x):
    # x[i] needs all x[j] before it.
    for i in range(len(x)):
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] /= L[i, i]


@THEME.trap(lambda n, t: (diagonal_heavy(n, t), fractions(n, t, 1)), sizes=MATRIX, dtypes=FLOATS, ulps=SUMS)
def forward_by_columns(L, x):
    # The inner loop is parallel here: x[j] is final and all i differ.
    n = len(x)
    for j in range(n):
        x[j] /= L[j, j]
        for i in range(j + 1, n):
            x[i] -= L[i, j] * x[j]


@THEME.trap(lambda n, t: (diagonal_heavy(n, t), fractions(n, t, 1)), sizes=MATRIX, dtypes=FLOATS, ulps=SUMS)
def backward(U, x):
    # The same from the end, with slices.
    for i in range(len(x) - 1, -1, -1):
        x[i] = x[i] / U[i, i]
        x[:i] -= U[:i, i] * x[i]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def symmetric_from_below(A):
    # j < i: the upper half is written, the lower half read; they never meet.
    for i in range(A.shape[0]):
        for j in range(i):
            A[j, i] = A[i, j] + 1


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def symmetric_from_everywhere(A):
    # Without the bound j < i they do.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[j, i] = A[i, j] + 1


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def symmetric_with_the_diagonal(A):
    # j <= i: the diagonal is read and written by the same point.
    for i in range(A.shape[0]):
        for j in range(i + 1):
            A[j, i] = A[i, j] - A[j, i]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def triangle_that_reads_the_row_above(A):
    # Points of one row are independent, rows are not.
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] = A[i - 1, j] + A[i, j]


@THEME.trap(lambda n, t: (np.zeros((n, n), t),), sizes=MATRIX, dtypes=(np.int64, np.float64))
def binomials(A):
    # Two reads of the row before, inside the triangle only.
    for i in range(A.shape[0]):
        A[i, 0] = 1
        for j in range(1, i + 1):
            A[i, j] = A[i - 1, j - 1] + A[i - 1, j]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def dots_of_rows_before(A):
    # Row i is changed by its products with rows that were changed before.
    for i in range(A.shape[0]):
        for j in range(i):
            s = 0
            for k in range(A.shape[1]):
                s += A[i, k] * A[j, k]
            A[i, j] = s % 11


@THEME.trap(lambda n, t: (diagonal_heavy(n, t),), sizes=MATRIX, dtypes=FLOATS, ulps=SUMS)
def rows_minus_rows_before(Q):
    # Gram-Schmidt without the norms: the coefficient is one element, the update a whole row.
    for i in range(Q.shape[0]):
        for j in range(i):
            Q[i] -= Q[j] * (Q[i, j] / Q[j, j])


@THEME.trap(lambda n, t: (numbers((n, n), t), numbers((n, n), t, 1)), sizes=MATRIX)
def triangular_product_in_place(A, B):
    # B[i] needs rows of B below i, not yet changed: upwards is right, downwards is not.
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            for k in range(i + 1, A.shape[0]):
                B[i, j] += A[k, i] * B[k, j]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def shrinking_slices(A):
    # Each step updates what the steps after it read.
    for k in range(A.shape[0]):
        A[k:, k:] -= A[k:, k : k + 1]


@THEME.trap(lambda n, t: (numbers((n, n), t), np.arange(n) * 3 % (n + 1)), sizes=MATRIX)
def bounds_from_an_array(A, ends):
    # The inner trip count is data; the sum over it goes into the column the next rows read.
    for i in range(A.shape[0]):
        for j in range(ends[i]):
            A[i, 0] += A[j, 0] + A[i, j]


@THEME.trap(lambda n, t: (rows_of(n), numbers(4 * n, t), numbers(n, t, 1)), sizes=MATRIX)
def ragged_rows(starts, values, out):
    # Rows of different lengths lie one after another: disjoint if the array says so, which nobody has proved.
    for i in range(len(out)):
        for k in range(starts[i], starts[i + 1]):
            out[i] += values[k]
            values[k] = out[i]


@THEME.trap(
    lambda n, t: (rows_of(n), numbers(4 * n, t), (np.arange(4 * n) * 5 + 1) % max(n, 1), numbers(n, t, 1)), sizes=MATRIX
)
def sparse_in_place(starts, values, columns, x):
    # Gauss-Seidel on a sparse matrix: x is read at columns and written at rows.
    for i in range(len(x)):
        s = 0
        for k in range(starts[i], starts[i + 1]):
            s += values[k] * x[columns[k]]
        x[i] = s % 17


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def bounds_change_on_the_way(A):
    # The end of the inner loop is an element that the inner loop writes.
    n = A.shape[0]
    for i in range(n):
        A[i, 0] = i
        for j in range(int(A[i, 0])):
            A[i, 0] -= 1
            A[j, n - 1] += 1


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def spans(A):
    # Diagonal by diagonal, each point from all splits of its span (as in folding and parenthesising).
    n = A.shape[0]
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            for k in range(i, j):
                A[i, j] = max(A[i, j], A[i, k] + A[k + 1, j])


@THEME.control(lambda n, t: (numbers((n, n), t), numbers((n, n), t, 1)), sizes=MATRIX)
def lower_triangle(A, B):
    # A triangle of independent points.
    for i in range(A.shape[0]):
        for j in range(i + 1):
            A[i, j] = B[j, i] * 2


@THEME.control(lambda n, t: (rows_of(n), numbers(4 * n, t), numbers(n, t, 1)), sizes=MATRIX)
def sums_of_ragged_rows(starts, values, out):
    # Only the row's own sum is written.
    for i in range(len(out)):
        s = 0
        for k in range(starts[i], starts[i + 1]):
            s += values[k]
        out[i] = s
