"""Matrix and vector products in other words: rank-one updates, rows in loops, buffers, tensor contractions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def matrix_product(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any]) -> None:
    """Scale C first, then add the product from a buffer."""
    buffer = np.empty(C.shape, dtype=C.dtype)
    np.dot(A, B, out=buffer)
    np.multiply(buffer, alpha, out=buffer)
    np.multiply(C, beta, out=C)
    np.add(C, buffer, out=C)


def two_products(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any], D: NDArray[Any]) -> None:
    """Contract one axis after the other and copy the result over D."""
    first = np.tensordot(A, B, axes=1)
    second = np.tensordot(first, C, axes=([1], [0]))
    np.copyto(D, beta * D + alpha * second)


def three_products(A: NDArray[Any], B: NDArray[Any], C: NDArray[Any], D: NDArray[Any]) -> NDArray[Any]:
    """Each product as a sum of outer products of columns and rows."""

    def times(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
        rows, inner = left.shape
        total = np.zeros((rows, right.shape[-1]), left.dtype)
        for k in range(inner):
            total += np.outer(left[:, k], right[k])
        return total

    return times(times(A, B), times(C, D))


def normal_product(A: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """Row by row: each row of A is read once and used twice."""
    result = np.zeros_like(x)
    for row in A:
        result += row * row.dot(x)
    return result


def biconjugate_products(A: NDArray[Any], p: NDArray[Any], r: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """A p row by row in a list; r A as a weighted sum of the rows."""
    forward = np.array([row @ p for row in A])
    backward = (A * r[:, np.newaxis]).sum(axis=0)
    return forward, backward


def transposed_products(A: NDArray[Any], x: NDArray[Any], y: NDArray[Any], u: NDArray[Any], v: NDArray[Any]) -> None:
    """Both products in one pass over the elements of A."""
    rows, columns = A.shape
    for i in range(rows):
        for j in range(columns):
            x[i] += A[i, j] * y[j]
            u[j] += A[i, j] * v[i]


def scaled_product(
    matrix: NDArray[Any], vector: NDArray[Any], scale: float = 1.0, out: NDArray[Any] | None = None
) -> NDArray[Any]:
    """`scale` times the product, added to `out` if there is one."""
    product = np.matmul(matrix, vector)
    product *= scale
    if out is None:
        return product
    return np.add(out, product, out=out)


def summed_products(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """The second product goes on top of the first."""
    total = scaled_product(A, x, scale=alpha)
    return scaled_product(B, x, beta, out=total)


def rank_two_update(  # noqa: PLR0913, PLR0917 - the letters of the formulas
    alpha: float,
    beta: float,
    A: NDArray[Any],
    u1: NDArray[Any],
    v1: NDArray[Any],
    u2: NDArray[Any],
    v2: NDArray[Any],
    y: NDArray[Any],
    z: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The two updates in a loop over the pairs, then the products as inner products."""
    for column, row in ((u1, v1), (u2, v2)):
        A[:] += column.reshape(-1, 1) * row
    x = z.copy()
    x += beta * np.inner(A.T, y)
    w = np.sum(A * x, axis=1) * alpha
    return x, w


def mode_product(A: NDArray[Any], M: NDArray[Any]) -> None:
    """The index notation, as it stands in the paper."""
    A[...] = np.einsum("ijs,sk->ijk", A, M)


def symmetric_product(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any]) -> None:
    """The triangle is mirrored first; then it is an ordinary product."""
    full = np.tril(A) + np.tril(A, k=-1).T
    C[...] = beta * C + alpha * (full @ B)


def symmetric_rank_k(alpha: float, beta: float, A: NDArray[Any], C: NDArray[Any]) -> None:
    """All places of the triangle at once, through their row and column numbers."""
    i, j = np.tril_indices(C.shape[0])
    C[i, j] *= beta
    C[i, j] += alpha * np.sum(A[i] * A[j], axis=-1)


def symmetric_rank_2k(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any]) -> None:
    """Row by row, up to and with the diagonal."""
    for i in range(len(C)):
        row = C[i, : i + 1]
        row *= beta
        row += alpha * (A[: i + 1] @ B[i] + B[: i + 1].dot(A[i]))


def triangular_product(alpha: float, A: NDArray[Any], B: NDArray[Any]) -> None:
    """What the triangle adds to B, all at once."""
    np.add(B, np.tril(A, -1).T @ B, out=B)
    np.multiply(B, alpha, out=B)


def sparse_product(starts: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """Entry by entry."""
    rows = starts.shape[0] - 1
    y = np.zeros(rows, dtype=values.dtype)
    for i in range(rows):
        for entry in range(starts[i], starts[i + 1]):
            y[i] += values[entry] * x[columns[entry]]
    return y


def trace_shift(a: NDArray[Any]) -> NDArray[Any]:
    """One line."""
    return a + np.tanh(a.diagonal()).sum()
