# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A symmetric update for Numba: the source is taken, but walks down columns of A; loops over products of rows, which
are shared out, run along the memory.
"""

from __future__ import annotations

from typing import Any

import numba
from numpy.typing import NDArray


@numba.njit(fastmath=True, parallel=True, cache=True)
def symmetric_rank_k(alpha: float, beta: float, A: NDArray[Any], C: NDArray[Any]) -> None:
    """Row by row up to the diagonal."""
    for i in numba.prange(A.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for k in range(A.shape[1]):
                total += A[i, k] * A[j, k]
            C[i, j] = beta * C[i, j] + alpha * total
