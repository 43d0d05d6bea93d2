# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Cholesky factorisation for JAX, where slices must have fixed extents and a loop over scalars is slow: column by
column, with masks for the part that is done. Every entry is the same sum as in the original.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit
def cholesky(A: NDArray[Any]) -> NDArray[Any]:
    """L in the lower triangle of A; the upper one is not looked at."""
    n = A.shape[0]
    index = np.arange(n)

    def column(j: Any, A: Any) -> Any:
        rest = A[:, j] - A @ np.where(index < j, A[j], 0.0)
        pivot = np.sqrt(rest[j])
        below = np.where(index > j, rest / pivot, A[:, j])
        return A.at[:, j].set(np.where(index == j, pivot, below))

    return lax.fori_loop(0, n, column, A)
