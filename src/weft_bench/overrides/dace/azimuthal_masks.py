"""Azimuthal integration by masks for DaCe, which picks by a mask in assignments alone: zeros outside of the ring."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def azimuthal_masks(data: NDArray[Any], radius: NDArray[Any], rings: int) -> NDArray[Any]:
    """All points are looked at once per ring."""
    largest = np.max(radius)
    ones = np.ones_like(data)
    means = np.empty(rings, data.dtype)
    for i in range(rings):
        inner = largest * i / rings
        outer = largest * (i + 1) / rings
        mask = (inner <= radius) & (radius < outer)
        means[i] = np.sum(np.where(mask, data, 0.0)) / np.sum(np.where(mask, ones, 0.0))
    return means
