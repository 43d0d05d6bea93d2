# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The Mandelbrot set for JAX: a choice instead of an assignment behind a mask."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit(static_argnames=("turns",))
def mandelbrot_masks(x: NDArray[Any], y: NDArray[Any], turns: int, horizon: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Points that escaped stay as they are."""
    c = x + 1j * y[:, None]

    def turn(_: Any, state: Any) -> Any:
        z, count = state
        inside = np.abs(z) < horizon
        return np.where(inside, z * z + c, z), np.where(inside, count + 1, count)

    z, count = lax.fori_loop(0, turns, turn, (np.zeros_like(c), np.zeros(c.shape, np.int64)))
    return count, z
