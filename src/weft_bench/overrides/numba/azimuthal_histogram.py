# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Azimuthal integration for Numba, whose `np.histogram` knows no weights: both histograms in one loop over the points,
each thread with its own. The ring is guessed from the width and then set right by the edges, as NumPy does.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, cache=True)
def find_ring(r: Any, edges: NDArray[Any], width: Any) -> Any:
    """The ring of radius r: its inner edge belongs to it, its outer one only if it is the last."""
    last = edges.shape[0] - 2
    ring = min(int((r - edges[0]) / width), last)
    if r < edges[ring]:
        return ring - 1
    if ring < last and r >= edges[ring + 1]:
        return ring + 1
    return ring


@numba.njit(fastmath=True, parallel=True, cache=True)
def azimuthal_histogram(data: NDArray[Any], radius: NDArray[Any], rings: int) -> NDArray[Any]:
    """Two histograms and a division."""
    edges = np.linspace(np.min(radius), np.max(radius), rings + 1).astype(radius.dtype)
    width = (edges[-1] - edges[0]) / rings
    parts = numba.get_num_threads()
    points = np.zeros((parts, rings), np.int64)
    total = np.zeros((parts, rings), np.float64)
    for part in numba.prange(parts):
        for e in range(radius.size * part // parts, radius.size * (part + 1) // parts):
            ring = find_ring(radius[e], edges, width)
            points[part, ring] += 1
            total[part, ring] += data[e]
    return np.sum(total, axis=0) / np.sum(points, axis=0)
