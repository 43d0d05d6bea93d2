# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Gauss-Seidel relaxation for JAX: the points of a row, each of which waits for its neighbour, are a scan."""

from __future__ import annotations

from typing import Any

import jax
from jax import lax
from numpy.typing import NDArray


@jax.jit(static_argnames=("steps",))
def seidel_2d(steps: int, u: NDArray[Any], source: NDArray[Any]) -> NDArray[Any]:
    """Sweeps over u; what does not wait for the neighbour on the left is computed a row at a time."""
    rows = u.shape[0]

    def point(left: Any, known: Any) -> Any:
        new = 0.25 * (left + known)
        return new, new

    def row(i: Any, u: Any) -> Any:
        known = u[i - 1, 1:-1] + u[i, 2:] + u[i + 1, 1:-1] - source[i, 1:-1]
        return u.at[i, 1:-1].set(lax.scan(point, u[i, 0], known)[1])

    return lax.fori_loop(0, steps, lambda _, u: lax.fori_loop(1, rows - 1, row, u), u)
