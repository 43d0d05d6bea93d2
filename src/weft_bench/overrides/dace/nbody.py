"""Gravitating bodies for DaCe, which computes wrong numbers with the transpose of a part: outer differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def find_acceleration(position: NDArray[Any], mass: NDArray[Any], gravity: float, softening: float) -> NDArray[Any]:
    """The pull of all bodies on each one; `softening` keeps close pairs finite, and a body off itself."""
    dx = np.subtract.outer(position[:, 0], position[:, 0])
    dy = np.subtract.outer(position[:, 1], position[:, 1])
    dz = np.subtract.outer(position[:, 2], position[:, 2])
    inverse_cube = (dx**2 + dy**2 + dz**2 + softening**2) ** -1.5
    pull = np.empty_like(position)
    pull[:, 0] = -gravity * ((dx * inverse_cube) @ mass)
    pull[:, 1] = -gravity * ((dy * inverse_cube) @ mass)
    pull[:, 2] = -gravity * ((dz * inverse_cube) @ mass)
    return pull


def nbody(
    mass: NDArray[Any], position: NDArray[Any], velocity: NDArray[Any], steps: int, dt: float, softening: float
) -> Any:
    """Move the bodies (positions and velocities in place) and return their kinetic energy at the end."""
    pull = find_acceleration(position, mass, 1.0, softening)
    for _ in range(steps):
        velocity += 0.5 * dt * pull
        position += dt * velocity
        pull = find_acceleration(position, mass, 1.0, softening)
        velocity += 0.5 * dt * pull
    return 0.5 * np.sum(mass[:, None] * velocity**2)
