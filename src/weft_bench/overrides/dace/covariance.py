"""Covariance matrix for DaCe, where extents are symbols: those of the data, written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def covariance(data: NDArray[Any]) -> NDArray[Any]:
    """Only the upper triangle is computed, and mirrored."""
    data[:] = data - np.mean(data, axis=0)
    result = np.empty((data.shape[1], data.shape[1]), data.dtype)
    for i in range(data.shape[1]):
        row = data[:, i] @ data[:, i:] / (data.shape[0] - 1)
        result[i, i:] = row
        result[i:, i] = row
    return result
