"""Gathers and scatters: which element an iteration touches is known only at run time."""

from __future__ import annotations

import numpy as np

from tests.legality.data import numbers, order, parts, positions, twice
from tests.legality.harness import MATRIX, Theme

THEME = Theme("scatters")


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n), numbers(n, t, 1)))
def last_writer_wins(a, idx, b):
    # Every iteration writes one element; with repeated indices the last of them counts.
    for i in range(len(idx)):
        a[idx[i]] = b[i]


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n), numbers(n, t, 1)), dtypes=(np.float64, np.int64, np.float32))
def scatter_add(a, idx, b):
    # Parallel only with sums resolved: two iterations may add to one element.
    for i in range(len(idx)):
        a[idx[i]] += b[i]


@THEME.trap(lambda n, t: (positions(n, 5).astype(t), 5), dtypes=(np.int64, np.int32))
def histogram(x, bins):
    # Counts of one bin come from many iterations.
    counts = np.zeros(bins, dtype=np.int64)
    for i in range(len(x)):
        counts[x[i]] += 1
    return counts


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n), numbers(n, t, 1)))
def alternating_scatter(a, idx, b):
    # Looks like a resolved sum, but `b - a` depends on the order.
    for i in range(len(idx)):
        a[idx[i]] = b[i] - a[idx[i]]


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, 3), numbers(n, t, 1)))
def scaled_scatter(a, idx, b):
    # A sum into a number that is scaled every time is no sum.
    for i in range(len(idx)):
        a[idx[i]] = a[idx[i]] // 2 + b[i]


@THEME.trap(lambda n, t: (positions(n, n).astype(t),), dtypes=(np.int64, np.int32))
def indexed_by_itself(a):
    # What is read decides where to read, and both are written.
    for i in range(len(a)):
        a[i] = a[a[i]]


@THEME.trap(lambda n, t: (positions(n, n).astype(t),), dtypes=(np.int64, np.int32))
def written_where_it_says(a):
    # The array of targets is written through itself.
    for i in range(len(a)):
        a[a[i]] = i


@THEME.trap(lambda n, t: (numbers(n, t), order(n)))
def permute_in_place(a, idx):
    # No two iterations write one element, but they read each other's.
    for i in range(len(a)):
        a[i] = a[idx[i]]


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n - 1)), sizes=(2, 3, 8, 41))
def neighbour_of_a_target(a, idx):
    # With g(i) taken for a parameter, a[g] = a[g + 1] is independent: it is not.
    for i in range(len(idx)):
        a[idx[i]] = a[idx[i] + 1]


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n)))
def targets_change(a, idx):
    # Iteration i decides where iteration i + 1 writes.
    n = len(idx)
    for i in range(n - 1):
        idx[i + 1] = (idx[i] + idx[i + 1]) % n
        a[idx[i + 1]] = a[i]


@THEME.trap(lambda n, t: (numbers((n, n), t), positions(3 * n, n), positions(3 * n, n, 1)), sizes=MATRIX)
def scatter_into_a_matrix(H, rows, columns):
    # Pairs of indices repeat even where neither index says so alone.
    for i in range(len(rows)):
        H[rows[i], columns[i]] += i


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, 4), numbers(n, t, 1)))
def largest_so_far(a, idx, b):
    # A maximum by `if`: reads and writes of one element in many iterations.
    for i in range(len(idx)):
        if b[i] > a[idx[i]]:  # noqa: PLR1730
            a[idx[i]] = b[i]


@THEME.trap(lambda n, t: (positions(n, 4).astype(t),), dtypes=(np.int64, np.int32))
def previous_occurrence(keys):
    # A table read before and written after, in every iteration.
    last = np.full(4, -1)
    previous = np.empty(len(keys), dtype=np.int64)
    for i in range(len(keys)):
        previous[i] = last[keys[i]]
        last[keys[i]] = i
    return previous


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, 4)))
def counting_sort(x, keys):
    # The place of an element is how many came before it.
    start = np.zeros(5, dtype=np.int64)
    for i in range(len(keys)):
        start[keys[i] + 1] += 1
    for k in range(4):
        start[k + 1] += start[k]
    out = np.empty_like(x)
    for i in range(len(x)):
        out[start[keys[i]]] = x[i]
        start[keys[i]] += 1
    return out


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, 2 * n) - n))
def negative_targets(a, idx):
    # -1 and n - 1 are one element.
    for i in range(len(idx)):
        a[idx[i]] = a[idx[i]] * 2 - i


@THEME.trap(lambda n, t: (numbers(n, t), numbers(n, t, 1), positions(n, n), positions(n, n, 1)))
def two_tables(a, b, idx, jdx):
    # Two statements, each harmless alone; together a chain through both tables.
    for i in range(len(idx)):
        b[idx[i]] = a[i]
        a[jdx[i]] = b[i]


@THEME.trap(lambda n, t: (numbers((n, 3), t), positions(n, n)), sizes=MATRIX)
def rows_by_index(A, idx):
    # Whole rows at unknown places of the array they come from.
    for i in range(len(idx)):
        A[idx[i]] = A[i] + A[idx[i]]


@THEME.trap(lambda n, t: (np.minimum(positions(n, n), np.arange(n)).astype(t),), dtypes=(np.int64, np.int32))
def union_find(parent):
    # Pointer chasing with path halving: every walk changes the paths of the others.
    for i in range(len(parent)):
        x = parent[i]
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n), numbers(n, t, 1)))
def scatter_then_read_all(a, idx, b):
    # The sum needs all scatters done; fused with the loop it would see half of them.
    for i in range(len(idx)):
        a[idx[i]] += 1
    for i in range(len(a)):
        b[i] += a[i]


@THEME.trap(lambda n, t: (numbers(n, t), positions(n, n)))
def gather_and_clear(a, idx):
    # A gather that leaves a mark behind: the second visit finds it.
    out = np.zeros_like(a)
    for i in range(len(idx)):
        out[i] = a[idx[i]]
        a[idx[i]] = 0
    return out


@THEME.trap(
    lambda n, t: (numbers(n, t), positions(n, n), positions(n, n, 1)),
    more=(lambda: parts(positions(9, 9), np.s_[:], np.s_[:], np.s_[:]), lambda: (numbers(9), *twice(positions(9, 9)))),
)
def copy_between_targets(a, idx, jdx):
    # The three arguments may be one array.
    for i in range(len(idx)):
        a[idx[i]] = a[jdx[i]]


@THEME.control(lambda n, t: (numbers(n, t), positions(n, n), numbers(n, t, 1)))
def gather(a, idx, out):
    # Reads may meet, writes do not.
    for i in range(len(idx)):
        out[i] = a[idx[i]] * 2


@THEME.control(lambda n, t: (numbers((n, n), t), positions(n, n)), sizes=MATRIX)
def one_column_per_row(A, idx):
    # Whatever the column, the row is the iteration's own.
    for i in range(len(idx)):
        A[i, idx[i]] += 1


@THEME.control(lambda n, t: (numbers(n, t), positions(n, 6), numbers(6, t, 1)))
def look_up(a, idx, table):
    # A gather from a table nobody writes, twice.
    for i in range(len(a)):
        a[i] = table[idx[i]] + table[(idx[i] + 1) % 6] * a[i]
