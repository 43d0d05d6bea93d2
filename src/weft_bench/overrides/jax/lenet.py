# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""LeNet-5 for JAX: its loops over the places of the image would be unrolled, so there is one over those of the window,
and the pools are maxima over axes of their own.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from numpy.typing import NDArray


def relu(x: NDArray[Any]) -> NDArray[Any]:
    """What is negative becomes zero."""
    return np.maximum(x, 0.0)


def convolve(x: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """For all images, places and filters at once, a sum over the places of the window."""
    size = weights.shape[0]
    rows, columns = x.shape[1] - size + 1, x.shape[2] - size + 1
    y = np.zeros((x.shape[0], rows, columns, weights.shape[3]), x.dtype)
    for a in range(size):
        for b in range(size):
            y += x[:, a : a + rows, b : b + columns] @ weights[a, b]
    return y


def pool(x: NDArray[Any]) -> NDArray[Any]:
    """The largest of every block of two by two."""
    rows, columns = x.shape[1] // 2, x.shape[2] // 2
    blocks = x[:, : 2 * rows, : 2 * columns].reshape(x.shape[0], rows, 2, columns, 2, x.shape[3])
    return np.max(blocks, axis=(2, 4))


@jax.jit
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
    x = pool(relu(convolve(x, w1) + b1))
    x = pool(relu(convolve(x, w2) + b2))
    x = np.reshape(x, (x.shape[0], x.shape[1] * x.shape[2] * x.shape[3]))
    x = relu(x @ w3 + b3)
    x = relu(x @ w4 + b4)
    return x @ w5 + b5
