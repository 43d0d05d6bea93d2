"""Plainly parallel or fusible programs: whatever is made of them, the result is the same."""

from __future__ import annotations

import numpy as np

from tests.legality.data import fractions, numbers
from tests.legality.harness import MATRIX, Theme

THEME = Theme("controls")
FLOATS = (np.float64, np.float32)


@THEME.control(
    lambda n, t: (numbers(n, t), numbers(n, t, 1), numbers(n, t, 2)), dtypes=(np.float64, np.int64, np.float32)
)
def add(a, b, c):
    # One map.
    for i in range(len(a)):
        c[i] = a[i] + b[i]


@THEME.control(lambda n, t: (numbers(n, t),), dtypes=(np.float64, np.int64, np.float32))
def double_in_place(a):
    # Reads and writes the same element.
    for i in range(len(a)):
        a[i] = a[i] * 2


@THEME.control(lambda n, t: (numbers((n, n), t), numbers((n, n), t, 1)), sizes=MATRIX)
def transpose_into_another(A, B):
    # Interchange either way.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[j, i] = A[i, j]


@THEME.control(lambda n, t: (numbers((n, n), t), numbers((n, n), t, 1), numbers((n, n), t, 2)), sizes=MATRIX)
def matrix_product(A, B, C):
    # Two free loops around a sum; C may be raised to a product.
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@THEME.control(lambda n, t: (numbers((n, n), t), numbers(n, t, 1)), sizes=MATRIX)
def matrix_vector(A, x):
    # A sum per row, into a new array.
    y = np.zeros(A.shape[0], dtype=A.dtype)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[i] += A[i, j] * x[j]
    return y


@THEME.control(lambda n, t: (fractions((n, n), t), fractions((n, n), t, 1)), sizes=MATRIX, dtypes=FLOATS)
def five_points(A, B):
    # A stencil from one array into another.
    B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])


@THEME.control(lambda n, t: (fractions(n, t), fractions(n, t, 1)), dtypes=FLOATS)
def expression(a, b):
    # Five operations, one loop.
    return (a * b + a) / (b + 1.0) - a


@THEME.control(lambda n, t: (numbers((n, n), t), numbers(n, t, 1), numbers(n, t, 2)), sizes=MATRIX)
def outer_update(A, x, y):
    # A broadcast on both sides.
    A += x[:, None] * y


@THEME.control(lambda n, t: (numbers((n, 3, 4), t),), sizes=MATRIX)
def nest_of_three(A):
    # Collapses to one loop.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            for k in range(A.shape[2]):
                A[i, j, k] = A[i, j, k] * (i + 1) - j * k


@THEME.control(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def row_by_row_with_scratch(A):
    # The scratch array is the iteration's own.
    for i in range(A.shape[0]):
        t = A[i] * 2
        t[:1] = i
        A[i] = t + A[i]


@THEME.control(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def small_scratch(A):
    # Three numbers on the stack, given anew each time.
    for i in range(A.shape[0]):
        t = np.zeros(3)
        for k in range(3):
            t[k] = A[i, 0] * k
        A[i] += t[1] - t[2]


@THEME.control(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def branch_per_element(a, b):
    # Each iteration decides for itself.
    for i in range(len(a)):
        if a[i] > b[i]:
            a[i] -= b[i]
        else:
            b[i] -= a[i]


@THEME.control(lambda n, t: (numbers((n, n), t), numbers((n, n), t, 1)), sizes=MATRIX)
def two_nests(A, B):
    # Fusible: the second reads the same point.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] + 1
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = B[i, j] * B[i, j]


@THEME.control(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def ahead_into_another(a, b):
    # Reads ahead, writes elsewhere.
    for i in range(len(a) - 1):
        b[i] = a[i + 1] - a[i]


@THEME.control(lambda n, t: (numbers((n, 4), t), numbers((n, 4), t, 1)), sizes=MATRIX)
def rows_of_two(A, B):
    # Row i of one from row i of the other.
    for i in range(A.shape[0]):
        B[i] = A[i] - A[i].sum()


@THEME.control(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def largest_of_each_row(A):
    # A maximum per row, starting from its first element.
    out = np.empty(A.shape[0], dtype=A.dtype)
    for i in range(A.shape[0]):
        m = A[i, 0]
        for j in range(1, A.shape[1]):
            m = max(m, A[i, j])
        out[i] = m
    return out


@THEME.control(lambda n, t: (numbers((n, n), t), numbers((n, n), t, 1)), sizes=MATRIX)
def distances(X, Y):
    # All pairs: two free loops, a sum inside.
    D = np.zeros((X.shape[0], Y.shape[0]))
    for i in range(X.shape[0]):
        for j in range(Y.shape[0]):
            s = 0.0
            for k in range(X.shape[1]):
                d = X[i, k] - Y[j, k]
                s += d * d
            D[i, j] = s
    return D


@THEME.control(lambda n, t: (3, numbers(n, t), numbers(n, t, 1)))
def parallel_inside_time(steps, a, b):
    # The inner loops are free, the outer is not.
    for k in range(steps):
        for i in range(len(a)):
            b[i] = a[i] + k
        for i in range(len(a)):
            a[i] = b[i] - 2 * k


@THEME.control(lambda n, t: (numbers((2, n), t),))
def two_halves(A):
    # Views of one array that do not meet.
    x = A[0]
    y = A[1]
    y[:] = x * 2 + y


@THEME.control(lambda n, t: (numbers(n, t)[::-1], numbers(2 * n, t, 1)[::2]))
def strided_arguments(a, b):
    # Negative and long strides.
    for i in range(len(a)):
        b[i] = a[i] - b[i]
