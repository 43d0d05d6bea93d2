# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Vertical advection for JAX: elimination and substitution are scans over the levels, which come first."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit
def vertical_advection(
    rate: float, wind: NDArray[Any], now: NDArray[Any], start: NDArray[Any], other: NDArray[Any], stage: NDArray[Any]
) -> NDArray[Any]:
    """Level by level: `above` and `right` are the rows of the system after elimination, divided by the diagonal."""
    wind, now, start, other, stage = (np.moveaxis(field, 2, 0) for field in (wind, now, start, other, stage))
    half = 0.125 * (wind[1:-1, 1:] + wind[1:-1, :-1])
    flux = half * (now[1:] - now[:-1])
    nothing = np.zeros_like(now[:1])
    below, upper = np.concatenate((nothing, half)), np.concatenate((half, nothing))
    known = rate * start + other + stage - np.concatenate((nothing, flux)) - np.concatenate((flux, nothing))

    def eliminate(state: Any, level: Any) -> Any:
        above, right = state
        below, upper, known = level
        pivot = rate + below + below * above - upper
        new = upper / pivot, (known + below * right) / pivot
        return new, new

    def substitute(higher: Any, row: Any) -> Any:
        above, right = row
        new = right - above * higher
        return new, new

    rows = lax.scan(eliminate, (nothing[0], nothing[0]), (below, upper, known))[1]
    new = lax.scan(substitute, nothing[0], rows, reverse=True)[1]
    return np.moveaxis(rate * (new - start), 0, 2)
