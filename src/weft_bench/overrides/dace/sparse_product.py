"""Sparse product for DaCe, which has no slices between numbers read from an array: entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def sparse_product(starts: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """Row by row, entry by entry."""
    y = np.zeros(len(starts) - 1, values.dtype)
    for i in range(len(starts) - 1):
        for entry in range(starts[i], starts[i + 1]):
            y[i] += values[entry] * x[columns[entry]]
    return y
