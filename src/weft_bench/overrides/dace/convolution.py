"""Convolutional layer for DaCe, where the extents of slices are symbols: those of the weights, written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def convolution(x: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any]) -> NDArray[Any]:
    """Place after place, for all images and filters at once."""
    y = np.empty(
        (x.shape[0], x.shape[1] - weights.shape[0] + 1, x.shape[2] - weights.shape[0] + 1, weights.shape[3]), x.dtype
    )
    for i in range(x.shape[1] - weights.shape[0] + 1):
        for j in range(x.shape[2] - weights.shape[0] + 1):
            window = x[:, i : i + weights.shape[0], j : j + weights.shape[0], :, np.newaxis]
            y[:, i, j] = np.sum(window * weights, axis=(1, 2, 3))
    return y + bias
