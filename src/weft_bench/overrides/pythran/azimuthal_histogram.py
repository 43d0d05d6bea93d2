"""Azimuthal integration for Pythran, which has no `np.histogram`: both histograms in one loop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def azimuthal_histogram(data: NDArray[Any], radius: NDArray[Any], rings: int) -> NDArray[Any]:
    """One pass over the points; a ring found by division is set right by its edges, as NumPy does."""
    lowest, largest = np.min(radius), np.max(radius)
    edges = np.linspace(lowest, largest, rings + 1)  # pyright: ignore[reportUnknownVariableType] - from Any
    per_unit = rings / (largest - lowest)
    points = np.zeros(rings, np.int64)
    total = np.zeros(rings, data.dtype)
    for i in range(radius.shape[0]):
        ring = min(int((radius[i] - lowest) * per_unit), rings - 1)
        if radius[i] < edges[ring]:
            ring -= 1
        elif ring < rings - 1 and radius[i] >= edges[ring + 1]:
            ring += 1
        points[ring] += 1
        total[ring] += data[i]
    return total / points
