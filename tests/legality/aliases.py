"""Two names, one memory: views, transposes, reshapes, names bound at run time, arguments that are one array."""

from __future__ import annotations

import numpy as np

from tests.legality.data import numbers, parts, twice
from tests.legality.harness import MATRIX, Theme

THEME = Theme("aliases")


@THEME.trap(lambda n, t: (numbers(n, t),))
def shifted_views(a):
    # b and c look like two arrays; b[i] is c[i + 1].
    b = a[1:]
    c = a[:-1]
    for i in range(len(b)):
        b[i] = c[i] + 1


@THEME.trap(lambda n, t: (numbers(n, t),))
def shifted_views_at_once(a):
    # The same as one statement, read before written.
    b = a[1:]
    c = a[:-1]
    b[:] = b + c
    c *= 2


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def transposed_view(A):
    # t[i, j] is A[j, i].
    t = A.T
    for i in range(t.shape[0]):
        for j in range(t.shape[1]):
            t[i, j] = A[i, j] + 1


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def transposed_view_at_once(A):
    # A full copy, or the upper triangle first.
    t = A.T
    t -= A
    return t


@THEME.trap(lambda n, t: (numbers(n, t),))
def reversed_view(a):
    # Independent in each half, dependent across them.
    r = a[::-1]
    for i in range(len(a)):
        r[i] = a[i] * 2


@THEME.trap(lambda n, t: (numbers(n, t),))
def reversed_view_at_once(a):
    # i and n - 1 - i depend on each other.
    r = a[::-1]
    r[:] = a + r
    a += 1
    return r


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=(0, 2, 5, 9))
def flat_view(A):
    # The end of a row is the neighbour of the next one's beginning.
    f = A.reshape(-1)
    f[1:] = f[:-1] + A[:1, :1].reshape(-1)
    A[1:] -= 1
    return f


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def running_sum_through_ravel(A):
    # ravel of a dense array is a view: rows are chained.
    f = A.ravel()
    for i in range(1, f.size):
        f[i] += f[i - 1]


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def diagonal_by_strides(A):
    # Every (n + 1)th element of the flat view is the diagonal, and lies in the row the next iteration reads.
    n = A.shape[0]
    d = A.reshape(-1)[:: n + 1]
    for i in range(n):
        d[i] = A[i - 1].sum() - d[i]
        A[i, 0] += 1


@THEME.trap(lambda n, t: (numbers(n + 2, t),))
def views_of_views(a):
    # Three names, offsets 0, 1 and 2.
    v = a[1:]
    w = v[1:]
    w[:] = v[:-1] + a[:-2]
    v[0] = w[-1]


@THEME.trap(
    lambda n, t: (numbers(n, t), numbers(n, t, 1), True),
    sizes=(1, 2, 7, 41),
    more=(lambda: (numbers(9), numbers(9, seed=1), False), lambda: (*twice(numbers(9)), False)),
)
def chosen_name(a, b, c):
    # x is a or b: the store may hit what is read.
    x = a if c else b
    x[1:] = a[:-1] + b[1:]
    return x


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1)), sizes=(1, 2, 7, 41))
def name_bound_anew(a, b):
    # Which array x is changes with the data, in the middle of the loop.
    x = a
    for i in range(1, len(a)):
        x[i] = a[i - 1] + b[i - 1]
        if x[i] > 3:
            x = b if i % 2 else a
    return x


@THEME.trap(
    lambda n, t: (numbers(n, t), numbers(n, t, 1)),
    more=(
        lambda: twice(numbers(9)),
        lambda: parts(numbers(9), np.s_[:], np.s_[::-1]),
        lambda: parts(numbers(9), np.s_[1:], np.s_[:-1]),
        lambda: parts(numbers(9), np.s_[:-1], np.s_[1:]),
        lambda: parts(numbers(18), np.s_[::2], np.s_[1::2]),
        lambda: parts(numbers((9, 2)), np.s_[:, 0], np.s_[:, 1]),
    ),
)
def from_one_argument_to_another(a, b):
    # Parallel for two arrays, a recurrence for one given twice.
    for i in range(1, len(a)):
        b[i] = a[i - 1] + 1


@THEME.trap(
    lambda n, t: (numbers(n, t), numbers(n, t, 1)),
    more=(
        lambda: twice(numbers(9)),
        lambda: parts(numbers(9), np.s_[:], np.s_[::-1]),
        lambda: parts(numbers(9), np.s_[1:], np.s_[:-1]),
        lambda: parts(numbers(18), np.s_[::2], np.s_[1::2]),
    ),
)
def slices_of_two_arguments(a, b):
    # Two statements that fuse for two arrays and not for one.
    b[1:] = a[:-1] * 2
    a[:-1] = b[1:] + a[1:]


@THEME.trap(
    lambda n, t: (numbers((n, n), t), numbers(n, t, 1)),
    sizes=MATRIX,
    more=(lambda: parts(numbers((5, 5)), np.s_[:], 2), lambda: parts(numbers((5, 5)), np.s_[:], np.s_[:, 2])),
)
def a_row_as_an_argument(A, row):
    # The vector may be a row or a column of the matrix.
    for i in range(A.shape[0]):
        A[i] = A[i] - row


@THEME.trap(lambda n, t: (numbers(n, t),))
def a_view_escapes(a):
    # The returned view shows the later change.
    v = a[::2]
    w = v + 1
    a[:] = 7
    return v, w


@THEME.trap(lambda n, t: (numbers((n + 1, 4), t),), sizes=MATRIX)
def row_views(A):
    # s of one iteration is r of the next.
    for i in range(A.shape[0] - 1):
        r = A[i]
        s = A[i + 1]
        s += r


@THEME.trap(lambda n, t: (numbers((n + 2, 4), t),), sizes=MATRIX)
def swap_rows_wrongly(A):
    # t is a view: after this both rows are the second.
    t = A[0]
    A[0] = A[1]
    A[1] = t


@THEME.trap(lambda n, t: (numbers((n + 2, 4), t),), sizes=MATRIX)
def swap_rows_rightly(A):
    # The copy must not be turned back into a view.
    t = A[0].copy()
    A[0] = A[1]
    A[1] = t


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def row_and_column_views(A):
    # r and c share A[k, k]; c of step k crosses every row written before.
    for k in range(A.shape[0]):
        r = A[k]
        c = A[:, k]
        r -= c


@THEME.trap(lambda n, t: (numbers(2 * n, t),))
def interleaved_views(a):
    # The first update is disjoint, the second is not.
    e = a[::2]
    o = a[1::2]
    o[:] = e * 2
    e[1:] = o[:-1] + e[:-1]


def copy_shifted(x, y):
    for i in range(len(x)):
        x[i] = y[i] * 2


@THEME.trap(lambda n, t: (numbers(n, t),))
def through_a_call(a):
    # The callee knows nothing of the overlap.
    copy_shifted(a[1:], a[:-1])


@THEME.trap(lambda n, t: (numbers(n + 1, t),))
def broadcast_view(a):
    # The repeated element is written by the statement that repeats it.
    w = np.broadcast_to(a[:1], a.shape)
    a += w
    a *= w


@THEME.trap(lambda n, t: (numbers(n + 1, t), True), more=(lambda: (numbers(8), False),))
def view_chosen_at_run_time(a, flag):
    # Shifted by one to the left or not at all.
    v = a[1:] if flag else a[:-1]
    a[: len(v)] = v + 1
    v -= 1
    return a


@THEME.trap(lambda n, t: (numbers((n, 3), t),), sizes=MATRIX)
def the_row_as_it_runs(A):
    # Rows come one after another out of an array that changes ahead of them.
    for k, row in enumerate(A):
        row += 1  # noqa: PLW2901
        A[A.shape[0] - 1 - k] += row


@THEME.trap(lambda n, t: (numbers((n, n), t),), sizes=MATRIX)
def same_plane_twice(A):
    # A new axis and a transpose are still the same memory.
    B = A[:, None, :]
    C = A.T[None, :, :]
    B[:, 0, :] = C[0] + 1
    return B.shape, C.sum()
