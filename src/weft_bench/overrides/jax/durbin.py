# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Durbin's recursion for JAX, where slices must have fixed extents: what is reversed, with zeros behind it, is sliced
where the first k numbers are those wanted and zeros follow.

What is sliced is first laid out anew in every step, which is where most of its time goes.
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
    zeros = np.zeros_like(r)

    def first_reversed(k: Any, numbers: Any) -> Any:
        return lax.dynamic_slice(np.concatenate((numbers[::-1], zeros)), (n - k,), (n,))

    def step(k: Any, state: Any) -> Any:
        y, error = state
        reflection = -(r[k] + first_reversed(k, r) @ y) / error
        y = (y + reflection * first_reversed(k, y)).at[k].set(reflection)
        return y, error * (1.0 - reflection * reflection)

    return lax.fori_loop(1, n, step, (zeros.at[0].set(-r[0]), 1.0 - r[0] * r[0]))[0]
