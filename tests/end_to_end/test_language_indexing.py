"""Basic indexing in full, on both sides: numbers, slices, new axes, ellipses, views, writes through them."""

from __future__ import annotations

import numpy as np

from tests.compiling import PLAINLY
from tests.end_to_end.data import f4, f8, i4, i8, u1
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_indexing(row: Row) -> None:
    row.check()


# ---------------------------------------------------------------- reading


@TABLE.add(*(lambda i=i: (f8(5), i) for i in (0, 4, -1, -5, 5, -6)))
def number(v, i):
    return v[i]


@TABLE.add(lambda: (i4(5), True), lambda: (f8(5), 1.0), lambda: (f8(5), None), need="right")
def odd_numbers(v, i):
    return v[i]


@TABLE.add(lambda: (f8(5), np.int64(2)), lambda: (f8(5), np.uint8(4)), lambda: (f8(5), np.int32(-2)))
def numpy_number(v, i):
    return v[i]


@TABLE.add(*(lambda i=i, j=j: (f4(3, 4), i, j) for i, j in ((0, 0), (2, -1), (-3, 3), (3, 0), (0, 4))))
def two_numbers(A, i, j):
    return A[i, j], A[i][j]


@TABLE.add(
    *(
        lambda a=a, b=b: (f8(7), a, b)
        for a, b in ((1, 5), (0, 7), (-3, -1), (5, 2), (-100, 3), (2, 100), (None, 4), (3, None), (None, None))
    ),
    need="compiled",
)
def slices(v, a, b):
    return v[a:b]


@TABLE.add(
    lambda: (f8(7), 2), lambda: (f8(7), -2), lambda: (f8(7), 7), lambda: (f8(0), 3), lambda: (f8(3), 0), need="compiled"
)
def slices_with_a_step(v, s):
    return v[::s], v[1::s]


@TABLE.add(lambda: (f8(8),), lambda: (f8(8)[::-2],))
def fixed_slices(v):
    return v[1:3], v[:-1], v[::-1], v[-2:], v[6:1:-2], v[:], v[2:2]


@TABLE.add(lambda: (f8(3),), lambda: (f8(0),), need="compiled")
def slices_that_clip(v):
    return v[1:100], v[-100:2], v[5:], v[::-7]


@TABLE.add(lambda: (f8(4, 5),), lambda: (np.asfortranarray(f8(4, 5)),), lambda: (f8(8, 10)[::2, ::-2],))
def slices_of_matrices(A):
    return A[1:3, 2:], A[:, 0], A[-1], A[::2, ::-1], A[1:, 1], A[2, 1:4]


@TABLE.add(lambda: (f8(2, 3, 4),))
def ellipses(A):
    return A[...], A[..., 0], A[0, ...], A[1, ..., 2], A[..., 1:, ::2]


@TABLE.add(lambda: (f8(3, 4),))
def new_axes(A):
    return A[None], A[:, None], A[..., None], A[1, None, :2], A[:, np.newaxis, 1]


@TABLE.add(lambda: (f8(3),), lambda: (u1(3),))
def zero_d_results(v):
    return v[0], v[0, ...], v[..., 0], v[1] + v[2]


@TABLE.add(lambda: (np.array(3.5),), lambda: (np.array(3),))
def zero_d_arrays(a):
    return a[()], a[...], a + 1, a * a


@TABLE.add(lambda: (np.array(3.5),))
def zero_d_arrays_written(a):
    a[...] = 2.0
    a[()] = a[()] + 1
    a += 5


@TABLE.add(lambda: (f8(6),))
def views_of_views(v):
    w = v[1:]
    u = w[::2]
    return u[-1], u[1:], u[::-1][0]


@TABLE.add(lambda: (f8(3, 4),), lambda: (f8(5),), lambda: (i8(2, 3, 4),))
def attributes(A):
    return A.shape, A.ndim, A.size, A.dtype, len(A), A.T, A.itemsize, A.nbytes


@TABLE.add(lambda: (f8(3, 4),), lambda: (f8(2, 3, 4),))
def transposes(A):
    return A.T, A.T[0], A.transpose(), np.transpose(A), A.T.T, A.T + 1


@TABLE.add(lambda: (f8(2, 3, 4),))
def axes_in_another_order(A):
    return A.transpose(2, 0, 1), np.swapaxes(A, 0, 1), np.transpose(A, (1, 0, 2))


@TABLE.add(lambda: (np.asfortranarray(f8(3, 4)),), lambda: (f8(6, 4)[::2],), need="right")
def reshapes_that_copy(A):
    return A.reshape(4, 3), A.reshape(-1), A.ravel(), A.flatten()


@TABLE.add(lambda: (f8(3, 4),))
def reshapes(A):
    return A.reshape(4, 3), A.reshape(-1), A.reshape((2, 6)), A.ravel(), A.flatten()


@TABLE.add(lambda: (f8(2, 3),), lambda: (f8(3),))
def too_many_indices(A):
    return A[0, 1, 2]


@TABLE.add(lambda: (f8(5), 2))
def index_expressions(v, k):
    total = 0.0
    for i in range(len(v)):
        total = total * 2 + v[(i * k + 1) % len(v)] - v[-i - 1] + v[i // 2]
    return total


@TABLE.add(lambda: (f8(5), i8(5) % 5))
def index_from_an_array(v, which):
    total = 0.0
    for i in which:
        total = total * 2 + v[i]
    return total


@TABLE.add(lambda: (f8(5), np.array([3, 0, -1, 3])), lambda: (f8(5, 2), np.array([1, 7])), need="right")
def gather(v, which):
    return v[which]


@TABLE.add(lambda: (f8(6),), need="right")
def mask(v):
    return v[v > 0]


# ---------------------------------------------------------------- writing


@TABLE.add(*(lambda i=i: (f8(5), i, 2.5) for i in (0, -1, -5, 5, -6)), lambda: (i8(5), 1, 7), lambda: (f4(3), 1, 0.1))
def write_number(v, i, x):
    v[i] = x


@TABLE.add(lambda: (i8(3), 2.9), lambda: (i8(3), True), lambda: (u1(3), 255), lambda: (i4(3), np.float64(-2.7)))
def write_casts(v, x):
    v[1] = x
    v[2:] = x


@TABLE.add(
    lambda: (u1(3), 256), lambda: (u1(3), -1), lambda: (i4(3), 2**31), lambda: (i8(3), float("nan")), need="compiled"
)
def write_what_does_not_fit(v, x):
    v[0] = 1
    v[1] = x


@TABLE.add(lambda: (f8(4, 5), 3.0), lambda: (f8(4, 5), f8(5)), lambda: (f8(4, 5), f8(4, 1)), lambda: (f8(4, 5), f8(4)))
def write_everything(A, x):
    A[:] = x


@TABLE.add(lambda: (f8(4, 5), 3.0), lambda: (i4(4, 5), 3))
def write_slices(A, x):
    A[1:3, ::2] = x
    A[0] = A[1] + 1
    A[:, -1] = A[:, 0] * 2
    A[..., 1] = x
    A[3, ::-1] = A[3]


@TABLE.add(lambda: (f8(6),), lambda: (i8(6),))
def overlapping_copies(v):
    v[1:] = v[:-1]
    v[:-2] = v[2:]
    v[::-1] = v


@TABLE.add(lambda: (f8(6),))
def overlapping_updates(v):
    v[1:] += v[:-1]
    v[:-1] -= v[1:] * 2
    v[:] = v[::-1] + v


@TABLE.add(lambda: (f8(4, 4),))
def transposed_updates(A):
    A += A.T
    A[:] = A.T
    A[0] = A[:, 1]


@TABLE.add(lambda: (f8(3, 3),), lambda: (np.asfortranarray(f8(3, 3)),))
def write_through_a_transpose(A):
    B = A.T
    B[0, 1] = 100.0
    B[2] = B[0] + 1
    return B


@TABLE.add(lambda: (f8(6),))
def write_through_views(v):
    w = v[1:5]
    w[::2] = 9.0
    u = w[::-1]
    u[0] += 1
    u *= 2
    return w


@TABLE.add(lambda: (f8(2, 6),))
def write_through_a_reshape(A):
    B = A.reshape(3, 4)
    B[1, 1] = 77.0
    B[2] = 0
    return B


@TABLE.add(lambda: (f8(5), f8(3)), lambda: (f8(5), f8(5)), lambda: (f8(5), f8(1)), lambda: (f8(5), f8(2, 5)))
def write_other_lengths(v, w):
    v[0] = -1.0
    v[:] = w


@TABLE.add(lambda: (f8(5), np.array([1, 3])), lambda: (f8(5), np.array([1, 9])), need="right")
def scatter(v, which):
    v[which] = 0.5


@TABLE.add(lambda: (f8(6),), need="right")
def masked_write(v):
    v[v < 0] = 0.0


@TABLE.add(lambda: (f8(4, 3), 2))
def rows_and_columns_by_loop(A, k):
    for i in range(A.shape[0]):
        A[i] = A[i] * k + i
    for j in range(A.shape[1]):
        A[:, j] -= A[:, -1]


@TABLE.add(lambda: (f8(8), 3), lambda: (f8(8), 1), lambda: (f8(8), 4))
def windows(v, k):
    out = np.zeros(len(v) - k + 1)
    for i in range(len(out)):
        out[i] = v[i : i + k].sum()
    return out


@TABLE.add(lambda: (f8(9),))
def stencil(v):
    w = np.zeros_like(v)
    w[1:-1] = v[:-2] - 2 * v[1:-1] + v[2:]
    return w


@TABLE.add(lambda: (f8(3, 4, 5),))
def planes(A):
    A[:, 0] = A[:, 1]
    A[1, :, 2] = A[0, :, 3]
    A[..., None, 0][2] = 5.0
    return A[1][2][3], A[:, 1][:, 2]
