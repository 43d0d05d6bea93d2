# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Jacobi relaxation for JAX: a loop that carries A and B."""

from __future__ import annotations

from typing import Any

import jax
from jax import lax
from numpy.typing import NDArray


@jax.jit(static_argnames=("steps",))
def jacobi_2d(steps: int, A: NDArray[Any], B: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two half steps per turn, from A to B and back."""

    def turn(_: Any, planes: Any) -> Any:
        A, B = planes
        B = B.at[1:-1, 1:-1].set(0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]))
        A = A.at[1:-1, 1:-1].set(0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]))
        return A, B

    return lax.fori_loop(1, steps, turn, (A, B))
