# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Azimuthal integration by masks for DaCe, which picks by a mask in assignments alone: point by point; `dace.map`
shares out the rings.

The largest radius is found by a loop as well: DaCe's `np.max` is an atomic maximum per point.
"""

from __future__ import annotations

from typing import Any

import dace
import numpy as np
from numpy.typing import NDArray


def azimuthal_masks(data: NDArray[Any], radius: NDArray[Any], rings: int) -> NDArray[Any]:
    """All points are looked at once per ring."""
    largest = radius[0]
    for j in range(len(radius)):
        largest = max(largest, radius[j])
    means = np.empty(rings, data.dtype)
    for i in dace.map[0:rings]:
        inner = largest * i / rings
        outer = largest * (i + 1) / rings
        total = 0.0
        points = 0.0
        for j in range(len(radius)):
            if inner <= radius[j] and radius[j] < outer:
                total += data[j]
                points += 1.0
        means[i] = total / points
    return means
