# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Azimuthal integration by masks for Numba: its parallel mode leaves the loop over the rings alone, so that is shared
out by hand, and the mask becomes a condition.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, parallel=True, cache=True)
def azimuthal_masks(data: NDArray[Any], radius: NDArray[Any], rings: int) -> NDArray[Any]:
    """All points are looked at once per ring."""
    largest = np.max(radius)
    means = np.empty(rings, data.dtype)
    for i in numba.prange(rings):
        inner = largest * i / rings
        outer = largest * (i + 1) / rings
        total, points = 0.0, 0
        for e in range(radius.size):
            if inner <= radius[e] < outer:
                total += data[e]
                points += 1
        means[i] = total / points
    return means
