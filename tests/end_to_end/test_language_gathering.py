# pyright: reportArgumentType=false
"""Reading through arrays: integer arrays, lists and masks as indices, alone and among slices, and what they give."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.data import b1, f4, f8, i8
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_gathering(row: Row) -> None:
    row.check()


def at(*positions, dtype=np.int64):
    return np.array(positions, dtype=dtype)


def turned(*shape):
    """An array whose axes lie in memory in an order that is neither C's nor Fortran's."""
    return np.ascontiguousarray(f8(*shape).transpose(2, 0, 1)).transpose(1, 2, 0)


# ---------------------------------------------------------------- integer arrays


@TABLE.add(
    lambda: (f8(6), at(0, -1, 2, 2)),
    lambda: (f8(6)[::-1], at(0, 5, -6)[::2]),
    lambda: (f4(6), at(5, dtype=np.int8)),
    lambda: (i8(300), at(5, 255, dtype=np.uint8)),
    lambda: (f8(6), at(5, 2, dtype=np.uint64)),
    lambda: (f8(6), at(dtype=np.int32)),
    lambda: (f8(0), at()),
    lambda: (f8(6), at(0, 6)),
    lambda: (f8(6), at(-7, 0)),
    lambda: (f8(0), at(0)),
)
def positions(a, idx):
    return a[idx], a[idx] * 2 + a[idx][0]


@TABLE.add(
    lambda: (f8(3, 4),),
    lambda: (f8(4, 3).T,),
    lambda: (f8(3, 8)[::-1, ::2],),
    lambda: (i8(3, 5),),
    lambda: (f8(3, 2),),
    lambda: (f8(0, 4),),
    lambda: (f8(3, 0),),
    lambda: (f8(1, 1),),
)
def few_columns(a):
    return a[:, [0, 2, -1]], a[..., [1]] * 2, a[::-1, (2, 2)], np.take(a, [0, -3, 1], axis=1)


@TABLE.add(lambda: (f8(2, 3, 4),), lambda: (turned(2, 3, 4),), lambda: (f8(2, 4, 3),), lambda: (f8(3, 0, 4),))
def few_columns_of_matrices(a):
    b = a.copy()
    b[..., [3, 0]] = a[..., [0, 3]] + 1
    return a[..., [3, 0]], a[-1, :, [1, -1]], a[:, 1, [0, 2]], np.take(a, (2, 2, -4), -1).sum(axis=2), b


@TABLE.add(lambda: (f8(3, 4),), need="compiled")
def few_columns_that_are_not_there(a):
    return np.zeros((3, 4))[:, [0, 9]]


@TABLE.add(lambda: (f8(3), at(2**64 - 1, 1, dtype=np.uint64)))
def unsigned_positions_wrap(a, idx):
    return a[idx]


@TABLE.add(lambda: (f8(6), f8(2)), lambda: (f8(6), 2.0), lambda: (f8(6), f8()), need="compiled")
def floats_are_no_positions(a, idx):
    return a[idx]


@TABLE.add(
    lambda: (f8(3, 4, 5), at(2, 0, -1, 0), at(1, -1, 0, 0)),
    lambda: (np.asfortranarray(f8(3, 4, 5)), at(2, 0), at(1, -1)),
    lambda: (turned(3, 4, 5), at(2, 0), at(1, -1)),
    lambda: (f8(6, 8, 5)[::2, ::-2], at(2, 0), at(1, -1)),
    lambda: (f8(3, 0, 5), at(2, 0), at(0, 0)),
    lambda: (f8(3, 4, 5), at(), at()),
)
def among_slices(A, i, j):
    return (
        (A[i], A[:, i], A[..., i], A[1:, i], A[i, ::-1], A[i, :, 1], A[i, 1], A[1, i], A[1, :, i], A[:, 1, i]),
        (A[i, j], A[i, :, j], A[:, i, j], A[i, ..., j], A[i, j, 0], A[i, 0, j], A[..., i, j], A[i, j, j]),
        (A[i, None], A[None, i], A[:, None, i], A[i, None, j], A[i[:, None], j], A[i[:, None], :, j]),
        (A[i][:, j], A.T[i], A[..., None][i], A[i, ...], A[:, i, ..., j]),
    )


@TABLE.add(
    lambda: (f8(7), f8(7, 7), np.array([[1, 2, 3], [-1, 0, 0]])),
    lambda: (f8(7), f8(7, 7), np.asfortranarray([[1, 2, 3], [-1, 0, 0]])),
    lambda: (f8(7), np.asfortranarray(f8(7, 7)), np.array([[1, 2, 3], [-1, 0, 0]], np.int32).T),
    lambda: (f8(7), f8(7, 7), np.array([[1, 2, 3], [-1, 0, 0]])[:, ::-1]),
    lambda: (f8(7), f8(7, 7), np.zeros((0, 3), np.int64)),
)
def positions_of_two_axes(a, A, k):
    return a[k], A[k], A[:, k], A[k, k], A[k, 1], A[k, k.copy()], A[k, [0]], A[k.T, 0], A[k[:, :, None], k[0]]


@TABLE.add(lambda: (f8(4, 5), 2, 3), lambda: (np.asfortranarray(f8(4, 5)), -1, 0), lambda: (f8(4, 5), 4, 0))
def lists(A, i, j):
    return A[[0, 2]], A[[0, 2], [1, -1]], A[:, [1]], A[[i, j]], A[[i, 0], 1:], A[([0, 1], [2, 3])], A[[[0, 1], [2, i]]]


@TABLE.add(lambda: (f8(4, 5),))
def empty_lists(A):
    return A[[]], A[:, []], A[[], 0], A[[[]]], A[[], []]


@TABLE.add(lambda: (f8(4, 5), np.array(2), np.array(True)), lambda: (f8(4, 5), np.array(-1), np.array(False)))
def arrays_without_axes(A, i, flag):
    row = A[i]
    row[0] = 7
    return row, A[i, i], A[..., i], A[flag], A[:, flag]


@TABLE.add(lambda: (f8(4, 5), True), lambda: (f8(4, 5), False))
def flags(A, flag):
    return A[flag], A[True], A[False], A[..., flag], A[:, True]


@TABLE.add(lambda: (f8(4, 5), at(0, 1), True), need="right")
def flags_beside_arrays(A, i, flag):
    return A[i, flag]


@TABLE.add(lambda: (f8(4, 5), at(0, 1), at(0, 1, 2)), lambda: (f8(4, 5), at(0, 1), at(1)), need="compiled")
def shapes_that_do_not_match(A, i, j):
    return A[i, j]


@TABLE.add(lambda: (f8(4, 5), at(0, 1)))
def too_many(A, i):
    return A[i, i, i]


@TABLE.add(lambda: (f8(5, 4), at(1, 3), at(0, 2, 2)), lambda: (f8(5, 4), b1(5), at(0, -1)))
def open_mesh(A, i, j):
    return A[np.ix_(i, j)], np.ix_(i, j), A[np.ix_([0, 1], [2])]


# ---------------------------------------------------------------- masks


@TABLE.add(
    lambda: (f8(6), b1(6)),
    lambda: (f8(6)[::-1], b1(6)),
    lambda: (f8(6), np.ones(6, bool)),
    lambda: (f8(6), np.zeros(6, bool)),
    lambda: (f8(0), b1(0)),
    lambda: (f8(6), b1(5)),
    lambda: (f8(6), b1(7)),
    lambda: (f8(6), b1(6, 2)),
)
def mask(a, m):
    return a[m], a[m] + 1, a[~m], a[a > a[m][0]] if m.any() else a[m]


@TABLE.add(
    lambda: (f8(3, 4, 2), b1(3), b1(3, 4), b1(4, 2), b1(3, 4, 2)),
    lambda: (np.asfortranarray(f8(3, 4, 2)), b1(3), np.asfortranarray(b1(3, 4)), b1(4, 2), b1(2, 4, 3).T),
    lambda: (turned(3, 4, 2), b1(3), np.zeros((3, 4), bool), b1(4, 2), b1(3, 4, 2)),
)
def masks_of_several_axes(A, rows, m, n, whole):
    return A[rows], A[rows, 1:], A[m], A[:, n], A[whole], A[m, 0], A[rows, :, 1], A[..., n], A[rows][:, [0]]


@TABLE.add(lambda: (f8(4, 4), b1(4), at(0, 3)), lambda: (f8(4, 4), np.array([True, False, True, False]), at(0, 3)))
def masks_beside_positions(A, m, i):
    k = np.flatnonzero(m)
    return A[k, k], A[m][:, i], A[m][:, m], A[m, 1], A[m, -1:]


@TABLE.add(lambda: (f8(4, 4),))
def literal_masks(A):
    return A[[True, False, True, False]], A[:, [False, True, True, False]], A[A > 0.5]


# ---------------------------------------------------------------- positions of what is true


@TABLE.add(
    lambda: (f8(3, 4), b1(3, 4)),
    lambda: (f8(3, 4).round(), np.asfortranarray(b1(3, 4))),
    lambda: (np.array([[0.0, np.nan], [-0.0, np.inf]]), b1(2, 0)),
    lambda: ((f8(3, 4) > 0.5) * (1 + 2j), b1(1, 1)),
)
def where_true(x, m):
    rows, columns = np.nonzero(x)
    return (
        np.nonzero(m),
        np.where(m),
        np.flatnonzero(x),
        np.argwhere(x),
        rows * 10 + columns,
        x[np.nonzero(x)],
        x.nonzero(),
    )


@TABLE.add(lambda: (f8(5, 4), b1(5), b1(4)), lambda: (f8(5, 4), b1(3), b1(4)), lambda: (f8(5, 4), b1(5), b1(5)))
def compress(A, rows, columns):
    return np.compress(rows, A, axis=0), np.compress(columns, A, axis=-1), A.compress(rows, 0), np.extract(A > 0.5, A)


@TABLE.add(lambda: (f8(5), at(0, 1, 0)), lambda: (f8(5), at(1, 0, 2, 7, 0)), lambda: (f8(5), at(1, 0, 0, 0, 0, 1)))
def compress_flat(a, condition):
    return np.compress(condition, a), np.compress([True, False, True], a), np.extract(condition, a[: condition.size])


# ---------------------------------------------------------------- in programs


@TABLE.add(lambda: (f8(8), at(3, 1, 3, 0)))
def views_and_copies(a, idx):
    part = a[2:]
    chosen = a[idx]
    a[3] = 100
    part[0] = 50
    chosen[1] = 7
    return part, chosen, a


@TABLE.add(lambda: (f8(8), at(3, 1, 7)), lambda: (f8(8), at(3, 1, 8)), lambda: (f8(8), at()))
def loop_over_positions(a, idx):
    total = 0.0
    for i in idx:
        total += a[i]
        a[i] = total
    for k in range(len(idx)):
        total += a[idx[k]]
    return total


@TABLE.add(lambda: (f8(8), 3), lambda: (f8(8), 0))
def sizes_that_change(a, n):
    for k in range(n):
        a = a[a > 0.1 * k]
        a = np.concatenate((a, a[:1]))
    return a, len(a), a.sum()


@TABLE.add(lambda: (f8(8), at(3, 1), at(0, 0), True), lambda: (f8(8), at(3, 1), at(0, 0), False))
def chosen_arrays(a, i, j, flag):
    x = a if flag else a[::-1]
    k = i if flag else j
    y = x[k]
    for _ in range(2):
        x, y = y, x
        y = y[k]
    return x, y


@TABLE.add(lambda: (f8(5, 6), np.array([[0, 1], [2, 4]])))
def rows_by_row(A, k):
    total = np.zeros(6)
    for row in k:
        total += A[row].sum(axis=0)
        total += A[row, row].sum()
    return total


@TABLE.add(lambda: (f8(6), at(2, 0, 1), 1), lambda: (f8(6), at(2, 0, 1), np.int32(2)), lambda: (f8(6), at(2, 0, 1), 6))
def int_or_numpy_int(a, idx, i):
    x = i
    found = 0.0
    for k in range(3):
        found += a[x]
        a[x] += 1
        a[x] = a[x] * 2
        x = idx[k]
    return found, a[x]


@TABLE.add(
    lambda: (f8(4, 6), f8(3, 4, 5)), lambda: (f8(4, 4), f8(3, 4, 3)), lambda: (f8(3, 4), f8(2, 4, 3)), need="compiled"
)
def lines_that_are_views_or_copies(A, B):
    found = (
        (A[1:].ravel(), A[:, 1:3].ravel(), A[::2].ravel(), A[:, ::-1].ravel(), A[0, ::2].ravel()),
        (B[1:].reshape(-1), B[1:, :, :].ravel(), B[:, 1:].reshape(-1), B[1].ravel(), B[0, 1:].reshape(-1)),
        (B[1:].reshape(-1, 2) if B.size % 2 == 0 else B[1:].ravel(), A[1:3].reshape(2, 2, -1)),
    )
    A += 1
    found[0][0][:] *= 2
    found[1][3][0] = 7
    return found


@TABLE.add(lambda: (f8(12), 3), lambda: (f8(12), 5), lambda: (f8(2, 6), 4), need="compiled")
def new_shapes(a, n):
    b = a * 2
    b.shape = (n, -1)
    c = b[0]
    b[0, 0] = 7
    d = np.zeros(12)
    d[3] = 1
    d.shape = 3, 4
    d[1, 1] = 5
    return b, c, d


@TABLE.add(lambda: (f8(12),), need="right")
def new_shape_of_an_argument(a):
    a.shape = (3, 4)


@TABLE.add(lambda: (f8(12),), need="right")
def new_shape_of_two_names(a):
    b = a + 1
    c = b
    pair = (b, 1)
    b.shape = (3, 4)
    return b, c, pair


@TABLE.add(lambda: (f8(12), 3), need="right")
def new_shape_in_a_loop(a, n):
    b = a + 1
    for k in range(n):
        b.shape = (n, 4) if k % 2 else (4, n)
        b[k, 1] = k
    return b


@TABLE.add(lambda: (f8(12), True), lambda: (f8(12), False))
def new_shape_in_a_branch(a, flag):
    b = a + 1
    if flag:
        b.shape = (3, 4)
    else:
        b.shape = (4, 3)
    return b


# ---------------------------------------------------------------- keys with names


@TABLE.add(lambda: (f8(6), 3), lambda: (f8(6), -7))
def lists_with_names(a, n):
    idx = [0, 2]
    b = a[idx]
    idx.append(n)
    c = a[idx]
    a[idx] = [1, 2, 3]
    a[idx] += 1
    return b, c


@TABLE.add(lambda: (f8(6), 5), lambda: (-abs(f8(6)) - 1, 5))
def lists_that_grow(a, n):
    found = []
    for i in range(n):
        if a[i] > 0:
            found.append(i)
    a[found] += 1
    return a[found], found


@TABLE.add(lambda: (f8(6), f8(6, 6), 2), lambda: (f8(6), f8(6, 6), 7), need="compiled")
def other_keys(a, A, n):
    key = (0, slice(1, 3))
    part = np.s_[1:3]
    np.add.at(A, (part, [0, 0]), 1)
    return (
        A[key],
        A[part, 0],
        a[part],
        a[range(n)],
        a[[i + 0 for i in range(n)]],
        A[range(4, 0, -2), 1],
        A[slice(n), [0]],
    )


@TABLE.add(lambda: (f8(6),), lambda: (-abs(f8(6)) - 1,))
def positions_that_are_found(a):
    (found,) = np.where(a > 0)
    for i in found:
        a[i] = 0
    if len(found) > 1:
        a[found[0] : found[1]] = 5
    return len(found), a[found].sum()


# ---------------------------------------------------------------- reductions of what a mask chooses


@TABLE.add(
    lambda: (f8(6), f8(6) > 2),
    lambda: (f8(4, 3).T, f8(3, 4) > 2),
    lambda: (i8(6), i8(6) > 2),
    lambda: (f4(6)[::-1], b1(6)),
    lambda: (b1(6), i8(6) > 1),
    lambda: (np.array([-0.0, 2.0, np.nan, 1.0]), np.array([True, False, False, True])),
    ulps=8.0,
)
def reduced_where(a, m):
    chosen = a[m]
    return chosen.sum(), np.prod(a[m], keepdims=True), a[m].max(), np.min(chosen), a[m].any(), np.all(a[a > 0])


@TABLE.add(lambda: (f8(6), f8(6) > 2), lambda: (f8(6), f8(6) > 99), ulps=8.0)
def chosen_before_it_changes(a, m):
    chosen, other = a[m], a[m]
    first = chosen.sum()
    a[:] = 1.0
    second = chosen.sum()
    m[:] = True
    total = chosen.sum() + other.sum()
    for _ in range(2):
        total += other.sum()
        if total > 3:
            other[:] = 7.0
    return first, second, total, other


def test_what_a_mask_chooses_is_reduced_without_a_copy() -> None:
    def mean_where(a, low):
        return np.mean(a[(a > low) & (a < low + 3)])

    program: Any = weft.program(mean_where, fallback="error")
    assert abs(program(f8(6), 1.0) - mean_where(f8(6), 1.0)) < 1e-12
    assert program.stats.allocations == 0


@TABLE.add(
    lambda: (f8(6), f8(6) * 0.5, f8(6) > 2),
    lambda: (f8(4, 3).T, f8(3, 4) - 3, f8(3, 4) > 2),
    lambda: (f8(6), f8(6), f8(6) > 99),
    lambda: (np.array([0.0, -1.0, 4.0, 1e300]), np.array([0.0, 1.0, 2.0, 1e300]), np.array([False, True, True, False])),
    lambda: (np.array([0.0, -1.0, 4.0, 1e300]), np.array([0.0, 1.0, 2.0, 1e300]), np.array([True, False, True, True])),
    ulps=8.0,
)
def computed_where(a, b, m):
    ratio = a[m] / b[m]
    total = (ratio * ratio).sum()
    a[m] = a[m] * b[m] + 1.0
    b[m] -= np.sqrt(ratio)
    a[m] += b[m]
    return ratio, total, np.log(a[m] + 2.0), m


@TABLE.add(lambda: (f8(6), f8(6) > 2), ulps=8.0)
def computed_before_it_changes(a, m):
    doubled = a[m] * 2.0
    a[m] = doubled
    a[m] = doubled
    m[2] = True
    other = a[m] + 1.0
    if other.shape[0] > 2:
        a[m] = other
        a[m] += other
    return doubled, other


# ---------------------------------------------------------------- masks, read through more than once


@TABLE.add(
    lambda: (f8(7), i8(7), b1(7)),
    lambda: (f8(0), i8(0), b1(0)),
    lambda: (f8(7)[::-1], i8(14)[::2], b1(7)),
    lambda: (f8(7), i8(7), np.ones(7, bool)),
    lambda: (f8(7), i8(7), np.zeros(7, bool)),
    lambda: (f8(3, 4), i8(3, 4), b1(3, 4)),
    lambda: (f8(4, 3).T, i8(3, 4), b1(3, 8)[:, ::2]),
    lambda: (f8(7), i8(6), b1(7)),
)
def one_mask_for_several_arrays(a, i, mask):
    first = a[mask]
    second = i[mask]
    mask[...] = ~mask
    return first, second, a[mask], i[mask] * 2, first.shape


@TABLE.add(lambda: (f8(9), 4), lambda: (f8(9), 0), lambda: (f8(1), 3))
def an_array_that_shrinks(a, turns):
    place = np.arange(a.shape[0])
    last = np.zeros(a.shape[0])
    for turn in range(turns):
        a = a * 1.5 - 0.3
        gone = np.abs(a) > 2.0
        last[place[gone]] = turn + a[gone]
        place, a = place[~gone], a[~gone]
    return place, a, last


@TABLE.add(lambda: (f8(5, 3), b1(5), 1), lambda: (f8(5, 3), b1(5), -2), lambda: (f8(0, 3), b1(0), 0))
def rows_of_a_mask(a, mask, k):
    a[mask] += 1.0
    return a[mask], a[mask, k], a[mask, 1:]
