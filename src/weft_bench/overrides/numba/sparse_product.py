# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A sparse matrix times a vector for Numba: the source is taken, but makes two arrays for every row; a loop over the
entries makes none, and the rows are shared out.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, parallel=True, cache=True)
def sparse_product(starts: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """Row by row."""
    rows = starts.shape[0] - 1
    y = np.empty(rows, values.dtype)
    for i in numba.prange(rows):
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            total += values[e] * x[columns[e]]
        y[i] = total
    return y
