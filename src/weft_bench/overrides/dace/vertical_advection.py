"""Vertical advection for DaCe, where a name keeps its array: no names carried over the levels, the last by itself."""

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
    floor = 0.125 * (wind[1:, :, 1] + wind[:-1, :, 1])
    above[:, :, 0] = floor / (rate - floor)
    lowest = rate * start[:, :, 0] + other[:, :, 0] + stage[:, :, 0] - floor * (now[:, :, 1] - now[:, :, 0])
    right[:, :, 0] = lowest / (rate - floor)

    for k in range(1, now.shape[2] - 1):
        below = 0.125 * (wind[1:, :, k] + wind[:-1, :, k])
        half = 0.125 * (wind[1:, :, k + 1] + wind[:-1, :, k + 1])
        came = rate * start[:, :, k] + other[:, :, k] + stage[:, :, k] - below * (now[:, :, k] - now[:, :, k - 1])
        known = came - half * (now[:, :, k + 1] - now[:, :, k])
        pivot = rate + below + below * above[:, :, k - 1] - half
        above[:, :, k] = half / pivot
        right[:, :, k] = (known + below * right[:, :, k - 1]) / pivot

    roof = 0.125 * (wind[1:, :, now.shape[2] - 1] + wind[:-1, :, now.shape[2] - 1])
    highest = rate * start[:, :, -1] + other[:, :, -1] + stage[:, :, -1] - roof * (now[:, :, -1] - now[:, :, -2])
    right[:, :, -1] = (highest + roof * right[:, :, -2]) / (rate + roof + roof * above[:, :, -2])

    for k in range(now.shape[2] - 2, -1, -1):
        right[:, :, k] = right[:, :, k] - above[:, :, k] * right[:, :, k + 1]
    stage[:] = rate * (right - start)
