"""Clipped weighted sum for DaCe, which has no `np.clip`: a maximum and a minimum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def clipping(
    a: NDArray[Any], b: NDArray[Any], low: float, high: float, gain: float, weight: float, offset: float
) -> NDArray[Any]:
    """Element by element, into a new array."""
    return np.minimum(np.maximum(a, low), high) * gain + b * weight + offset
