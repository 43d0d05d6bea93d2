# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Electromagnetic waves for JAX: a scan over the source that carries the fields."""

from __future__ import annotations

from typing import Any

import jax
from jax import lax
from numpy.typing import NDArray


@jax.jit
def fdtd_2d(
    ex: NDArray[Any], ey: NDArray[Any], hz: NDArray[Any], source: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """One step per number in `source`, which drives the first edge; the other edges keep their field.

    `ex` lies between the columns of `hz` and has one more of them; `ey` between its rows and has one more of those.
    """

    def step(fields: Any, pulse: Any) -> Any:
        ex, ey, hz = fields
        ey = ey.at[0].set(pulse)
        ey = ey.at[1:-1].add(-0.5 * (hz[1:] - hz[:-1]))
        ex = ex.at[:, 1:-1].add(0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz + 0.7 * (ex[:, 1:] - ex[:, :-1] - ey[1:] + ey[:-1])
        return (ex, ey, hz), None

    return lax.scan(step, (ex, ey, hz), source)[0]
