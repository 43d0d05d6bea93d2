# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""LU factorisation for JAX, where slices must have fixed extents and a loop over scalars is slow: a row of U and a
column of L at a time, with masks for the part that is done. Every entry is the same sum as in the original.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


def factorise(A: NDArray[Any]) -> NDArray[Any]:
    """U on and above the diagonal, below it L less its ones; step k gives row k of U and column k of L."""
    n = A.shape[0]
    index = np.arange(n)

    def step(k: Any, A: Any) -> Any:
        row = A[k] - np.where(index < k, A[k], 0.0) @ A
        A = A.at[k].set(np.where(index >= k, row, A[k]))
        column = (A[:, k] - A @ np.where(index < k, A[:, k], 0.0)) / A[k, k]
        return A.at[:, k].set(np.where(index > k, column, A[:, k]))

    return lax.fori_loop(0, n, step, A)


@jax.jit
def lu(A: NDArray[Any]) -> NDArray[Any]:
    """Factorise A without pivots."""
    return factorise(A)
