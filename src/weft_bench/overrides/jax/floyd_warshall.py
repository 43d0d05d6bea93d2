# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Shortest paths for JAX: a loop that carries the lengths."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit
def floyd_warshall(path: NDArray[Any]) -> NDArray[Any]:
    """The lengths of the shortest paths."""

    def stop(k: Any, path: Any) -> Any:
        return np.minimum(path, path[:, k, None] + path[k, :])

    return lax.fori_loop(0, path.shape[0], stop, path)
