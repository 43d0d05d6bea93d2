# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Durbin's recursion for JAX, where slices must have fixed extents: all are as long as the last, with zeros behind.

The turned vector is carried along instead of being made anew: turning what has grown by one is a shift by one.
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
    zeros = np.zeros_like(r)

    def step(k: Any, state: Any) -> Any:
        y, turned, error = state
        reflection = -(r[k] + r @ turned) / error
        longer = np.concatenate((reflection[None], (turned + reflection * y)[:-1]))
        y = (y + reflection * turned).at[k].set(reflection)
        return y, longer, error * (1.0 - reflection * reflection)

    first = zeros.at[0].set(-r[0])
    return lax.fori_loop(1, r.shape[0], step, (first, first, 1.0 - r[0] * r[0]))[0]
