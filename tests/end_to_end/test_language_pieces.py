# pyright: reportArgumentType=false
"""Views that public programs take: windows, quarter turns, pieces, diagonals, and shapes whose memory decides."""

from __future__ import annotations

import numpy as np
from numpy import concatenate, dot, where
from numpy.lib.stride_tricks import sliding_window_view
from numpy.linalg import inv, norm

from tests.end_to_end.data import b1, f4, f8, i8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_pieces(row: Row) -> None:
    row.check()


# ---------------------------------------------------------------- functions by their own names


@TABLE.add(lambda: (f8(4),), lambda: (f8(1),), ulps=4)
def imported_functions(x):
    y = where(x > 0, x, -x)
    z = concatenate([x, y])
    return dot(x, y), z / norm(z)


@TABLE.add(lambda: (f8(3, 3) + 4 * np.eye(3),), lambda: (np.zeros((2, 2)),), ulps=64, need="compiled")
def imported_calls(A):
    return inv(A), A


@TABLE.add(lambda: (np.mean, f8(5)), lambda: (np.sum, f8(5)), lambda: (np.mean, f8(5)), ulps=4, need="compiled")
def functions_as_arguments(f, x):
    return f(x) + 1


# ---------------------------------------------------------------- windows


@TABLE.add(lambda: (f8(9), 4), lambda: (f8(18)[::-2], 3), lambda: (f8(4), 4), lambda: (f8(4), 1), ulps=16)
def moving(x, width):
    w = sliding_window_view(x, width)
    return w.mean(axis=-1), w.max(axis=1), w @ np.ones(width)


@TABLE.add(lambda: (f8(3), 4), lambda: (f8(3), 0), lambda: (f8(3), -1), lambda: (f8(3, 3), 2), need="compiled")
def windows_that_do_not_fit(x, width):
    return np.lib.stride_tricks.sliding_window_view(x, width).sum()


@TABLE.add(lambda: (f8(6, 7), f8(3, 2)), lambda: (np.asfortranarray(f8(6, 7)), f8(3, 2)), ulps=16)
def correlate(A, k):
    w = np.lib.stride_tricks.sliding_window_view(A, k.shape)
    rows = np.lib.stride_tricks.sliding_window_view(A, 3, axis=0)
    return np.einsum("ijkl,kl->ij", w, k), (w * k).sum(axis=(2, 3)), rows[::2].copy()


@TABLE.add(lambda: (f8(6),), need="right")
def windows_are_read_only(x):
    w = sliding_window_view(x, 2)
    w[0, 0] = 1.0


@TABLE.add(lambda: (f8(6),))
def windows_are_views(x):
    w = sliding_window_view(x, 2)
    x[1] = 100.0
    return w.sum(axis=1)


# ---------------------------------------------------------------- quarter turns


@TABLE.add(lambda: (f8(3, 4),), lambda: (f8(6, 4)[::-2],), lambda: (i8(1, 4),), lambda: (f8(0, 2),), need="compiled")
def turned(A):
    B = np.rot90(A, 3)
    B[0] = 7
    return np.rot90(A), np.rot90(A, 2), np.rot90(A, k=-1, axes=(1, 0)), np.rot90(A, 4), B


@TABLE.add(lambda: (f8(3, 3), 1), lambda: (f8(3, 3), 2), lambda: (f8(3), 1), lambda: (f8(3, 3), 0), need="compiled")
def turned_by_an_argument(A, k):
    return np.rot90(A, k) + 1


# ---------------------------------------------------------------- split


@TABLE.add(lambda: (f8(8),), lambda: (f8(0),), lambda: (f8(7),), need="compiled")
def quarters(z):
    i, f, o, g = np.split(z, 4)
    i += g
    return f * o, [part.sum() for part in np.array_split(z, 3)]


@TABLE.add(lambda: (f8(4, 6), 2), lambda: (f8(4, 6), 5), lambda: (f8(4, 6), -1), need="compiled")
def cut_at(A, k):
    left, right = np.split(A, [k], axis=1)
    top, bottom = np.vsplit(A, 2)
    head, body, tail = np.hsplit(A, (1, 3))
    right[:] = 0
    return left.sum(), top - bottom, head * tail[:, :1], body


# ---------------------------------------------------------------- diagonals


@TABLE.add(
    lambda: (f8(4, 4),), lambda: (f8(2, 5),), lambda: (f8(5, 2)[::-1],), lambda: (i8(3, 3),), lambda: (f4(2, 3),)
)
def filled(A):
    np.fill_diagonal(A, 2)
    B = A.copy()
    np.fill_diagonal(B[1:], B.dtype.type(3))
    np.fill_diagonal(A.T, [1, 5])
    return B


@TABLE.add(
    lambda: (f8(4, 4), f8(2)), lambda: (f8(4, 4), f8(9)), lambda: (f8(4, 4), f8(0)), lambda: (i8(3, 3), f8(3)),
    lambda: (f8(3), f8(3)), lambda: (f8(3, 3), 1 + 2j), lambda: (b1(3, 3), 2), need="compiled",
)  # fmt: skip
def filled_with(A, v):
    np.fill_diagonal(A, v)
    return A.sum()


@TABLE.add(lambda: (f8(3, 3, 3),), lambda: (f8(5, 2),), need="right")
def filled_otherwise(A):
    np.fill_diagonal(A, 1.0, wrap=A.ndim == 2)
    return A


@TABLE.add(lambda: (f8(4, 4),), lambda: (f8(1, 1),), lambda: (f8(0, 0),), lambda: (f8(2, 3),), need="compiled")
def diagonal_by_indices(A):
    A[np.diag_indices(A.shape[0])] = 1.0
    at = np.diag_indices_from(A)
    A[at] += 2
    return at, A[np.diag_indices(len(A), ndim=2)].sum()


# ---------------------------------------------------------------- shapes


@TABLE.add(lambda: (f8(6, 8), 2), lambda: (f8(6, 8), 3), lambda: (f8(6, 6), 6), ulps=16, need="compiled")
def blocks(A, f):
    h, w = A.shape[0] // f, A.shape[1] // f
    B = A.reshape(h, f, w, f)
    B += 1
    C = B.swapaxes(1, 2).reshape(A.shape)
    C[0] = 5
    return B.mean(axis=(1, 3)), C


@TABLE.add(
    lambda: (f8(2, 3, 4, 5),), lambda: (f8(1, 3, 4, 5),), lambda: (f8(2, 1, 4, 1),), lambda: (f8(0, 3, 4, 5),),
    lambda: (np.asfortranarray(f8(2, 3, 4, 5)),), need="right",
)  # fmt: skip
def columns(X):
    n, c, h, w = X.shape
    Y = X.transpose(0, 2, 3, 1).reshape(n * h * w, -1)
    Y += 1  # of a view or a copy
    Z = X.reshape(n, c, -1).transpose(0, 2, 1).reshape(n, h, w, c)
    Z[0] = 5
    return Y, Z, X.swapaxes(0, 1).ravel(), X[:, :, 1:3].reshape(n, -1)


@TABLE.add(lambda: (f8(2, 3, 4, 5),), lambda: (f8(3, 3, 2, 2),))
def copied_columns(X):
    n, c, h, w = X.shape
    Y = X.transpose(0, 2, 3, 1).reshape(n * h * w, -1)
    Y += 1
    V = X.reshape(n * c, h * w)
    V[0] = 3
    return Y, X[:, ::2].ravel(), X.T.ravel()


@TABLE.add(lambda: (f8(4, 6), 3), lambda: (f8(4, 6), 6), lambda: (f8(1, 6), 6), need="compiled")
def parts_of_rows(A, k):
    B = A[:, :k].reshape(-1)
    C = A[:, :k].ravel()
    B[0] = C[1] = -1
    return B, C


@TABLE.add(lambda: (f8(3), f8(4, 2)), lambda: (f8(1), i8(2)), need="compiled")
def at_least(x, A):
    y, B = np.atleast_2d(x, A)
    u, v = np.atleast_1d(2.5, x)
    y[0, 0] = 9
    return y.T - x, B, u, v


# ---------------------------------------------------------------- elements with their places


@TABLE.add(
    lambda: (f8(3, 4), 9), lambda: (f8(2, 1, 3), 9), lambda: (f8(0, 3), 9), lambda: (f8(3, 4), 2), need="compiled"
)
def numbered(A, limit):
    best, at, sums = -100.0, None, np.zeros(9)
    for place, value in np.ndenumerate(A):
        A[0] = 1
        if value > best:
            best, at = value, place
        sums[place[0] + place[1]] += value
        if place[1] == limit:
            sums[len(sums)] = 1  # raises in the middle
    return best, at, sums


@TABLE.add(lambda: (np.asfortranarray(f8(3, 4)),), lambda: (f8(5),), need="right")
def numbered_otherwise(A):
    return sum(value * sum(place) for place, value in np.ndenumerate(A))
