# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Products with a matrix and its transpose for JAX: the new x and u are returned. XLA walks down the columns of A for
`A.T @ v`; `v @ A` is the same along its rows.
"""

from __future__ import annotations

from typing import Any

import jax
from numpy.typing import NDArray


@jax.jit
def transposed_products(
    A: NDArray[Any], x: NDArray[Any], y: NDArray[Any], u: NDArray[Any], v: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The new x and u."""
    return x + A @ y, u + v @ A
