# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The rank-two update for JAX: the new A is returned beside x and w. XLA walks down the columns of A for `A.T @ y`; `y
@ A` is the same along its rows.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from numpy.typing import NDArray


@jax.jit
def rank_two_update(  # noqa: PLR0913, PLR0917 - the letters of the formulas
    alpha: float,
    beta: float,
    A: NDArray[Any],
    u1: NDArray[Any],
    v1: NDArray[Any],
    u2: NDArray[Any],
    v2: NDArray[Any],
    y: NDArray[Any],
    z: NDArray[Any],
) -> tuple[NDArray[Any], tuple[NDArray[Any], NDArray[Any]]]:
    """A + u1 v1^T + u2 v2^T; x = beta A^T y + z and w = alpha A x with the new A."""
    A = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = beta * (y @ A) + z
    w = alpha * (A @ x)
    return A, (x, w)
