# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""LU factorisation for Numba: the source is taken, but copies a column for every product; in loops the rows above are
taken off row i one after the other, along the memory.
"""

from __future__ import annotations

from typing import Any

import numba
from numpy.typing import NDArray


@numba.njit(fastmath=True, cache=True)
def lu(A: NDArray[Any]) -> None:
    """Factorise A in place, row by row and without pivots."""
    n = A.shape[0]
    for i in range(n):
        for k in range(i):
            A[i, k] = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
