# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Gravitating bodies for JAX: a loop that carries the positions, the velocities and the pull. A power of -1.5 is slow
in XLA, a reciprocal root is not.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


def find_acceleration(position: NDArray[Any], mass: NDArray[Any], gravity: float, softening: float) -> NDArray[Any]:
    """The pull of all bodies on each one; `softening` keeps close pairs finite, and a body off itself."""
    x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inverse_cube = lax.rsqrt(dx**2 + dy**2 + dz**2 + softening**2) ** 3
    pulls = [gravity * ((d * inverse_cube) @ mass) for d in (dx, dy, dz)]
    return np.stack(pulls, axis=1)


@jax.jit(static_argnames=("steps",))
def nbody(
    mass: NDArray[Any], position: NDArray[Any], velocity: NDArray[Any], steps: int, dt: float, softening: float
) -> tuple[NDArray[Any], NDArray[Any], Any]:
    """Move the bodies: positions, velocities and their kinetic energy at the end."""

    def step(_: Any, bodies: Any) -> Any:
        position, velocity, pull = bodies
        velocity += 0.5 * dt * pull
        position += dt * velocity
        pull = find_acceleration(position, mass, 1.0, softening)
        velocity += 0.5 * dt * pull
        return position, velocity, pull

    pull = find_acceleration(position, mass, 1.0, softening)
    position, velocity, _ = lax.fori_loop(0, steps, step, (position, velocity, pull))
    return position, velocity, 0.5 * np.sum(mass[:, None] * velocity**2)
