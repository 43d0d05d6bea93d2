"""Azimuthal integration by masks for DaCe, which picks by a mask in assignments alone: the mask becomes weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def azimuthal_masks(data: NDArray[Any], radius: NDArray[Any], rings: int) -> NDArray[Any]:
    """All points are looked at once per ring."""
    largest = np.max(radius)
    means = np.empty(rings, data.dtype)
    for i in range(rings):
        inner = largest * i / rings
        outer = largest * (i + 1) / rings
        weight = np.where((inner <= radius) & (radius < outer), 1.0, 0.0)
        means[i] = np.sum(weight * data) / np.sum(weight)
    return means
