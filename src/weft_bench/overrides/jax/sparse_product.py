# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A sparse matrix times a vector for JAX: the products of all entries at once, added up by row."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from numpy.typing import NDArray


@jax.jit
def sparse_product(starts: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """The row of every entry is found from `starts`."""
    rows = starts.shape[0] - 1
    row = np.repeat(np.arange(rows), np.diff(starts), total_repeat_length=columns.shape[0])
    return jax.ops.segment_sum(values * x[columns], row, rows, indices_are_sorted=True)
