"""Residual block for Pythran, which multiplies matrices alone and reduces one axis or all: pixels are rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def relu(x: NDArray[Any]) -> NDArray[Any]:
    """What is negative becomes zero."""
    return np.maximum(x, 0.0)


def normalise(x: NDArray[Any]) -> NDArray[Any]:
    """Every channel with mean 0 and variance 1; the rows are pixels."""
    return (x - np.mean(x, axis=0)) / np.sqrt(np.var(x, axis=0) + 1e-5)


def convolve_same(x: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """A 3 x 3 convolution that keeps the extent of the image, line by line as a sum of nine products."""
    batch, rows, columns, channels = x.shape
    padded = np.zeros((batch, rows + 2, columns + 2, channels), x.dtype)
    padded[:, 1:-1, 1:-1] = x
    y = np.zeros((batch, rows, columns, weights.shape[3]), x.dtype)
    for n in range(batch):
        for i in range(rows):
            for a in range(3):
                for b in range(3):
                    y[n, i] += padded[n, i + a, b : b + columns] @ weights[a, b]
    return y


def residual_block(x: NDArray[Any], w1: NDArray[Any], w2: NDArray[Any], w3: NDArray[Any]) -> NDArray[Any]:
    """Three layers, and the short cut around them."""
    batch, rows, columns, channels = x.shape
    pixels, inner = batch * rows * columns, w1.shape[1]
    narrow = relu(normalise(x.reshape(pixels, channels) @ w1))
    convolved = convolve_same(narrow.reshape(batch, rows, columns, inner), w2)
    middle = relu(normalise(convolved.reshape(pixels, inner)))
    wide = normalise(middle @ w3)
    return relu(x + wide.reshape(batch, rows, columns, channels))
