"""Slices updated in place by slices of the same array: all reads come before the first write."""

from __future__ import annotations

import numpy as np

from tests.legality.data import diagonal_heavy, fractions, numbers
from tests.legality.harness import MATRIX, Theme

THEME = Theme("overlaps")


@THEME.trap(lambda n, t: (numbers(n, t),), dtypes=(np.float64, np.int64, np.float32))
def add_the_one_before(a):
    # Looks like one map; element i reads what element i - 1 writes.
    a[1:] += a[:-1]


@THEME.trap(lambda n, t: (numbers(n, t),))
def add_the_one_after(a):
    # Right in ascending order, wrong in any other.
    a[:-1] += a[1:]


@THEME.trap(lambda n, t: (numbers(n, t),))
def sum_of_neighbours(a):
    # The same slice on both sides hides the one that is shifted.
    a[1:] = a[:-1] + a[1:]


@THEME.trap(lambda n, t: (fractions(n, t),), dtypes=(np.float64, np.float32))
def smooth_in_place(a):
    # A stencil in one array: both neighbours are the old ones.
    a[1:-1] = 0.5 * (a[:-2] + a[2:])


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def add_the_transpose(A):
    # Element (i, j) reads (j, i), which is written too.
    A += A.T


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def assign_the_transpose(A):
    # Transposing in place needs the old half.
    A[:] = A.T
    A[:, :] = A.T * 2 + A


@THEME.trap(lambda n, t: (numbers((n, n + 1), t),), sizes=MATRIX)
def rows_and_columns_shift(A):
    # Rows may go in parallel in the second statement, not in the first; columns the other way round.
    A[1:] -= A[:-1]
    A[:, 1:] = A[:, :-1] - A[:, 1:]


@THEME.trap(lambda n, t: (numbers(n, t),))
def reverse_in_place(a):
    # A copy within one array, the two halves change places.
    a[:] = a[::-1]


@THEME.trap(lambda n, t: (numbers(n, t),))
def reversed_target(a):
    # The negative step is on the side that is written.
    a[::-1] = a * 2 - 1


@THEME.trap(lambda n, t: (numbers(2 * n, t),))
def even_and_odd(a):
    # The first two are disjoint and may fuse; the third reads what both wrote.
    a[::2] += a[1::2]
    a[1::2] *= 3
    a[2::2] -= a[:-2:2]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def shortest_paths(A):
    # In step k row k and column k are read by all points and written by some.
    for k in range(A.shape[0]):
        A[:] = np.minimum(A, A[:, k][:, None] + A[k])


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def row_minus_column(A):
    # Row k and column k meet in one element.
    for k in range(A.shape[0]):
        A[k] = A[k] - A[:, k]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def column_plus_row(A):
    # Step k + 1 reads what step k wrote.
    for k in range(A.shape[0]):
        A[:, k] += A[k]


@THEME.trap(lambda n, t: (diagonal_heavy(n, t),), sizes=MATRIX, dtypes=(np.float64, np.float32), ulps=64.0)
def eliminate(A):
    # The trailing block may go in parallel; the pivot row and column lie inside what the next step writes.
    for k in range(A.shape[0] - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= A[k + 1 :, k][:, None] * A[k, k + 1 :]


@THEME.trap(lambda n, t: (fractions(n + 1, t),), dtypes=(np.float64, np.float32))
def divide_by_an_element(a):
    # The divisor is an element that the map itself overwrites: it is read once, before.
    a /= a[len(a) // 2]
    a -= a[-1]
    a += a[0]


@THEME.trap(lambda n, t: (numbers(n + 1, t),))
def add_the_first_as_a_slice(a):
    # The same with a view: still as if read before.
    a += a[:1]
    a[:] = a - a[-1:]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def first_row_and_column_everywhere(A):
    # Broadcast reads of a row and a column that are written as well.
    A += A[:1]
    A -= A[:, :1]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def sums_into_itself(A):
    # A reduction whose result goes into what it reads.
    A[:1] = A.sum(axis=0)
    A[:, 0] = A.sum(axis=1)
    A -= A.sum(axis=1)[:, None]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def product_into_itself(A):
    # A matrix product written over its own operands.
    A[:] = A @ A


@THEME.trap(lambda n, t: (numbers(n, t),))
def smaller_of_two(a):
    # A choice between the element and its neighbour, both of the old array.
    a[1:] = np.where(a[1:] > a[:-1], a[:-1], a[1:])


@THEME.trap(lambda n, t: (numbers(n, t),))
def larger_of_mirror(a):
    # Points i and n - 1 - i write and read each other's element.
    a[:] = np.maximum(a, a[::-1])


@THEME.trap(lambda n, t: (numbers((n, 3), t),), sizes=MATRIX)
def rows_onto_reversed_rows(A):
    # The two sides walk in opposite directions; columns are independent.
    A[::-1] += A


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def diagonal_shift(A):
    # Dependences along the diagonal and along the row at once.
    A[1:, 1:] = A[:-1, :-1] + A[1:, :-1]


@THEME.trap(
    lambda n, t: (numbers(n, t), min(3, n)),
    more=(lambda: (numbers(9), 0), lambda: (numbers(9), 9), lambda: (numbers(9), 8), lambda: (numbers(9), 5)),
)
def shift_by_a_parameter(a, k):
    # Independent for k = 0 and for k >= n / 2, else not: the distance is known at run time only.
    n = len(a)
    a[k:] += a[: n - k]


@THEME.trap(
    more=(
        lambda: (numbers(20), 0, 10, 5),
        lambda: (numbers(20), 3, 5, 9),
        lambda: (numbers(20), 5, 3, 9),
        lambda: (numbers(20), 4, 4, 9),
        lambda: (numbers(20, np.int64), 7, 6, 0),
    ),
)
def block_move(a, to, at, count):
    # memmove: overlapping or not, up or down.
    a[to : to + count] = a[at : at + count]


@THEME.trap(lambda n, t: (numbers(n, t),))
def two_targets(a):
    # The right sides are views: the second assignment sees what the first one wrote.
    a[1:], a[:-1] = a[:-1], a[1:]


@THEME.trap(lambda n, t: (numbers(n, t),))
def ufunc_out(a):
    # out= is one of the operands, shifted and reversed.
    np.add(a[:-1], a[1:], out=a[1:])
    np.multiply(a, a[::-1], out=a)


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)))
def ufunc_out_chain(a, b):
    # Fusing the two would read b[i + 1] before it is written.
    np.add(a, 1, out=b)
    np.subtract(b[1:], b[:-1], out=a[1:])
    np.add(a, b, out=b)


@THEME.trap(lambda n, t: (numbers((n, 4, n), t),), sizes=MATRIX)
def shift_in_three_dimensions(B):
    # Forward along one axis, backward along another, in step along the third.
    B[1:, :, :-1] += B[:-1, :, 1:]


@THEME.trap(lambda n, t: (numbers(n + 1, t),))
def differences_in_place(a):
    # A library call that allocates keeps the old numbers; written back in place.
    a[:-1] = np.diff(a)
    a[:] = np.cumsum(a)[::-1]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def diagonal_from_everything(A):
    # The diagonal is part of what is written.
    A -= np.diagonal(A)


@THEME.trap(lambda n, t: (numbers(n, t),))
def not_in_place(a):
    # `a = a + ...` makes a new array: the argument keeps its first change only.
    a[1:] += 1
    a = a + 2
    a[1:] = a[:-1] * 2
    return a


@THEME.trap(lambda n, t: (numbers(n + 3, t), numbers(n + 3, t, 1)))
def pieces_over_pieces(a, b):
    # What is put together is read from the piece on top, not from the first that is there.
    r = np.empty(5, a.dtype)
    r[0:3] = a[:3]
    r[2:5] = b[:3]
    whole = np.empty(len(a), a.dtype)
    whole[:] = a
    whole[0] = b[1]
    whole[-1] = b[0]
    return r * 2 + 1, whole[1:] - whole[:-1]
