# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The product along the last axis for JAX: the new A is returned."""

from __future__ import annotations

from typing import Any

import jax
from numpy.typing import NDArray


@jax.jit
def mode_product(A: NDArray[Any], M: NDArray[Any]) -> NDArray[Any]:
    """Each vector `A[i, j]` times M."""
    return A @ M
