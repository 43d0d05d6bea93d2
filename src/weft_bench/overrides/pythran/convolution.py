"""Convolutional layer for Pythran, whose sums go over one axis or over all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def convolution(x: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any]) -> NDArray[Any]:
    """Place after place; a window is summed up for one image and one filter at a time."""
    size = weights.shape[0]
    batch, rows, columns, filters = x.shape[0], x.shape[1] - size + 1, x.shape[2] - size + 1, weights.shape[3]
    y = np.empty((batch, rows, columns, filters), x.dtype)
    for n in range(batch):
        for i in range(rows):
            for j in range(columns):
                for f in range(filters):
                    y[n, i, j, f] = np.sum(x[n, i : i + size, j : j + size] * weights[:, :, :, f])
    return y + bias
