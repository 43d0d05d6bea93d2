"""Iterated maps in other words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def escape(c: Any, turns: int, horizon: float) -> tuple[int, Any]:
    """How many turns one point takes part in, and where it ends."""
    z = 0j
    for turn in range(turns):
        if not abs(z) < horizon:
            return turn, z
        z = z * z + c
    return turns, z


def mandelbrot_masks(
    x: NDArray[Any], y: NDArray[Any], turns: int, horizon: float
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Point by point."""
    plane = x[np.newaxis, :] + 1j * y[:, np.newaxis]
    counts = np.zeros(plane.shape, dtype=np.int64)
    ends = np.zeros_like(plane)
    for i in range(plane.shape[0]):
        for j in range(plane.shape[1]):
            counts[i, j], ends[i, j] = escape(plane[i, j], turns, horizon)
    return counts, ends


def mandelbrot_shrinking(
    x: NDArray[Any], y: NDArray[Any], turns: int, horizon: float
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The whole plane in every turn; masks say who is left and who just escaped."""
    real, imaginary = np.meshgrid(x, y)
    c = real + 1j * imaginary
    z = np.zeros(c.shape, c.dtype)
    noted, turn_of = z.copy(), np.zeros(c.shape, np.int64)
    left = np.ones(c.shape, dtype=bool)
    for turn in range(1, turns + 1):
        z = np.where(left, z * z + c, z)
        gone = np.logical_and(left, np.abs(z) > horizon)
        turn_of[gone] = turn
        noted[gone] = z[gone]
        left &= ~gone
        if not left.any():
            break
    return turn_of, noted
