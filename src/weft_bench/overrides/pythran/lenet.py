"""LeNet-5 for Pythran, whose sums and maxima go over one axis or over all; each step has a name of its own type."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def relu(x: NDArray[Any]) -> NDArray[Any]:
    """What is negative becomes zero."""
    return np.maximum(x, 0.0)


def convolve(x: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any]) -> NDArray[Any]:
    """Place after place, for one image and one filter at a time; with the bias, and rectified."""
    size = weights.shape[0]
    batch, rows, columns, filters = x.shape[0], x.shape[1] - size + 1, x.shape[2] - size + 1, weights.shape[3]
    y = np.empty((batch, rows, columns, filters), x.dtype)
    for n in range(batch):
        for i in range(rows):
            for j in range(columns):
                for f in range(filters):
                    y[n, i, j, f] = max(np.sum(x[n, i : i + size, j : j + size] * weights[:, :, :, f]) + bias[f], 0.0)
    return y


def pool(x: NDArray[Any]) -> NDArray[Any]:
    """The largest of every block of two by two."""
    rows, columns = x.shape[1] // 2, x.shape[2] // 2
    y = np.empty((x.shape[0], rows, columns, x.shape[3]), x.dtype)
    for n in range(x.shape[0]):
        for i in range(rows):
            for j in range(columns):
                upper = np.maximum(x[n, 2 * i, 2 * j], x[n, 2 * i, 2 * j + 1])
                lower = np.maximum(x[n, 2 * i + 1, 2 * j], x[n, 2 * i + 1, 2 * j + 1])
                y[n, i, j] = np.maximum(upper, lower)
    return y


def lenet(  # noqa: PLR0913, PLR0917 - five layers
    x: NDArray[Any],
    w1: NDArray[Any],
    b1: NDArray[Any],
    w2: NDArray[Any],
    b2: NDArray[Any],
    w3: NDArray[Any],
    b3: NDArray[Any],
    w4: NDArray[Any],
    b4: NDArray[Any],
    w5: NDArray[Any],
    b5: NDArray[Any],
) -> NDArray[Any]:
    """The scores of the ten digits for every image."""
    first = pool(convolve(x, w1, b1))
    second = pool(convolve(first, w2, b2))
    flat = second.reshape(second.shape[0], second.shape[1] * second.shape[2] * second.shape[3])
    third = relu(flat @ w3 + b3)
    fourth = relu(third @ w4 + b4)
    return fourth @ w5 + b5
