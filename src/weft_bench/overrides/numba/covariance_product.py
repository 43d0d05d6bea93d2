# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Covariances by a product for Numba, which has no `np.mean` along an axis: a sum along it, divided."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, parallel=True, cache=True)
def covariance_product(data: NDArray[Any]) -> NDArray[Any]:
    """Centre, multiply, scale."""
    centred = data - np.sum(data, axis=0) / data.shape[0]
    return centred.T @ centred / (data.shape[0] - 1)
