# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A convolutional layer for JAX: its loop over the places of the image would be unrolled, so there is one over the
places of the window.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from numpy.typing import NDArray


def convolve(x: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """For all images, places and filters at once, a sum over the places of the window."""
    size = weights.shape[0]
    rows, columns = x.shape[1] - size + 1, x.shape[2] - size + 1
    y = np.zeros((x.shape[0], rows, columns, weights.shape[3]), x.dtype)
    for a in range(size):
        for b in range(size):
            y += x[:, a : a + rows, b : b + columns] @ weights[a, b]
    return y


@jax.jit
def convolution(x: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any]) -> NDArray[Any]:
    """All windows, and the bias."""
    return convolve(x, weights) + bias
