"""Correlation matrix for DaCe, which has no `np.std`, and where extents are symbols: those of the data, written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def correlation(data: NDArray[Any]) -> NDArray[Any]:
    """Only what is right of the diagonal is computed."""
    centred = data - np.mean(data, axis=0)
    deviation = np.sqrt(np.mean(centred * centred, axis=0))
    scores = centred / np.where(deviation == 0.0, 1.0, deviation)
    result = np.eye(data.shape[1], dtype=data.dtype)
    for i in range(data.shape[1] - 1):
        row = scores[:, i] @ scores[:, i + 1 :] / data.shape[0]
        result[i, i + 1 :] = row
        result[i + 1 :, i] = row
    return result
