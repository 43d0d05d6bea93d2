"""Vertical advection for DaCe, where a name keeps its array: copies instead of names, the last level by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def vertical_advection(
    rate: float, wind: NDArray[Any], now: NDArray[Any], start: NDArray[Any], other: NDArray[Any], stage: NDArray[Any]
) -> None:
    """Level by level: `above` and `right` are the rows of the system after elimination, divided by the diagonal."""
    above = np.empty_like(now)
    right = np.empty_like(now)
    below = np.empty((now.shape[0], now.shape[1]), now.dtype)
    half = 0.125 * (wind[1:, :, 1] + wind[:-1, :, 1])
    pivot = rate - half
    above[:, :, 0] = half / pivot
    known = rate * start[:, :, 0] + other[:, :, 0] + stage[:, :, 0] - half * (now[:, :, 1] - now[:, :, 0])
    right[:, :, 0] = known / pivot

    for k in range(1, now.shape[2] - 1):
        below[:] = half
        half[:] = 0.125 * (wind[1:, :, k + 1] + wind[:-1, :, k + 1])
        known[:] = rate * start[:, :, k] + other[:, :, k] + stage[:, :, k] - below * (now[:, :, k] - now[:, :, k - 1])
        known[:] = known - half * (now[:, :, k + 1] - now[:, :, k])
        pivot[:] = rate + below + below * above[:, :, k - 1] - half
        above[:, :, k] = half / pivot
        right[:, :, k] = (known + below * right[:, :, k - 1]) / pivot

    known[:] = rate * start[:, :, -1] + other[:, :, -1] + stage[:, :, -1] - half * (now[:, :, -1] - now[:, :, -2])
    pivot[:] = rate + half + half * above[:, :, -2]
    right[:, :, -1] = (known + half * right[:, :, -2]) / pivot

    solved = np.empty((now.shape[0], now.shape[1]), now.dtype)
    solved[:] = right[:, :, -1]
    stage[:, :, -1] = rate * (solved - start[:, :, -1])
    for k in range(now.shape[2] - 2, -1, -1):
        solved[:] = right[:, :, k] - above[:, :, k] * solved
        stage[:, :, k] = rate * (solved - start[:, :, k])
