"""Covariance matrix for DaCe, where extents are symbols: those of the data, written out.

Means are products with ones, as DaCe's own sums are atomic additions; the columns are laid out one after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def covariance(data: NDArray[Any]) -> NDArray[Any]:
    """Only the upper triangle is computed, and mirrored."""
    share = np.ones(data.shape[0], data.dtype) / data.shape[0]
    data[:] = data - share @ data
    result = np.empty((data.shape[1], data.shape[1]), data.dtype)
    columns = np.transpose(data)
    for i in range(data.shape[1]):
        row = columns[i:] @ columns[i] / (data.shape[0] - 1)
        result[i, i:] = row
        result[i:, i] = row
    return result
