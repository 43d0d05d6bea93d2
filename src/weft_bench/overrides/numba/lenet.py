# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""LeNet-5 for Numba, which has no `np.sum` and `np.max` along several axes: loops in their place, with those over
images shared out; the dense layers are NumPy's.
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
def convolve(x: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """Place after place."""
    size = weights.shape[0]
    rows, columns = x.shape[1] - size + 1, x.shape[2] - size + 1
    y = np.empty((x.shape[0], rows, columns, weights.shape[3]), x.dtype)
    for n in numba.prange(x.shape[0]):
        for i in range(rows):
            for j in range(columns):
                y[n, i, j] = 0.0
                for a in range(size):
                    for b in range(size):
                        for c in range(x.shape[3]):
                            for f in range(weights.shape[3]):
                                y[n, i, j, f] += x[n, i + a, j + b, c] * weights[a, b, c, f]
    return y


@numba.njit(fastmath=True, cache=True)
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


@numba.njit(fastmath=True, cache=True)
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
    flat = np.reshape(x, (x.shape[0], x.shape[1] * x.shape[2] * x.shape[3]))
    flat = relu(flat @ w3 + b3)
    flat = relu(flat @ w4 + b4)
    return flat @ w5 + b5
