"""LeNet-5 for DaCe, where a name keeps its shape and extents are symbols: steps by name, extents written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def relu(x: NDArray[Any]) -> NDArray[Any]:
    """What is negative becomes zero."""
    return np.maximum(x, 0.0)


def convolve(x: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """Place after place, for all images and filters at once."""
    y = np.empty(
        (x.shape[0], x.shape[1] - weights.shape[0] + 1, x.shape[2] - weights.shape[1] + 1, weights.shape[3]), x.dtype
    )
    for i in range(x.shape[1] - weights.shape[0] + 1):
        for j in range(x.shape[2] - weights.shape[1] + 1):
            window = x[:, i : i + weights.shape[0], j : j + weights.shape[1], :, np.newaxis]
            y[:, i, j] = np.sum(window * weights, axis=(1, 2, 3))
    return y


def pool(x: NDArray[Any]) -> NDArray[Any]:
    """The largest of every block of two by two."""
    y = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]), x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            y[:, i, j] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2], axis=(1, 2))
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
    first = pool(relu(convolve(x, w1) + b1))
    second = pool(relu(convolve(first, w2) + b2))
    flat = np.reshape(second, (x.shape[0], w3.shape[0]))
    third = relu(flat @ w3 + b3)
    fourth = relu(third @ w4 + b4)
    return fourth @ w5 + b5
