# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The residual block for Numba, which multiplies matrices only and has no `np.mean` along several axes: pixels are laid
out as the rows of a matrix.

Its speed-up is below that of tables for `resnet`: there NumPy convolves place after place, here by nine products, which
leave little to gain.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, cache=True)
def relu(x: NDArray[Any]) -> NDArray[Any]:
    """What is negative becomes zero."""
    return np.maximum(x, x.dtype.type(0.0))


@numba.njit(fastmath=True, parallel=True, cache=True)
def normalise(x: NDArray[Any]) -> NDArray[Any]:
    """Every channel with mean 0 and variance 1."""
    pixels, channels = x.shape
    mean, square = np.zeros(channels, x.dtype), np.zeros(channels, x.dtype)
    for i in range(pixels):
        for c in range(channels):
            mean[c] += x[i, c] / pixels
    for i in range(pixels):
        for c in range(channels):
            square[c] += (x[i, c] - mean[c]) ** 2
    deviation = np.sqrt(square / pixels + 1e-5)
    y = np.empty_like(x)
    for i in numba.prange(pixels):
        for c in range(channels):
            y[i, c] = (x[i, c] - mean[c]) / deviation[c]
    return y


@numba.njit(fastmath=True, cache=True)
def convolve_same(x: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """A 3 x 3 convolution that keeps the extent of the image, as a sum of nine products."""
    batch, rows, columns, channels = x.shape
    padded = np.zeros((batch, rows + 2, columns + 2, channels), x.dtype)
    padded[:, 1:-1, 1:-1] = x
    y = np.zeros((batch * rows * columns, weights.shape[3]), x.dtype)
    for a in range(3):
        for b in range(3):
            window = padded[:, a : a + rows, b : b + columns].copy()
            y += window.reshape(batch * rows * columns, channels) @ weights[a, b]
    return y


@numba.njit(fastmath=True, cache=True)
def residual_block(x: NDArray[Any], w1: NDArray[Any], w2: NDArray[Any], w3: NDArray[Any]) -> NDArray[Any]:
    """Three layers, and the short cut around them."""
    batch, rows, columns, channels = x.shape
    pixels = x.reshape(batch * rows * columns, channels)
    y = relu(normalise(pixels @ w1))
    y = relu(normalise(convolve_same(y.reshape(batch, rows, columns, w1.shape[1]), w2)))
    y = normalise(y @ w3)
    return relu(pixels + y).reshape(x.shape)
