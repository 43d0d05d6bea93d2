# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The Mandelbrot set for Numba: every point goes through its turns by itself, so that nothing has to shrink.

Of fastmath it takes the fused multiply-add alone: NumPy's product of complex numbers uses that too, and near the edge
of the set a difference in the last bit grows with every turn.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath={"contract"}, parallel=True, cache=True)
def mandelbrot_shrinking(
    x: NDArray[Any], y: NDArray[Any], turns: int, horizon: float
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Points that escaped are left."""
    c = x + 1j * y.reshape(y.shape[0], 1)
    escape = np.zeros(c.shape, np.int64)
    last = np.zeros_like(c)
    for i in numba.prange(y.shape[0]):
        for j in range(x.shape[0]):
            z = 0.0 * c[i, j]
            for turn in range(1, turns + 1):
                z = z * z + c[i, j]
                if abs(z) > horizon:
                    escape[i, j] = turn
                    last[i, j] = z
                    break
    return escape, last
