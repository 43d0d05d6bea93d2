# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Covariances for JAX, where slices must have fixed extents: a whole row of the result at a time."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit
def covariance(data: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The centred data and the covariances."""
    observations, variables = data.shape
    data = data - np.mean(data, axis=0)

    def row(i: Any, result: Any) -> Any:
        return result.at[i].set(data[:, i] @ data / (observations - 1))

    result = lax.fori_loop(0, variables, row, np.empty((variables, variables), data.dtype))
    return data, result
