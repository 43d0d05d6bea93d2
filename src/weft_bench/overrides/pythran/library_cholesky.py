"""Cholesky factorisation for Pythran, which has no `np.linalg.cholesky`: row by row, with products of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def library_cholesky(A: NDArray[Any]) -> NDArray[Any]:
    """The lower triangular factor in a new matrix."""
    n = A.shape[0]
    L = np.zeros((n, n), A.dtype)
    for i in range(n):
        for j in range(i):
            L[i, j] = (A[i, j] - L[i, :j] @ L[j, :j]) / L[j, j]
        L[i, i] = np.sqrt(A[i, i] - L[i, :i] @ L[i, :i])
    return L
