# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Correlations for JAX, where slices must have fixed extents: a whole row of the result at a time."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit
def correlation(data: NDArray[Any]) -> NDArray[Any]:
    """Row by row; the diagonal is set to ones."""
    observations, variables = data.shape
    deviation = np.std(data, axis=0)
    scores = (data - np.mean(data, axis=0)) / np.where(deviation == 0.0, 1.0, deviation)

    def row(i: Any, result: Any) -> Any:
        return result.at[i].set(scores[:, i] @ scores / observations)

    result = lax.fori_loop(0, variables, row, np.empty((variables, variables), data.dtype))
    return np.where(np.eye(variables, dtype=bool), 1.0, result)
