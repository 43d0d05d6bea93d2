"""Product along the last axis for Pythran, which multiplies matrices alone: the first two axes become one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def mode_product(A: NDArray[Any], M: NDArray[Any]) -> None:
    """Replace each vector `A[i, j]` by its product with M."""
    slabs, rows, basis = A.shape
    A[:] = np.reshape(np.reshape(A, (slabs * rows, basis)) @ M, (slabs, rows, basis))
