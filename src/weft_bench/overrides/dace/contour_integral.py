"""Moments along a contour for DaCe, which takes `shape[0]` of a vector for data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def solve(matrix: NDArray[Any], Y: NDArray[Any]) -> NDArray[Any]:
    """The X with matrix X = Y."""
    return np.linalg.solve(matrix, Y)


def contour_integral(
    H: NDArray[Any], Y: NDArray[Any], z: NDArray[Any], weight: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """A linear system per point; the polynomial is summed up from its highest power."""
    moment0 = np.zeros_like(Y)
    moment1 = np.zeros_like(Y)
    for k in range(len(z)):
        matrix = np.zeros_like(H[0])
        for term in range(H.shape[0] - 1, -1, -1):
            matrix[:] = z[k] * matrix + H[term]
        X = weight[k] * solve(matrix, Y)
        moment0 += X
        moment1 += z[k] * X
    return moment0, moment1
