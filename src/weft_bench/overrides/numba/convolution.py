# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A convolutional layer for Numba, which has no `np.sum` along several axes: loops, with those over images and rows
shared out.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, parallel=True, cache=True)
def convolution(x: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any]) -> NDArray[Any]:
    """Place after place."""
    size = weights.shape[0]
    rows, columns = x.shape[1] - size + 1, x.shape[2] - size + 1
    y = np.empty((x.shape[0], rows, columns, weights.shape[3]), x.dtype)
    for n in numba.prange(x.shape[0]):
        for i in range(rows):
            for j in range(columns):
                y[n, i, j] = bias
                for a in range(size):
                    for b in range(size):
                        for c in range(x.shape[3]):
                            for f in range(weights.shape[3]):
                                y[n, i, j, f] += x[n, i + a, j + b, c] * weights[a, b, c, f]
    return y
