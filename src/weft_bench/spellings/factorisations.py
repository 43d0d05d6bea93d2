"""Factorisations and triangular systems in other words: the loops in another order, slices kept in variables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def cholesky(A: NDArray[Any]) -> None:
    """Column by column; what lies left of the pivot is a slice with a name."""
    n = A.shape[0]
    for j in range(n):
        left = slice(0, j)
        below = slice(j + 1, None)
        pivot = A[j, j] - A[j, left].dot(A[j, left])
        if not pivot > 0.0:
            raise ValueError(f"the matrix is not positive definite: pivot {j} is {pivot}")
        A[j, j] = math.sqrt(pivot)
        A[below, j] -= A[below, left] @ A[j, left]
        A[below, j] /= A[j, j]


def lu(A: NDArray[Any]) -> None:
    """Right-looking: every step takes an outer product off the rest."""
    for k in range(len(A) - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])


def triangular_solve(L: NDArray[Any], B: NDArray[Any], X: NDArray[Any]) -> None:
    """By columns: as soon as a row of X is known, it is taken off all rows after it."""
    X[:] = B
    for k, column in enumerate(L.T):
        X[k] /= column[k]
        X[k + 1 :] -= column[k + 1 :, None] * X[k]


def durbin(r: NDArray[Any]) -> NDArray[Any]:
    """The predictor grows by one coefficient per turn."""
    if r.size == 0:
        return r.copy()
    reflection = -r[0]
    error = 1.0
    y = np.array([reflection])
    for k in range(1, r.size):
        error *= 1.0 - reflection * reflection
        reflection = -(r[k] + np.dot(r[:k][::-1], y)) / error
        y = np.append(y + reflection * y[::-1], reflection)
    return y


def library_cholesky(A: NDArray[Any]) -> NDArray[Any]:
    """Without the library: the rest of the triangle loses one column after the other."""
    L = np.tril(A)
    n = len(L)
    for k in range(n):
        if L[k, k] <= 0:
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        L[k:, k] /= np.sqrt(L[k, k])
        for j in range(k + 1, n):
            L[j:, j] -= L[j, k] * L[j:, k]
    return L


def evaluate_polynomial(coefficients: NDArray[Any], point: Any) -> NDArray[Any]:
    """The sum of all coefficients times the powers of the point, one power after the other."""
    power, total = 1, np.zeros_like(coefficients[0])
    for coefficient in coefficients:
        total += power * coefficient
        power = power * point
    return total


def contour_integral(
    H: NDArray[Any], Y: NDArray[Any], z: NDArray[Any], weight: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both moments in one array."""
    moments = np.zeros((2, *Y.shape), dtype=Y.dtype)
    for point, share in zip(z, weight, strict=True):
        X = np.linalg.solve(evaluate_polynomial(H, point), Y)
        moments[0] += share * X
        moments[1] += share * point * X
    return moments[0], moments[1]


def gram_schmidt(A: NDArray[Any]) -> NDArray[Any]:
    """Views of A with names are changed in place; all later columns are freed at once."""
    _, columns = A.shape
    R = np.zeros((columns, columns), dtype=A.dtype)
    for k in range(columns):
        column, later = A[:, k], A[:, k + 1 :]
        R[k, k] = np.linalg.norm(column)
        column /= R[k, k]
        R[k, k + 1 :] = later.T @ column
        later -= np.outer(column, R[k, k + 1 :])
    return R


def lu_solve(A: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The factorisation above, then both substitutions in one vector."""
    lu(A)
    x = b.copy()
    n = x.shape[0]
    for i in range(1, n):
        x[i] -= A[i, :i] @ x[:i]
    for i in range(n - 1, -1, -1):
        x[i] -= np.dot(A[i, i + 1 :], x[i + 1 :])
        x[i] /= A[i, i]
    return x
