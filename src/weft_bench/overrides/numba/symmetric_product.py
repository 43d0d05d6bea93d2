# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A symmetric matrix times another for Numba: the source is taken, but copies columns for every product; loops with the
columns of B and C innermost run along the memory.
"""

from __future__ import annotations

from typing import Any

import numba
from numpy.typing import NDArray


@numba.njit(fastmath=True, cache=True)
def symmetric_product(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any]) -> None:
    """A number of A left of the diagonal serves both places it stands for."""
    C[:] = beta * C
    for i in range(C.shape[0]):
        for k in range(i):
            for j in range(C.shape[1]):
                C[k, j] += alpha * B[i, j] * A[i, k]
                C[i, j] += alpha * A[i, k] * B[k, j]
        for j in range(C.shape[1]):
            C[i, j] += alpha * A[i, i] * B[i, j]
