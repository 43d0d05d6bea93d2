# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The product along the last axis for Numba, which multiplies matrices only: the first two axes are laid out as one."""

from __future__ import annotations

from typing import Any

import numba
from numpy.typing import NDArray


@numba.njit(fastmath=True, parallel=True, cache=True)
def mode_product(A: NDArray[Any], M: NDArray[Any]) -> None:
    """Replace each vector `A[i, j]` by its product with M."""
    rows = A.reshape(A.shape[0] * A.shape[1], A.shape[2])
    rows[:] = rows @ M
