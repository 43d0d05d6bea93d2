# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Jacobi relaxation for JAX: a loop that carries A and B."""

from __future__ import annotations

from typing import Any

import jax
from jax import lax
from numpy.typing import NDArray


@jax.jit(static_argnames=("steps",))
def jacobi_1d(steps: int, A: NDArray[Any], B: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two half steps per turn, from A to B and back."""

    def turn(_: Any, lines: Any) -> Any:
        A, B = lines
        B = B.at[1:-1].set((A[:-2] + A[1:-1] + A[2:]) / 3.0)
        A = A.at[1:-1].set((B[:-2] + B[1:-1] + B[2:]) / 3.0)
        return A, B

    return lax.fori_loop(0, steps, turn, (A, B))
