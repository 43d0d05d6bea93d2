"""Product along the last axis for DaCe, which multiplies matrices, and batches by batches: two axes become one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def mode_product(A: NDArray[Any], M: NDArray[Any]) -> None:
    """Replace each vector `A[i, j]` by its product with M."""
    rows = np.reshape(A, (A.shape[0] * A.shape[1], A.shape[2]))
    A[:] = np.reshape(rows @ M, (A.shape[0], A.shape[1], A.shape[2]))
