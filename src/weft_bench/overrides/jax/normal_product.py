# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The normal equations for JAX: XLA walks down the columns of A for `A.T @ v`; `v @ A` is the same along its rows."""

from __future__ import annotations

from typing import Any

import jax
from numpy.typing import NDArray


@jax.jit
def normal_product(A: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """A new vector, as long as x."""
    return (A @ x) @ A
