"""Residual block for DaCe, which multiplies matrices and batches of them: pixels are rows, as in a matrix.

Means over the pixels are products with ones: DaCe's own sums go down one column after the other, several times slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def residual_block(x: NDArray[Any], w1: NDArray[Any], w2: NDArray[Any], w3: NDArray[Any]) -> NDArray[Any]:
    """Three layers, each normalised, and the short cut around them; the convolution is a sum of nine products."""
    pixels = np.reshape(x, (x.shape[0] * x.shape[1] * x.shape[2], x.shape[3]))
    share = np.ones(x.shape[0] * x.shape[1] * x.shape[2], x.dtype) / (x.shape[0] * x.shape[1] * x.shape[2])
    product = pixels @ w1
    narrow = product - share @ product
    first = np.maximum(narrow / np.sqrt(share @ (narrow * narrow) + 1e-5), 0.0)
    padded = np.zeros((x.shape[0], x.shape[1] + 2, x.shape[2] + 2, w1.shape[1]), x.dtype)
    padded[:, 1:-1, 1:-1] = np.reshape(first, (x.shape[0], x.shape[1], x.shape[2], w1.shape[1]))
    part = np.empty((x.shape[0], x.shape[1], x.shape[2], w1.shape[1]), x.dtype)
    convolved = np.zeros((x.shape[0] * x.shape[1] * x.shape[2], w1.shape[1]), x.dtype)
    for a in range(3):
        for b in range(3):
            part[:] = padded[:, a : a + x.shape[1], b : b + x.shape[2]]
            convolved += np.reshape(part, (x.shape[0] * x.shape[1] * x.shape[2], w1.shape[1])) @ w2[a, b]
    middle = convolved - share @ convolved
    second = np.maximum(middle / np.sqrt(share @ (middle * middle) + 1e-5), 0.0)
    wide = second @ w3
    centred = wide - share @ wide
    third = centred / np.sqrt(share @ (centred * centred) + 1e-5)
    return np.maximum(x + np.reshape(third, (x.shape[0], x.shape[1], x.shape[2], x.shape[3])), 0.0)
