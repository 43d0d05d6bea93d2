"""Mandelbrot set for DaCe, which picks by a mask in assignments alone: all points step, a mask says which did."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def mandelbrot_masks(
    x: NDArray[Any], y: NDArray[Any], turns: int, horizon: float
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Points that escaped stay as they are."""
    c = x + 1j * y[:, np.newaxis]
    z = np.zeros_like(c)
    count = np.zeros(c.shape, np.int64)
    for _ in range(turns):
        inside = np.abs(z) < horizon
        z[:] = np.where(inside, z * z + c, z)
        count[:] = np.where(inside, count + 1, count)
    return count, z
