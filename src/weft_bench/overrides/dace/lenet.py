"""LeNet-5 for DaCe, where a name keeps its shape and extents are symbols: steps by name, extents written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CONCRETE = "its frontend cannot compare half of an extent with another in symbols"


def relu(x: NDArray[Any]) -> NDArray[Any]:
    """What is negative becomes zero."""
    return np.maximum(x, 0.0)


def convolve(x: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """Weight after weight, for all images and places at once."""
    y = np.zeros(
        (x.shape[0], x.shape[1] - weights.shape[0] + 1, x.shape[2] - weights.shape[1] + 1, weights.shape[3]), x.dtype
    )
    for f in range(weights.shape[3]):
        for a in range(weights.shape[0]):
            for b in range(weights.shape[1]):
                for c in range(weights.shape[2]):
                    y[:, :, :, f] += (
                        weights[a, b, c, f]
                        * (
                            x[
                                :,
                                a : a + x.shape[1] - weights.shape[0] + 1,
                                b : b + x.shape[2] - weights.shape[1] + 1,
                                c,
                            ]
                        )
                    )
    return y


def pool(x: NDArray[Any]) -> NDArray[Any]:
    """The largest of every block of two by two."""
    y = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]), x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            y[:, i, j] = np.maximum(
                np.maximum(x[:, 2 * i, 2 * j], x[:, 2 * i, 2 * j + 1]),
                np.maximum(x[:, 2 * i + 1, 2 * j], x[:, 2 * i + 1, 2 * j + 1]),
            )
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
