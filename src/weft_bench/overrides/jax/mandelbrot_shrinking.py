# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The Mandelbrot set for JAX, where no array has an extent that depends on data: points that escaped are masked."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit(static_argnames=("turns",))
def mandelbrot_shrinking(
    x: NDArray[Any], y: NDArray[Any], turns: int, horizon: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The whole grid in every turn."""
    c = x + 1j * y[:, None]

    def step(turn: Any, state: Any) -> Any:
        z, escape, last = state
        z = z * z + c
        gone = (escape == 0) & (np.abs(z) > horizon)
        escape = np.where(gone, turn, escape)
        last = np.where(gone, z, last)
        return np.where(escape > 0, 0.0, z), escape, last

    zeros = np.zeros_like(c)
    return lax.fori_loop(1, turns + 1, step, (zeros, np.zeros(c.shape, np.int64), zeros))[1:]
