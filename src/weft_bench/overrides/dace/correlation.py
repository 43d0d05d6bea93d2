"""Correlation matrix for DaCe, which has no `np.std`, and where extents are symbols: those of the data, written out.

Means are products with ones, as DaCe's own sums are atomic additions; the columns are laid out one after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def correlation(data: NDArray[Any]) -> NDArray[Any]:
    """Only what is right of the diagonal is computed."""
    share = np.ones(data.shape[0], data.dtype) / data.shape[0]
    centred = data - share @ data
    deviation = np.sqrt(share @ (centred * centred))
    scores = centred / np.where(deviation == 0.0, 1.0, deviation)
    result = np.eye(data.shape[1], dtype=data.dtype)
    columns = np.transpose(scores)
    for i in range(data.shape[1] - 1):
        row = columns[i + 1 :] @ columns[i] / data.shape[0]
        result[i, i + 1 :] = row
        result[i + 1 :, i] = row
    return result
