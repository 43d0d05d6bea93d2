# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A product with a triangular matrix for JAX, where slices must have fixed extents: a row of B at a time, behind a mask
that lets column i of A through below the diagonal.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit
def triangular_product(alpha: float, A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
    """From the first row on, since each only needs those below it, which are still the old ones."""
    index = np.arange(B.shape[0])

    def row(i: Any, B: Any) -> Any:
        return B.at[i].add(np.where(index > i, A[:, i], 0.0) @ B)

    return alpha * lax.fori_loop(0, B.shape[0], row, B)
