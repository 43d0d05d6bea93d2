"""Moments along a contour for Pythran, which has no `np.linalg.solve`: elimination with pivots, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def solve(matrix: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """The X with matrix X = right; both are used up."""
    n = matrix.shape[0]
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        if pivot != k:
            row = matrix[k].copy()
            matrix[k] = matrix[pivot]
            matrix[pivot] = row
            side = right[k].copy()
            right[k] = right[pivot]
            right[pivot] = side
        for i in range(k + 1, n):
            factor = matrix[i, k] / matrix[k, k]
            matrix[i, k + 1 :] -= factor * matrix[k, k + 1 :]
            right[i] -= factor * right[k]
    for k in range(n - 1, -1, -1):
        right[k] /= matrix[k, k]
        for i in range(k):
            right[i] -= matrix[i, k] * right[k]
    return right


def contour_integral(
    H: NDArray[Any], Y: NDArray[Any], z: NDArray[Any], weight: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """A linear system per point; the polynomial is summed up from its highest power."""
    moment0 = np.zeros(Y.shape, Y.dtype)
    moment1 = np.zeros(Y.shape, Y.dtype)
    for k in range(z.shape[0]):
        matrix = np.zeros((H.shape[1], H.shape[2]), H.dtype)
        for term in range(H.shape[0] - 1, -1, -1):
            matrix[:] = z[k] * matrix + H[term]
        X = weight[k] * solve(matrix, Y.copy())
        moment0 += X
        moment1 += z[k] * X
    return moment0, moment1
