"""Rank-two update and products for DaCe, which has outer products as those of a ufunc."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


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
) -> tuple[NDArray[Any], NDArray[Any]]:
    """A + u1 v1^T + u2 v2^T in place of A; x = beta A^T y + z and w = alpha A x with the new A."""
    A[:] = A + np.multiply.outer(u1, v1) + np.multiply.outer(u2, v2)
    x = beta * (y @ A) + z
    w = alpha * (A @ x)
    return x, w
