# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Two matrix products for JAX: the new D is returned."""

from __future__ import annotations

from typing import Any

import jax
from numpy.typing import NDArray


@jax.jit
def two_products(
    alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any], D: NDArray[Any]
) -> NDArray[Any]:
    """The new D."""
    return alpha * A @ B @ C + beta * D
