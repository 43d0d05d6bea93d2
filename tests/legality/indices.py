"""Indices that wrap, jump, run down, or are products of sizes."""

from __future__ import annotations

import numpy as np

from tests.legality.data import numbers
from tests.legality.harness import MATRIX, Theme

THEME = Theme("indices")


@THEME.trap(lambda n, t: (numbers(n, t),))
def wraps_in_the_first_iteration(a):
    # a[i - 1] is a[n - 1] for i = 0, which the last iteration writes.
    for i in range(len(a)):
        a[i] = a[i - 1] + 1


@THEME.trap(lambda n, t: (numbers(n, t),))
def from_behind(a):
    # a[-i] is a[0] for i = 0 and a[n - i] after: the two ends meet in the middle.
    for i in range(len(a)):
        a[i] = a[-i] * 2


@THEME.trap(lambda n, t: (numbers(n, t),))
def one_size_back(a):
    # a[i - n] is a[i]: independent, if one sees it.
    n = len(a)
    for i in range(n):
        a[i] = a[i - n] + a[i]


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def mirror(a, b):
    # a[-1 - i]: reads meet writes after the middle.
    for i in range(len(a)):
        b[i] = a[-1 - i]
        a[i] = b[-1 - i] + 1


@THEME.trap(lambda n, t: (numbers(n, t),))
def ring(a):
    # The neighbour of the last is the first, which has changed by then.
    n = len(a)
    for i in range(n):
        a[i] += a[(i + 1) % n]


@THEME.trap(
    lambda n, t: (numbers(n, t), 3), more=(lambda: (numbers(8), 8), lambda: (numbers(8), -3), lambda: (numbers(8), 0))
)
def ring_by_a_parameter(a, k):
    # The distance is known at run time; a multiple of n makes it independent.
    n = len(a)
    for i in range(n):
        a[(i + k) % n] = a[i] - 1


@THEME.trap(lambda n, t: (numbers(n, t),))
def half_the_index(a):
    # a[i // 2] is written early and read twice.
    for i in range(len(a)):
        a[i] = a[i // 2] + a[i]


@THEME.trap(lambda n, t: (numbers(n, t),))
def twice_the_index(a):
    # Writes run ahead of reads: those of the second half of the range have been written.
    for i in range(len(a) // 2):
        a[2 * i] = a[i] + 1


@THEME.trap(lambda n, t: (numbers(n, t),))
def few_targets(a):
    # Three elements take all the writes.
    for i in range(len(a)):
        a[i % 3 if len(a) > 2 else 0] = a[i]


@THEME.trap(lambda n, t: (numbers(2 * n, t),))
def pairs(a):
    # Step 2: i and i + 1 belong to one iteration, and neither to another.
    for i in range(0, len(a), 2):
        x = a[i]
        a[i] = a[i + 1]
        a[i + 1] = x - a[i]


@THEME.trap(lambda n, t: (numbers(2 * n + 1, t),))
def overlapping_pairs(a):
    # Step 2, but the iteration reaches two elements on.
    for i in range(0, len(a) - 2, 2):
        a[i + 1] += a[i]
        a[i + 2] -= a[i + 1]


@THEME.trap(lambda n, t: (numbers(3 * n, t),))
def every_third_reads_the_next(a):
    # Reads at i + 1 never meet writes at i, reads at i + 3 do.
    for i in range(0, len(a) - 3, 3):
        a[i] = a[i + 1] + a[i + 3]


@THEME.trap(lambda n, t: (numbers(n, t),))
def downwards(a):
    # The same statement upwards copies one element all along; downwards it shifts.
    for i in range(len(a) - 1, 0, -1):
        a[i] = a[i - 1]


@THEME.trap(lambda n, t: (numbers(n, t),))
def upwards(a):
    # Copies the first element all along.
    for i in range(1, len(a)):
        a[i] = a[i - 1]


@THEME.trap(lambda n, t: (numbers(n, t),))
def downwards_by_three(a):
    # Strided and descending, with a read across the stride.
    for i in range(len(a) - 1, 2, -3):
        a[i - 3] += a[i]
        a[i - 1] = a[i - 2]


@THEME.trap(lambda n, t: (numbers(n * (n + 1), t), n, n + 1), sizes=MATRIX)
def flat_index(a, n, m):
    # Rows of a flat array: i * m + j does not repeat, as long as j < m.
    for i in range(n):
        for j in range(m):
            a[i * m + j] = a[i * m + j] * 2 + i


@THEME.trap(lambda n, t: (numbers(n * n + 1, t), n), sizes=MATRIX)
def flat_index_with_too_many_columns(a, n):
    # j runs one too far: the last of a row is the first of the next.
    for i in range(n):
        for j in range(n + 1):
            a[i * n + j] += j - i


@THEME.trap(lambda n, t: (numbers(n * n + n, t), n), sizes=MATRIX)
def flat_neighbour(a, n):
    # The element one row on is written by the next iteration.
    for i in range(n):
        for j in range(n):
            a[i * n + j] += a[(i + 1) * n + j]


@THEME.trap(
    more=(
        lambda: (numbers(20), 5, 3),
        lambda: (numbers(20), 5, 0),
        lambda: (numbers(20), 5, 1),
        lambda: (numbers(20), 5, -3),
        lambda: (numbers(20, np.int64), 0, 3),
    ),
)
def stride_is_a_parameter(a, n, s):
    # With s = 0 all iterations write one element.
    for i in range(n):
        a[i * s] = a[i * s] * 2 + i


@THEME.trap(
    more=(
        lambda: (numbers(20), 5, 3, 1),
        lambda: (numbers(20), 5, 1, 3),
        lambda: (numbers(20), 5, 0, 2),
        lambda: (numbers(20), 9, 2, 2),
    ),
)
def two_strides(a, n, s, r):
    # i * s and i * r meet in places nobody knows before.
    for i in range(n):
        a[i * s] += a[i * r] + 1


@THEME.trap(
    more=(
        lambda: (numbers(20), 3),
        lambda: (numbers(20), 1),
        lambda: (numbers(20), 19),
        lambda: (numbers(20), 25),
        lambda: (numbers(20, np.int64), 7),
        lambda: (numbers(20), -2),
    ),
)
def slice_by_a_parameter(a, s):
    # Every sth element, updated from those before it.
    a[::s] += 1
    b = a[::s]
    b[1:] -= b[:-1]
    return b.sum()


@THEME.trap(lambda n, t: (numbers(n * 3 * n, t), n, 3, n), sizes=MATRIX)
def linearised_cube(a, p, m, n):
    # Three loops over one axis; the update reaches one plane on.
    for i in range(p - 1):
        for j in range(m):
            for k in range(n):
                a[(i * m + j) * n + k] -= a[((i + 1) * m + j) * n + k]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def both_diagonals(A):
    # The diagonals meet in the middle for odd n.
    n = A.shape[0]
    for i in range(n):
        A[i, i] = A[i, n - 1 - i] + 1


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def diagonal_read_by_rows(A):
    # Row i reads the diagonal element of row i + 1 (or the first).
    n = A.shape[0]
    for i in range(n):
        A[i, i] += A[(i + 1) % n, (i + 1) % n]
        A[i, 0] = A[i, i]


@THEME.trap(lambda n, t: (numbers((n, n), t), numbers(2 * n, t, 1)), sizes=MATRIX)
def sums_along_antidiagonals(A, s):
    # i + j is the same for many points.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s[i + j] += A[i, j]


@THEME.trap(lambda n, t: (numbers((n, n), t), numbers(2 * n, t, 1)), sizes=MATRIX)
def differences_of_indices(A, s):
    # i - j wraps for j > i: two diagonals share an element only if the vector is short.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s[i - j] = s[i - j] * 2 - A[i, j]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def inner_index_outside(A):
    # The written column does not depend on the outer loop, the read one does.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[j, 0] = A[j, i] + i


@THEME.trap(lambda n, t: (numbers(n, t),))
def absolute_index(a):
    # abs(i - n // 2) is every index twice.
    n = len(a)
    for i in range(n):
        a[abs(i - n // 2)] += i


@THEME.trap(lambda n, t: (numbers(n, t),))
def smaller_of_index_and_bound(a):
    # min() sends the tail of the range to one element.
    n = len(a)
    for i in range(n):
        a[min(i, 3, n - 1)] -= i


@THEME.control(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def main_diagonal(A):
    # One element per iteration.
    for i in range(A.shape[0]):
        A[i, i] = A[i, i] * 2 + 1


@THEME.control(lambda n, t: (numbers(2 * n, t), numbers(n, t, 1)))
def every_second(a, b):
    # 2 * i is never 2 * j + 1.
    for i in range(len(b)):
        a[2 * i] = a[2 * i + 1] + b[i]


@THEME.control(lambda n, t: (numbers(2 * n, t),))
def from_the_second_half(a):
    # i < n <= i + n: reads and writes lie apart.
    n = len(a) // 2
    for i in range(n):
        a[i] = a[i + n] * 2
