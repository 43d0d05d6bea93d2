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
