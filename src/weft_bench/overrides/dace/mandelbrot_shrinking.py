"""Mandelbrot set for DaCe, which has no arrays of changing size: all points step, a mask says which are left."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def mandelbrot_shrinking(
    x: NDArray[Any], y: NDArray[Any], turns: int, horizon: float
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """`escape` is 0 for the points that are left."""
    c = x + 1j * y[:, np.newaxis]
    z = np.zeros_like(c)
    escape = np.zeros(c.shape, np.int64)
    last = np.zeros_like(c)
    for turn in range(1, turns + 1):
        z[:] = np.where(escape == 0, z * z + c, z)
        gone = (escape == 0) & (np.abs(z) > horizon)
        escape[gone] = turn
        last[:] = np.where(gone, z, last)
    return escape, last
