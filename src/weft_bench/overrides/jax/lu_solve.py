# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A linear system by LU factorisation for JAX, where slices must have fixed extents and a loop over scalars is slow: a
row of U and a column of L at a time, with masks for the part that is done. Every entry is the same sum as in the
original.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


def factorise(A: NDArray[Any]) -> NDArray[Any]:
    """U on and above the diagonal, below it L less its ones; step k gives row k of U and column k of L."""
    n = A.shape[0]
    index = np.arange(n)

    def step(k: Any, A: Any) -> Any:
        row = A[k] - np.where(index < k, A[k], 0.0) @ A
        A = A.at[k].set(np.where(index >= k, row, A[k]))
        column = (A[:, k] - A @ np.where(index < k, A[:, k], 0.0)) / A[k, k]
        return A.at[:, k].set(np.where(index > k, column, A[:, k]))

    return lax.fori_loop(0, n, step, A)


@jax.jit
def lu_solve(A: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Factorise, then substitute: the factors and x."""
    n = A.shape[0]
    index = np.arange(n)
    A = factorise(A)

    def forward(i: Any, y: Any) -> Any:
        return y.at[i].set(b[i] - np.where(index < i, A[i], 0.0) @ y)

    def backward(step: Any, x: Any) -> Any:
        i = n - 1 - step
        return x.at[i].set((y[i] - np.where(index > i, A[i], 0.0) @ x) / A[i, i])

    y = lax.fori_loop(0, n, forward, np.zeros_like(b))
    return A, lax.fori_loop(0, n, backward, np.zeros_like(b))
