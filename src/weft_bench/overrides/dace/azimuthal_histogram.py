"""Azimuthal integration for DaCe, which has no `np.histogram`: both histograms in one loop over the points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def azimuthal_histogram(data: NDArray[Any], radius: NDArray[Any], rings: int) -> NDArray[Any]:
    """One pass over the points; a ring found by division is set right by its edges, as NumPy does."""
    lowest = np.min(radius)
    largest = np.max(radius)
    step = (largest - lowest) / rings
    points = np.zeros(rings, np.int64)
    total = np.zeros(rings, data.dtype)
    for i in range(len(radius)):
        place = min(int((radius[i] - lowest) / step), rings - 1)
        if radius[i] < lowest + place * step:
            place = place - 1
        elif place < rings - 1 and radius[i] >= lowest + (place + 1) * step:
            place = place + 1
        points[place] += 1
        total[place] += data[i]
    return total / points
