# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A product with a triangular matrix for Numba: the source is taken, but copies columns for every product; loops with
the columns of B innermost run along the memory.
"""

from __future__ import annotations

from typing import Any

import numba
from numpy.typing import NDArray


@numba.njit(fastmath=True, cache=True)
def triangular_product(alpha: float, A: NDArray[Any], B: NDArray[Any]) -> None:
    """From the first row on, since each only needs those below it, which are still the old ones."""
    for i in range(B.shape[0]):
        for k in range(i + 1, B.shape[0]):
            for j in range(B.shape[1]):
                B[i, j] += A[k, i] * B[k, j]
    B[:] = alpha * B
