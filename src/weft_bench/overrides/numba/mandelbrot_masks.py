# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The Mandelbrot set for Numba, which takes no masks of two dimensions: every point goes through its turns by itself.

Of fastmath it takes the fused multiply-add alone: NumPy's product of complex numbers uses that too, and near the edge
of the set a difference in the last bit grows with every turn.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath={"contract"}, parallel=True, cache=True)
def mandelbrot_masks(
    x: NDArray[Any], y: NDArray[Any], turns: int, horizon: float
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Points that escaped stay as they are."""
    c = x + 1j * y.reshape(y.shape[0], 1)
    z = np.zeros_like(c)
    count = np.zeros(c.shape, np.int64)
    for i in numba.prange(y.shape[0]):
        for j in range(x.shape[0]):
            for _ in range(turns):
                if abs(z[i, j]) >= horizon:
                    break
                z[i, j] = z[i, j] * z[i, j] + c[i, j]
                count[i, j] += 1
    return count, z
