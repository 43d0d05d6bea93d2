# pyright: reportArgumentType=false
"""Writing through arrays: stores and updates by integer arrays, lists and masks, and the functions that do it."""

from __future__ import annotations

import numpy as np

from tests.compiling import PLAINLY
from tests.end_to_end.data import b1, c16, f4, f8, i8, u1
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_scattering(row: Row) -> None:
    row.check()


def at(*positions, dtype=np.int64):
    return np.array(positions, dtype=dtype)


# ---------------------------------------------------------------- stores


@TABLE.add(
    lambda: (f8(6), at(0, -1, 2, 2), f8(4)),
    lambda: (f8(12)[::-2], at(0, 5, 250, dtype=np.uint8)[:2], f4(2)),
    lambda: (i8(6), at(3, 3, 3)[::-1], u1(3)[::-1]),
    lambda: (f8(6), at(dtype=np.int32), f8(0)),
    lambda: (f8(6), at(0, 6), f8(2)),
    lambda: (f8(6), at(-7), f8(1)),
    lambda: (f8(6), at(1, 2), f8(1)),
    lambda: (f8(6), at(1, 2), f8(1, 2)),
    lambda: (f8(6), at(1, 2), f8()),
    need="compiled",
)
def store(a, idx, v):
    a[idx] = 7
    a[idx] = v
    a[idx[:1]] = v[:1] if v.ndim == 1 else v


@TABLE.add(lambda: (f8(6), at(1, 2), f8(3)), lambda: (f8(6), at(1, 2, 3), f8(2, 3)), need="compiled")
def store_what_does_not_fit(a, idx, v):
    a[0] = 5
    a[idx] = v


@TABLE.add(
    lambda: (f8(3, 4, 5), at(2, 0, -1, 0), at(1, -1, 0, 0), f8(3, 4, 5)),
    lambda: (np.asfortranarray(f8(3, 4, 5)), at(2, 2, 0), at(1, -1, 0), f8(3, 4, 5)),
    lambda: (f8(6, 8, 5)[::2, ::-2], at(2, 0), at(1, -1), np.asfortranarray(f8(3, 4, 5))),
)
def store_among_slices(A, i, j, B):
    A[i] = B[i] * 2
    A[:, j] = 1
    A[..., i] = B[:, :, i] + 1
    A[i, :, j] = B[i, :, j]
    A[:, i, j] = B[:, i, j] - 1
    A[i, ::2] = B[0, 0]
    A[i, 1] = 3.5
    A[1, j, 1:] = B[1, j, :-1]
    A[i[:, None], j] = B[0, 0, 0]
    A[i, None, j] = B[i, None, j]
    A[i][:, 0] = 100  # a copy
    A[[0, 1], [0, 1], [0, 1]] = [5, 6]
    A[[0, 2]] = B[:1]
    A.T[i, j] = 8


C, F = np.array([[0, 1, 2], [1, 2, 0]]), np.asfortranarray([[0, 1, 2], [1, 2, 0]])
V = np.arange(6.0).reshape(2, 3)


@TABLE.add(
    lambda: (f8(4), f8(4, 4), C, V),
    lambda: (f8(4), f8(4, 4), C, np.asfortranarray(V)),
    lambda: (f8(4), f8(4, 4), F, V),
    lambda: (f8(4), f8(4, 4), F, np.asfortranarray(V)),
    lambda: (f8(4), f8(4, 4), F.astype(np.int8), np.asfortranarray(V)),
)
def which_is_last(a, A, k, v):
    a[k] = v
    A[k, k] = v
    A[k[::-1], k[::-1]] = v[::-1] * 2
    A[k[:, ::-1], 3] = v[:, ::-1]
    A[3, k] = v


@TABLE.add(
    lambda: (f8(1, 4), C, V, 0),
    lambda: (f8(3, 4), F, np.asfortranarray(V), 2),
    lambda: (f8(3, 4), F, np.asfortranarray(V), 1),
    lambda: (f8(1, 4), F, np.asfortranarray(V), 0),
    need="compiled",
)
def which_is_last_in_a_row(A, k, v, i):
    A[:, k] = v
    A[i:, k] = v
    return A[:, k], A[i:, k], A[i:, None, k]


@TABLE.add(
    lambda: (f8(4), f8(4, 4), at(1, 2, 1), f8(3)),
    lambda: (f8(4), f8(4, 4), at(1, 2, 1)[::-1].astype(np.int8), f8(3)),
)
def which_is_last_of_a_line(a, A, k, v):
    a[k[::-1]] = v[::-1]
    A[k[::-1], k[::-1]] = v[::-1]
    A[k[::-1], k] = v[::-1]
    A[k[::-1]] = A[1:, 0][::-1, None]
    A[:, :1][k[::-1]] = v[::-1, None]


@TABLE.add(lambda: (f8(4, 4), at(1, 2, 1, 0, 1, 0)[::-2], f8(6)[::-2]), need="right")
def which_is_last_is_not_known(A, k, v):
    A[k, k] = v
    A[k[::-1], k[::-1]] = A[0, 1:][::-1]


@TABLE.add(lambda: (f8(5), i8(5) % 5), lambda: (f8(5), at(4, 3, 2, 1, 0)))
def overlaps(a, idx):
    a[idx] = a
    a[idx[::-1]] = a[::-1]
    a[1:][idx[:4] % 4] = a[:-1]
    idx[idx] = 3
    idx[idx] = idx
    idx[idx[1:]] = idx[:-1]


@TABLE.add(lambda: (f8(6), b1(6)), lambda: (f8(6), ~b1(6)))
def overlapping_masks(a, m):
    m[m] = ~m[m]
    m[m[::-1]] = True
    a[m] = a[::-1][m]
    m[m] = m[::-1][m]


@TABLE.add(
    lambda: (u1(6), at(1, 2), f8(2)),
    lambda: (i8(6), at(1, 2), np.array([1.5, -2.5])),
    lambda: (i8(6), at(1, 2), np.array([np.nan, 1e300])),
    lambda: (f4(6), at(1, 2), np.array([1e300, 1])),
    lambda: (b1(6), at(1, 2), np.array([0, 0.5])),
    lambda: (c16(6), at(1, 2), f8(2)),
    lambda: (f8(6), at(1, 2), c16(2)),
    need="compiled",
)
def casts(a, idx, v):
    a[idx] = v
    a[a != 0] = v[0]


@TABLE.add(
    lambda: (np.zeros(4, np.int8), 100),
    lambda: (np.zeros(4, np.int8), 300),
    lambda: (np.zeros(4, np.int8), -1.5),
    lambda: (np.zeros(4), 3),
    lambda: (np.zeros(4, np.int64), np.float64(3.7)),
    need="compiled",
)
def numbers(a, x):
    a[[0, 1]] = x
    a[a == 0] = x
    a[[2, 3]] = [x, 1]


# ---------------------------------------------------------------- masks


@TABLE.add(
    lambda: (f8(6), b1(6), f8(6)),
    lambda: (f8(12)[::2], b1(6)[::-1], f4(6)),
    lambda: (f8(6), np.zeros(6, bool), f8(6)),
    lambda: (f8(0), b1(0), f8(0)),
    lambda: (f8(6), b1(5), f8(6)),
    need="compiled",
)
def masked(a, m, b):
    a[m] = 0
    a[~m] = b[~m]
    a[a > 3] = b[a > 3] * 2
    a[m] = b[: m.sum()]
    a[m] = [2.5]


@TABLE.add(
    lambda: (f8(6), b1(6), f8(3)), lambda: (f8(6), b1(6), f8(1)), lambda: (f8(6), b1(6), f8(1, 4)), need="compiled"
)
def masked_store_that_may_not_fit(a, m, b):
    a[m] = b


@TABLE.add(
    lambda: (f8(3, 4), b1(3), b1(4), b1(3, 4)),
    lambda: (np.asfortranarray(f8(3, 4)), b1(3), b1(4), np.asfortranarray(b1(3, 4))),
)
def masks_of_several_axes(A, rows, columns, m):
    A[rows] = A[0] * 2
    A[:, columns] += 1
    A[m] = -A[m]
    A[rows, 1:] = 5
    A[rows, 1] -= A[rows, 2]
    A[m] *= 2


# ---------------------------------------------------------------- updates


@TABLE.add(
    lambda: (f8(6), at(1, 1, -2), f8(3), b1(6)),
    lambda: (f8(6), at(1, 1, 6), f8(3), b1(6)),
    lambda: (f8(6), at(1, 1, 0), f8(1), b1(6)),
    need="compiled",
)
def updates(a, idx, v, m):
    a[idx] += v
    a[idx] -= 2
    a[idx[::-1]] *= v
    a[m] += 1
    a[m] /= 4
    a[m] -= a[m]
    a[a > 2] **= 2
    a[[0, 0]] += [1, 2]


@TABLE.add(
    lambda: (u1(6), at(1, 1), 3),
    lambda: (u1(6), at(1, 1), 300),
    lambda: (u1(6), at(1, 1), 1.5),
    lambda: (u1(6), at(1, 1), np.float32(2)),
    lambda: (u1(6), at(1, 1), at(1, 2)),
    lambda: (u1(6), at(1, 1), at(1, 2, 3)),
    need="compiled",
)
def updates_of_other_types(a, idx, x):
    a[idx] += x


@TABLE.add(lambda: (np.array([0.0, 1.0, -1.0, 4.0]),), lambda: (np.array([1.0, 0.0]),))
def only_what_is_true_warns(a):
    b = a * 1.0
    a[a != 0] /= a[a != 0]
    b[b > 0] **= -0.5
    b[b < 0] //= 0.0
    np.sqrt(b, out=a, where=b >= 0)
    return np.divide(1, b, out=np.zeros_like(b), where=b != 0)


@TABLE.add(lambda: (f8(4, 3), f8(4, 3), b1(4, 3)), lambda: (i8(4, 3), u1(4, 3), b1(3)))
def ufuncs_where(a, b, m):
    np.add(a, b, out=a, where=m)
    np.multiply(a[1:], a[:-1], out=a[:-1], where=m[1:])
    np.negative(a, out=a, where=True)
    np.copyto(a, b, where=m)
    np.copyto(a[:2], 3, where=a[:2] > 4)
    return np.greater(a, b, where=m, out=np.zeros(a.shape, bool))


@TABLE.add(
    lambda: (f8(6), at(1, 1, -2), f8(3), b1(6)),
    lambda: (i8(6), at(1, 1, 2), u1(3), b1(6)),
    lambda: (f4(6), at(1, 1, 6, dtype=np.int16), f4(3), b1(6)),
)
def at_positions(a, idx, v, m):
    np.add.at(a, idx, v)
    np.subtract.at(a, idx, 2)
    np.maximum.at(a, idx[:2], v[1:])
    np.minimum.at(a, [0, 0], 1)
    np.multiply.at(a, idx, v)
    np.negative.at(a, [3, 3, 4])
    np.add.at(a, m, 1)
    np.add.at(a, slice(1, 3), 1)
    np.add.at(a, 0, v[0])


@TABLE.add(lambda: (f8(4, 3), at(1, 1, 0), f8(3, 3)), lambda: (np.asfortranarray(f8(4, 3)), at(1, 1, 0), f8(3, 3)))
def at_positions_of_matrices(A, idx, B):
    np.add.at(A, idx, B)
    np.add.at(A, (idx, idx), B[0])
    np.add.at(A, (slice(None), idx), 2.0)
    np.maximum.at(A, (idx[:, None], idx), B)


# ---------------------------------------------------------------- functions


@TABLE.add(
    lambda: (f8(3, 4), at(0, -1, 5, 0), f8(2)),
    lambda: (np.asfortranarray(f8(3, 4)), at(0, -12, 5, 0), f8(7)),
    lambda: (f8(6, 4)[::2], at(3, 1), i8(2)),
    lambda: (f8(3, 4), at(12), f8(1)),
    lambda: (f8(3, 4), at(), f8(0)),
    need="compiled",
)
def put(A, idx, v):
    np.put(A, idx, v)
    np.put(A, [0, 1], 7)
    np.put(A, idx + 20, v, mode="wrap")
    np.put(A, idx + 20, [1.5, 2.5, 3.5], mode="clip")
    A.put([2, 3], A[0])


@TABLE.add(lambda: (f8(3, 4), b1(3, 4), f8(2)), lambda: (f8(3, 4), b1(3, 4), f8(5)), need="compiled")
def place(A, m, v):
    np.place(A, m, v)
    np.place(A, A > 3, [1, 2, 3])
    np.putmask(A, m, v)
    np.putmask(A, A > 1, A * 2)
    np.putmask(A, A < 0, 0)


@TABLE.add(
    lambda: (f8(3, 4), np.array([[0], [2], [1]]), f8(3, 1)), lambda: (f8(3, 4), np.array([[0], [4], [1]]), f8(3, 1))
)
def along_an_axis(A, k, v):
    np.put_along_axis(A, k, v, axis=1)
    np.put_along_axis(A, k.T % 3, 0, axis=0)
    best = np.argmax(A, axis=1, keepdims=True)
    return np.take_along_axis(A, best, axis=1), np.take_along_axis(A, k, -1)


# ---------------------------------------------------------------- in programs


@TABLE.add(lambda: (f8(8), at(3, 1, 7), 3), lambda: (f8(8), at(3, 1, 9), 3), lambda: (f8(8), at(3, 1, 7), 0))
def in_loops(a, idx, n):
    count = np.zeros(8)
    for k in range(n):
        a[idx] += k
        count[idx] += 1
        if a[idx].sum() > 3:
            a[idx[:k]] = 0
        else:
            a[a < 0] = 1
        idx[idx > 0] -= 1
    return count


@TABLE.add(lambda: (f8(5), f8(5), at(0, 2, 2), 3))
def swapped(a, b, idx, n):
    for _ in range(n):
        a[idx] = b[idx] + 1
        b[idx] += a[idx]
        a, b = b, a
    return a


@TABLE.add(lambda: (f8(5), f8(5), at(0, 2, 2), True), lambda: (f8(5), f8(5), at(0, 2, 2), False))
def through_a_choice(a, b, idx, flag):
    x = a if flag else b
    x[idx] = b[::-1][idx]
    x[idx] = a[:3]
    x[x > 2] = 0
    return x[idx]


# ---------------------------------------------------------------- flat


@TABLE.add(
    lambda: (f8(3, 4), 5, at(1, 1, -1), f8(2)),
    lambda: (np.asfortranarray(f8(3, 4)), -12, at(1, 1, -1), f8(7)),
    lambda: (f8(3, 4), 12, at(1, 1, -1), f8(2)),
    lambda: (f8(6, 4)[::2], 3, at(1, 12), f8(2)),
)
def flat(A, i, idx, v):
    found = A.flat[i], A.flat[2:5], A.flat[idx], A.flat[[0, 3]], A.T.flat[i], A.flat[::-3]
    A.flat[i] = 7
    A.flat[i] += 2
    A.flat[idx] = v
    A.T.flat[3:8] = v
    A.flat[[0, 1, 2]] = [5, 6]
    A[1:].flat[1:3] = 0
    return found


@TABLE.add(lambda: (f8(3, 4), f8(5)), lambda: (np.asfortranarray(f8(3, 4)), i8(20)))
def flat_as_a_whole(A, v):
    A.flat = v
    total = 0.0
    for k, x in enumerate(np.ones((2, 3)).flat):
        total += x * k
    A[:, 1:].flat = [1, 2]
    A[0].flat = 9
    return total


@TABLE.add(lambda: (f8(3, 4),), need="right")
def flat_by_other_indices(A):
    A.flat = A[::-1]
    return A.flat[A.ravel() > 0], A.flat[...]


@TABLE.add(
    lambda: (np.zeros(3, np.int8), 100, f8(2)),
    lambda: (np.zeros(3, np.int8), 300, f8(2)),
    lambda: (np.zeros(3, np.int8), 1.5, f8(2)),
    lambda: (np.zeros(3), 300, f8(2)),
    lambda: (np.zeros(3), np.float32(0.1), f8(2)),
    lambda: (np.zeros(3, bool), 2, f8(2)),
    need="compiled",
)
def lists_of_numbers(a, x, v):
    a[:2] = [x, 1]
    a[:] = (1, x, 0)
    a[1:] = [v[0], x]


@TABLE.add(lambda: (f8(3, 3),), need="right")
def lists_that_do_not_fit(a):
    a[0] = 1
    a[:2] = [[1, 2], [3]]


@TABLE.add(
    lambda: (f8(6), at(1, 1, 3)), lambda: (i8(6) % 5, at(1, 1, 3)), lambda: (f4(6), at(1, 1, 3)), need="compiled"
)
def powers(a, idx):
    b = a * 1
    b **= 2
    a[idx] **= 2
    a[a > 0] **= 2
    a[a > 100] **= 1
    a[a < 0] **= 0.5


@TABLE.add(lambda: (f8(3, 3), at(0, 1), f8(3, 3)), need="right")
def product_in_place(A, idx, B):
    A[idx] @= B


@TABLE.add(
    lambda: (f8(9), f8(9)[::-1].copy(), b1(9), np.where(f8(9) > 3, 0.0, 2.0)),
    lambda: (f4(9), np.array([1e300, 1, np.nan] * 3), b1(9), f8(9)),
    lambda: (i8(9), np.array([1e300, 1, np.nan] * 3), b1(9), np.ones(9)),
    lambda: (f8(9), u1(9), b1(9), f4(9) * 0),
    lambda: (f8(9), f8(8), b1(9), f8(9)),
    need="compiled",
)
def through_the_same_mask(a, b, m, c):
    a[m] = b[m]
    kept = b[m]
    b[0] = 77
    a[m] = kept
    a[m] = a[::-1][m]
    a[m] *= b[m] > 2
    m[m] = m[::-1][m]
    a[m] = a[m]
    a[m] -= a[m][::-1]
    a[m] /= c[m]


@TABLE.add(lambda: (f4(4), at(1, 2), np.array([1e300, 1.0])), lambda: (f4(4), at(1, 2), np.array([1e38, 1.0])))
def whose_warning_it_is(a, idx, v):
    a[idx] = v
    a[idx] += v
    a[a > 3] = 1e39
    a[idx] = 1e39
    a[a > -9] *= 1e39


@TABLE.add(lambda: (f8(4, 4), at(0, 1, 1), at(2, 0, 2, dtype=np.int32), 3))
def positions_of_two_types(A, i, j, n):
    x = 0
    for k in range(n):
        np.add.at(A, (slice(1, 3), i), 1)
        A[i, 1:] += 1
        A[x, i] = np.array([x, k, 1]) * 2
        x = j[k]
        if k:
            i = j
    return np.maximum(A[i], [[x], [1], [2]])
