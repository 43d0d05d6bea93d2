# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Covariances for Numba, which has no `np.mean` along an axis. The centred data is kept by variable beside `data`,
since its matrix products want contiguous operands, and the rows of the result are shared out.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, parallel=True, cache=True)
def covariance(data: NDArray[Any]) -> NDArray[Any]:
    """Only the upper triangle is computed, and mirrored."""
    observations, variables = data.shape
    centred = np.empty((variables, observations), data.dtype)
    for i in numba.prange(variables):
        centred[i] = data[:, i] - np.mean(data[:, i])
        data[:, i] = centred[i]
    result = np.empty((variables, variables), data.dtype)
    for i in numba.prange(variables):
        for j in range(i, variables):
            total = 0.0
            for k in range(observations):
                total += centred[i, k] * centred[j, k]
            result[i, j] = total / (observations - 1)
            result[j, i] = result[i, j]
    return result
