# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Softmax for Numba, whose `np.max` and `np.sum` know no `keepdims`: a loop over the rows, as its users write it."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, parallel=True, cache=True)
def softmax(x: NDArray[Any]) -> NDArray[Any]:
    """Row by row, in parallel."""
    rows = x.reshape(x.size // x.shape[-1], x.shape[-1])
    weights = np.empty_like(rows)
    for i in numba.prange(rows.shape[0]):
        largest = np.max(rows[i])
        total = 0.0
        for j in range(rows.shape[1]):
            weights[i, j] = np.exp(rows[i, j] - largest)
            total += weights[i, j]
        for j in range(rows.shape[1]):
            weights[i, j] /= total
    return weights.reshape(x.shape)
