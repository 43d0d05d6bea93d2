# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Correlations for Numba, which has no `np.mean` and `np.std` along an axis. The scores are kept by variable, so that
its loops run along them, and the rows of the result are shared out.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, parallel=True, cache=True)
def correlation(data: NDArray[Any]) -> NDArray[Any]:
    """Only what is right of the diagonal is computed."""
    observations, variables = data.shape
    scores = np.empty((variables, observations), data.dtype)
    for i in numba.prange(variables):
        centred = data[:, i] - np.mean(data[:, i])
        deviation = np.sqrt(np.mean(centred * centred))
        scores[i] = centred / (1.0 if deviation == 0.0 else deviation)
    result = np.eye(variables, dtype=data.dtype)
    for i in numba.prange(variables - 1):
        for j in range(i + 1, variables):
            total = 0.0
            for k in range(observations):
                total += scores[i, k] * scores[j, k]
            result[i, j] = total / observations
            result[j, i] = result[i, j]
    return result
