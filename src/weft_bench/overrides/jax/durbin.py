# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Durbin's recursion for JAX, where slices must have fixed extents: what is reversed from k on is rolled into place,
and a mask hides the rest.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit
def durbin(r: NDArray[Any]) -> NDArray[Any]:
    """The y with T y = -r, where T is symmetric with ones on its diagonal and `r[k - 1]` on the k-th beside it."""
    n = r.shape[0]
    index = np.arange(n)

    def step(k: Any, state: Any) -> Any:
        y, error = state
        reflection = -(r[k] + np.where(index < k, np.roll(r[::-1], k), 0.0) @ y) / error
        y = y + reflection * np.where(index < k, np.roll(y[::-1], k), 0.0)
        y = y.at[k].set(reflection)
        return y, error * (1.0 - reflection * reflection)

    first = np.zeros_like(r).at[0].set(-r[0])
    return lax.fori_loop(1, n, step, (first, 1.0 - r[0] * r[0]))[0]
