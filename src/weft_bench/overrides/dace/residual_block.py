"""Residual block for DaCe, which multiplies matrices and batches of them, and names extents by symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def relu(x: NDArray[Any]) -> NDArray[Any]:
    """What is negative becomes zero."""
    return np.maximum(x, 0.0)


def normalise(x: NDArray[Any]) -> NDArray[Any]:
    """Every channel with mean 0 and variance 1; the rows are pixels."""
    centred = x - np.mean(x, axis=0)
    return centred / np.sqrt(np.mean(centred * centred, axis=0) + 1e-5)


def residual_block(x: NDArray[Any], w1: NDArray[Any], w2: NDArray[Any], w3: NDArray[Any]) -> NDArray[Any]:
    """Three layers, and the short cut around them; the convolution is a sum of nine products."""
    pixels = np.reshape(x, (x.shape[0] * x.shape[1] * x.shape[2], x.shape[3]))
    narrow = relu(normalise(pixels @ w1))
    padded = np.zeros((x.shape[0], x.shape[1] + 2, x.shape[2] + 2, w1.shape[1]), x.dtype)
    padded[:, 1:-1, 1:-1] = np.reshape(narrow, (x.shape[0], x.shape[1], x.shape[2], w1.shape[1]))
    part = np.empty((x.shape[0], x.shape[1], x.shape[2], w1.shape[1]), x.dtype)
    convolved = np.zeros((x.shape[0] * x.shape[1] * x.shape[2], w1.shape[1]), x.dtype)
    for a in range(3):
        for b in range(3):
            part[:] = padded[:, a : a + x.shape[1], b : b + x.shape[2]]
            convolved += np.reshape(part, (x.shape[0] * x.shape[1] * x.shape[2], w1.shape[1])) @ w2[a, b]
    wide = normalise(relu(normalise(convolved)) @ w3)
    return relu(x + np.reshape(wide, (x.shape[0], x.shape[1], x.shape[2], x.shape[3])))
