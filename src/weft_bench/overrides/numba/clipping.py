# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The clipped weighted sum for Numba: `np.clip` is taken, but is a call of its own that is not shared out; the smaller
and the larger of two numbers become part of the one loop over all elements.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, parallel=True, cache=True)
def clipping(
    a: NDArray[Any], b: NDArray[Any], low: float, high: float, gain: float, weight: float, offset: float
) -> NDArray[Any]:
    """Element by element, into a new array."""
    return np.minimum(np.maximum(a, low), high) * gain + b * weight + offset
