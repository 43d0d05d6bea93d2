# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The matrix product update for JAX: the new C is returned."""

from __future__ import annotations

from typing import Any

import jax
from numpy.typing import NDArray


@jax.jit
def matrix_product(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any]) -> NDArray[Any]:
    """The new C."""
    return alpha * A @ B + beta * C
