# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Azimuthal integration for JAX, where no array has an extent that depends on data: masked sums and counts."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit(static_argnames=("rings",))
def azimuthal_masks(data: NDArray[Any], radius: NDArray[Any], rings: int) -> NDArray[Any]:
    """All points are looked at once per ring."""
    largest = np.max(radius)

    def mean(i: Any) -> Any:
        inner = largest * i / rings
        outer = largest * (i + 1) / rings
        ring = (inner <= radius) & (radius < outer)
        return np.sum(np.where(ring, data, 0.0)) / np.sum(ring)

    return lax.map(mean, np.arange(rings))
