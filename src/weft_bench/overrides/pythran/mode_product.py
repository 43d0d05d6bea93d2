"""Product along the last axis for Pythran, which multiplies matrices alone: the first two axes become one."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def mode_product(A: NDArray[Any], M: NDArray[Any]) -> None:
    """Replace each vector `A[i, j]` by its product with M."""
    slabs, rows, basis = A.shape
    A[:] = (A.reshape(slabs * rows, basis) @ M).reshape(slabs, rows, basis)
