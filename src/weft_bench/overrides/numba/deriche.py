# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Deriche's filter for Numba: the source is taken, but its columns are far apart in memory; in loops every row is
filtered at once, shared out among threads, and the recursion down the rows goes along them.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, parallel=True, cache=True)
def deriche(alpha: Any, image: NDArray[Any]) -> NDArray[Any]:
    """All rows go through the recursion side by side, then all columns."""
    decay = np.exp(-alpha)
    decay2 = decay * decay
    k = (1.0 - decay) ** 2 / (1.0 + 2.0 * alpha * decay - decay2)
    up0, up1 = k, k * decay * (alpha - 1.0)
    down1, down2 = k * decay * (alpha + 1.0), -k * decay2
    near, far = 2.0 * decay, -decay2
    rows, columns = image.shape

    forward = np.empty((rows, columns), image.dtype)
    backward = np.empty((rows, columns), image.dtype)
    smooth = np.empty((rows, columns), image.dtype)
    for i in numba.prange(rows):
        forward[i, 0] = up0 * image[i, 0]
        forward[i, 1] = up0 * image[i, 1] + up1 * image[i, 0] + near * forward[i, 0]
        for j in range(2, columns):
            forward[i, j] = (
                up0 * image[i, j] + up1 * image[i, j - 1] + near * forward[i, j - 1] + far * forward[i, j - 2]
            )
        backward[i, columns - 1] = 0.0
        backward[i, columns - 2] = down1 * image[i, columns - 1]
        for j in range(columns - 3, -1, -1):
            backward[i, j] = (
                down1 * image[i, j + 1] + down2 * image[i, j + 2] + near * backward[i, j + 1] + far * backward[i, j + 2]
            )
        for j in range(columns):
            smooth[i, j] = forward[i, j] + backward[i, j]

    forward[0] = up0 * smooth[0]
    forward[1] = up0 * smooth[1] + up1 * smooth[0] + near * forward[0]
    for i in range(2, rows):
        for j in range(columns):
            forward[i, j] = (
                up0 * smooth[i, j] + up1 * smooth[i - 1, j] + near * forward[i - 1, j] + far * forward[i - 2, j]
            )
    backward[-1] = 0.0
    backward[-2] = down1 * smooth[-1]
    for i in range(rows - 3, -1, -1):
        for j in range(columns):
            backward[i, j] = (
                down1 * smooth[i + 1, j]
                + down2 * smooth[i + 2, j]
                + near * backward[i + 1, j]
                + far * backward[i + 2, j]
            )
    return forward + backward
