# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Forward substitution for JAX, where slices must have fixed extents: a mask for the part of a row that counts.

Its speed-up is below that of tables for `trisolv`: there is one right-hand side there, and many here, so that NumPy
spends its time in BLAS already, and the mask doubles the work.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit
def triangular_solve(L: NDArray[Any], B: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
    """X row by row; the part of L above the diagonal is not looked at."""
    index = np.arange(L.shape[0])

    def row(i: Any, X: Any) -> Any:
        return X.at[i].set((B[i] - np.where(index < i, L[i], 0.0) @ X) / L[i, i])

    return lax.fori_loop(0, X.shape[0], row, np.zeros_like(X))
