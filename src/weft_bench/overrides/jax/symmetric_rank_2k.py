# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A symmetric update for JAX, where slices must have fixed extents: a row of C at a time, all columns at once."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit
def symmetric_rank_2k(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any]) -> NDArray[Any]:
    """Row by row up to the diagonal."""
    index = np.arange(C.shape[0])

    def row(i: Any, C: Any) -> Any:
        new = beta * C[i] + alpha * (A @ B[i]) + alpha * (B @ A[i])
        return C.at[i].set(np.where(index <= i, new, C[i]))

    return lax.fori_loop(0, A.shape[0], row, C)
