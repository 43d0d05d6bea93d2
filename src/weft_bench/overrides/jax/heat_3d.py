# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Heat in a box for JAX: a loop that carries A and B."""

from __future__ import annotations

from typing import Any

import jax
from jax import lax
from numpy.typing import NDArray


def step_heat(number: float, old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """One step; the surface of the box keeps its temperature."""
    inner = old[1:-1, 1:-1, 1:-1]
    return new.at[1:-1, 1:-1, 1:-1].set(
        inner
        + number
        * (
            (old[2:, 1:-1, 1:-1] - 2.0 * inner + old[:-2, 1:-1, 1:-1])
            + (old[1:-1, 2:, 1:-1] - 2.0 * inner + old[1:-1, :-2, 1:-1])
            + (old[1:-1, 1:-1, 2:] - 2.0 * inner + old[1:-1, 1:-1, :-2])
        )
    )


@jax.jit(static_argnames=("steps",))
def heat_3d(steps: int, number: float, A: NDArray[Any], B: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two steps per turn, from A to B and back; `number` is diffusivity times step over the square of the spacing."""

    def turn(_: Any, boxes: Any) -> Any:
        A, B = boxes
        B = step_heat(number, A, B)
        A = step_heat(number, B, A)
        return A, B

    return lax.fori_loop(0, steps, turn, (A, B))
