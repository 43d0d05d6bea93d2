# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Gram-Schmidt for JAX: all later columns lose their part of column k at once, behind a mask."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit
def gram_schmidt(A: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Column by column: Q and R."""
    columns = A.shape[1]
    index = np.arange(columns)

    def column(k: Any, factors: Any) -> Any:
        A, R = factors
        length = np.sqrt(A[:, k] @ A[:, k])
        unit = A[:, k] / length
        A = A.at[:, k].set(unit)
        parts = np.where(index > k, unit @ A, 0.0)
        R = R.at[k].set(parts).at[k, k].set(length)
        return A - np.outer(unit, parts), R

    return lax.fori_loop(0, columns, column, (A, np.zeros((columns, columns), A.dtype)))
