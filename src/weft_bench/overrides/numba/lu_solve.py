# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A linear system by LU factorisation for Numba: the source is taken, but copies a column for every product; in loops
the rows above are taken off row i one after the other, along the memory.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, cache=True)
def lu_solve(A: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Factorise in place, then substitute."""
    n = A.shape[0]
    x = np.empty_like(b)
    y = np.empty_like(b)
    for i in range(n):
        for k in range(i):
            A[i, k] = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    for i in range(n):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x
