"""Arrays of positions as indices: everything is read before anything is written, and only then."""

from __future__ import annotations

import numpy as np

from tests.legality.data import numbers, order, parts, positions, twice
from tests.legality.harness import MATRIX, Theme

THEME = Theme("gathers")


@THEME.trap(lambda n, t: (np.minimum(positions(n, n), np.arange(n)),), dtypes=(np.int64,))
def find_from_the_loop_variable(parent):
    # x is a Python int first and a NumPy int after; paths get shorter on the way.
    for i in range(len(parent)):
        x = i
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n), numbers(n, t, 1)))
def scatter_at_once(a, idx, b):
    # Repeated indices count once here, unlike in the loop.
    a[idx] += b


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n)))
def gather_from_itself(a, idx):
    # The right side is a copy: all reads come first.
    a[:] = a[idx] + a


@THEME.trap(lambda n, t: (numbers(n, t),))
def masked_update(a):
    # The mask is from before the write.
    a[a > 0] -= 5


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n), numbers(n, t, 1)))
def scatter_add_at(a, idx, b):
    # Every repetition counts.
    np.add.at(a, idx, b)


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1), numbers(n, np.bool_)))
def masked_ufunc(a, b, mask):
    # Elements outside the mask keep what they had; inside, they are from before the shift.
    np.add(a[:-1], b[1:], out=a[1:], where=mask[1:])


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n)), sizes=(1, 2, 7, 41))
def written_before_it_is_used(a, idx):
    # The gather is a copy: it must not be computed where it is read.
    b = a[idx]
    a[0] = 99
    a[1:] = 0
    return b * 2 + b[::-1]


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n), numbers(n, t, 1)))
def scatter_then_gather(a, idx, b):
    # Point k of the second reads what some other point of the first has written.
    a[idx] = b
    c = a[idx] + 1
    a[idx[::-1]] = c
    return a[idx]


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n)))
def positions_change(a, idx):
    # The positions of the gather are those from before.
    b = a[idx]
    idx[:] = idx[::-1]
    return b, a[idx]


@THEME.trap(lambda n, t: (numbers(n, t),))
def mask_changes(a):
    # The mask is a copy of what was true, its elements are read before the write.
    m = a > 0
    b = a[m]
    a[m] = -1
    m[:] = False
    return b, a[m], a[a < 0]


@THEME.trap(lambda n, t: (numbers(n, t), order(n)))
def permuted_by_a_loop_of_gathers(a, idx):
    # Every iteration needs all of the one before.
    for _ in range(3):
        a[:] = a[idx]
        a[idx] = a + 1


@THEME.trap(lambda n, t: twice(positions(n, n).astype(t)), dtypes=(np.int64, np.int32))
def positions_are_the_array(a, idx):
    # One array as both: the positions must be read before the first is overwritten.
    a[idx] = idx[::-1]
    return a[idx]


@THEME.trap(lambda n, t: parts(positions(2 * n, n).astype(t), np.s_[:n], np.s_[n:]), dtypes=(np.int64, np.int32))
def positions_beside_the_array(a, idx):
    # Two halves of one array.
    a[idx] += 1
    a[idx] = a


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n)))
def gather_in_a_loop_of_updates(a, idx):
    # The gather of iteration k sees the update of k - 1 through any position.
    for k in range(len(idx)):
        a[idx[k]] = a[idx].max() + k


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n)))
def loop_over_positions(a, idx):
    # An element may come up again.
    for i in idx:
        a[i] = a[i] * 2 + a[0]


@THEME.trap(lambda n, t: (numbers((n, n), t), positions(n, n), positions(n, n, 1)), sizes=MATRIX)
def rows_and_columns(A, i, j):
    # A row and a column cross.
    A[i] = A[:, j].T
    A[:, j] += A[i].T
    A[i, j] = A[j, i]


@THEME.trap(lambda n, t: (numbers((n, n), t), positions(n, n)), sizes=MATRIX)
def gathered_row_by_row(A, idx):
    # Rows written by earlier iterations are read by later ones.
    for i in range(len(A)):
        A[i] = A[idx[i], idx]


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n)), more=[lambda: (numbers(9), np.array([1, 2, 9]))])
def positions_out_of_bounds_after_a_write(a, idx):
    # The statement before the one that raises has happened, and nothing of that one.
    c = idx * 2
    a += 1
    b = a[idx]
    a[idx + 1 - 1] = b * c
    return b


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n)), more=[lambda: (numbers(9), np.array([1, 2, 9, 3]))])
def checked_in_every_iteration(a, idx):
    # The third gather of the loop raises: two iterations have happened.
    for k in range(1, len(idx) + 1):
        a[idx[:k]] += 1


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1), positions(n, n)), sizes=(1, 2, 7, 41))
def swapped_targets(a, b, idx):
    # Which array is written changes every time.
    for _ in range(3):
        a[idx] = b[idx] + 1
        b[a > 3] = 0
        a, b = b, a
    return a


@THEME.trap(lambda n, t: (numbers(n, t),))
def shrinking(a):
    # The size of an iteration depends on the contents of the one before.
    total = 0
    for k in range(4):
        a = a[a > k]
        total += a.sum() + len(a)
    return a, total


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n)))
def extremes_at(a, idx):
    # Order matters between the two, not within one.
    np.maximum.at(a, idx, a[::-1])
    np.minimum.at(a, idx, a[idx])
    np.subtract.at(a, idx[::-1], 1)


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, np.bool_), numbers(n, t, 1)))
def masked_exchange(a, m, b):
    # Both sides through the same mask, with the target among the sources.
    a[m] = a[::-1][m] + b[m]
    b[~m] = a[~m]
    a[b > a] = b[b > a]


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, np.bool_)))
def through_one_mask_from_elsewhere(a, m):
    # Each element goes where it comes from, but it comes from the other end, which is written too.
    a[m] = a[::-1][m]
    a[m] += a[::-1][m]
    b = a[m]
    m[m] = m[::-1][m]
    a[m] = a[m] + 1
    return b, a[m]


@THEME.control(lambda n, t: (numbers(n, t), positions(n, n), numbers(n, t, 1)))
def independent_gathers(a, idx, b):
    # Nothing written is read.
    c = a[idx] * 2 + b[idx]
    return c, a[idx] - b
