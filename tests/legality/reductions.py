"""Reductions of expressions: what is summed must be computed from what was there, as often and as long as it is."""

from __future__ import annotations

import numpy as np

from tests.legality.data import fractions, numbers, signs
from tests.legality.harness import MATRIX, Theme

THEME = Theme("reductions")
FLOATS = (np.float64, np.float32)


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def sum_of_what_was_computed_before(a, b):
    # The products are from before the write; summed without an array for them they would not be.
    t = a * b
    a[:] = 1
    return t.sum() + a.sum()


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def sums_of_the_row_so_far(a, b):
    # Each sum runs over what earlier iterations wrote.
    for i in range(len(a)):
        a[i] = (a[:i] * b[:i]).sum() % 5 + a[i]


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def sums_of_the_rest(a, b):
    # Each sum runs over what later iterations will write: not yet.
    for i in range(len(a)):
        a[i] = (a[i:] - b[i:]).sum() % 7


@THEME.trap(lambda n, t: (numbers((n, n + 1), t),), sizes=MATRIX)
def rows_into_a_column(A):
    # The column that takes the results is part of the rows that are summed.
    A[:, 0] = (A * 2 + 1).sum(axis=1)
    A[:, 1:] -= (A[:, 1:] - A[:, :1]).max(axis=0) if A.shape[0] else 0


@THEME.trap(lambda n, t: (numbers((n + 1, n), t),), sizes=MATRIX)
def sum_of_differences_to_the_target(A):
    # The row that takes the sum is subtracted in every term.
    A[0] = (A - A[0]).sum(axis=0)


@THEME.trap(lambda n, t: (numbers(n, t),))
def used_twice(a):
    # The squares are summed and kept: computed once or twice, they are the same.
    t = a * a
    s = t.sum()
    a -= 1
    return t - s, a.sum()


@THEME.trap(lambda n, t: (fractions(n, t), numbers(n, t, 1)), dtypes=FLOATS)
def smallest_quotient(a, b):
    # Divisions by zero warn, and infinities take part.
    if len(a) == 0:
        return 0.0
    q = a / b
    b[:] = 1
    return q.min(), (a / b).max()


@THEME.trap(lambda n, t: (numbers(n + 1, t), 3))
def nearest(a, x):
    # The position is of the array as it was; ties go to the first.
    k = np.argmin(np.abs(a - x))
    a[0] = x
    return k, np.argmin(np.abs(a - x))


@THEME.trap(lambda n, t: (numbers(n, t) > -8, numbers(n, t, 1)))
def all_and_any(mask, a):
    # Truth of comparisons, before and after a write.
    before = (a > 0).any()
    every = (mask | (a < 12)).all()
    a[mask.size // 2 :] = 100
    return bool(before), bool(every), bool((a > 50).any())


@THEME.trap(lambda n, t: (numbers(n, t), signs(n, t, 1)))
def scan_over_its_own_input(a, b):
    # A running sum written over what it is made from.
    a[:] = np.cumsum(a * b)
    b[1:] = np.cumsum(b[:-1] - a[1:])


@THEME.trap(lambda n, t: (numbers((n, n), t), numbers((n, n), t, 1)), sizes=MATRIX)
def product_of_temporaries(A, B):
    # Both operands are temporaries whose inputs change before the product, and the result goes into one of them.
    P = A + 1
    Q = B - A
    A[:] = 0
    A[:] = P @ Q
    return (P * Q).sum()


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def dot_with_itself_shifted(a, b):
    # Written between the two products.
    s = np.dot(a[1:], b[:-1])
    b[1:] = a[:-1]
    return s - np.dot(a[1:], b[:-1])


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def sums_over_both_axes(A):
    # Two sums of one temporary, over different axes, around a write.
    t = A * 2
    rows = t.sum(axis=1)
    t[:, :1] = 0
    columns = t.sum(axis=0)
    return rows - columns


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def sum_into_an_element_of_the_row(A):
    # A loop that sums a row into one of its own elements.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, 0] += A[i, j]


@THEME.trap(lambda n, t: (numbers((n, n), t), numbers(n, t, 1)), sizes=MATRIX)
def sum_into_a_vector_that_is_read(A, x):
    # x[j] is read by the sums and written by one of them.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            x[i] += A[i, j] - x[j]


@THEME.trap(lambda n, t: (numbers((n, n), t), numbers(1, t, 1)), sizes=MATRIX)
def everything_into_one(A, total):
    # One element takes every sum, and is looked at on the way.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            total[0] += A[i, j]
        A[i, 0] = total[0]


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def sum_under_a_changing_condition(a, b):
    # The condition reads what the loop writes.
    s = 0
    for i in range(len(a)):
        if a[i - 1] > b[i]:
            s += b[i]
        a[i] = s % 9
    return s


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def two_sums_of_different_length(a, b):
    # Fused over the longer range, the shorter one must stop.
    s = 0
    for i in range(len(a)):
        s += a[i]
    t = 0
    for i in range(len(b) // 2):
        t += b[i] * s
    return s, t


@THEME.control(lambda n, t: (numbers((n, n), t), numbers((n, n), t, 1)), sizes=MATRIX)
def sum_of_products(A, B):
    # No array for the products is needed.
    return (A * B + 1).sum(axis=0), (A - B).sum()


@THEME.control(lambda n, t: (numbers((n + 1, n + 1), t),), sizes=MATRIX)
def largest_of_an_expression(A):
    # A maximum per row and one of all.
    return (A * 2 - 1).max(axis=1), np.abs(A).max()
