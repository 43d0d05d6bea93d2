# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A symmetric matrix times another for JAX, where slices must have fixed extents: a row of A at a time, for all
columns, behind masks.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit
def symmetric_product(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any]) -> NDArray[Any]:
    """A number of A left of the diagonal serves both places it stands for."""
    index = np.arange(C.shape[0])

    def row(i: Any, C: Any) -> Any:
        C = C + np.outer(np.where(index < i, A[i], 0.0), alpha * B[i])
        return C.at[i].add(alpha * (np.where(index <= i, A[i], 0.0) @ B))

    return lax.fori_loop(0, C.shape[0], row, beta * C)
