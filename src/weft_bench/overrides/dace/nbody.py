"""Gravitating bodies for DaCe, which computes wrong positions from updates in place of rebound names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def nbody(
    mass: NDArray[Any], position: NDArray[Any], velocity: NDArray[Any], steps: int, dt: float, softening: float
) -> Any:
    """Move the bodies (positions and velocities in place) and return their kinetic energy at the end."""
    pull = np.empty_like(position)
    find_acceleration(position, mass, 1.0, softening, pull)
    for _ in range(steps):
        velocity[:] = velocity + 0.5 * dt * pull
        position[:] = position + dt * velocity
        find_acceleration(position, mass, 1.0, softening, pull)
        velocity[:] = velocity + 0.5 * dt * pull
    return 0.5 * np.sum(mass[:, np.newaxis] * velocity * velocity)


def find_acceleration(
    position: NDArray[Any], mass: NDArray[Any], gravity: float, softening: float, pull: NDArray[Any]
) -> None:
    """The pull of all bodies on each one; `softening` keeps close pairs finite, and a body off itself."""
    dx = np.subtract.outer(position[:, 0], position[:, 0])
    dy = np.subtract.outer(position[:, 1], position[:, 1])
    dz = np.subtract.outer(position[:, 2], position[:, 2])
    inverse_cube = (dx * dx + dy * dy + dz * dz + softening * softening) ** (-1.5)
    pull[:, 0] = -gravity * ((dx * inverse_cube) @ mass)
    pull[:, 1] = -gravity * ((dy * inverse_cube) @ mass)
    pull[:, 2] = -gravity * ((dz * inverse_cube) @ mass)
