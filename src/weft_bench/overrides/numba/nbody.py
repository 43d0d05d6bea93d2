# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Gravitating bodies for Numba, whose parallel mode takes a column and a row that broadcast for a mismatch: a loop over
the bodies, shared out, in place of matrices of all pairs.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, parallel=True, cache=True)
def find_acceleration(position: NDArray[Any], mass: NDArray[Any], gravity: float, softening: float) -> NDArray[Any]:
    """The pull of all bodies on each one; `softening` keeps close pairs finite, and a body off itself."""
    x, y, z = position[:, 0].copy(), position[:, 1].copy(), position[:, 2].copy()
    pull = np.empty_like(position)
    for i in numba.prange(position.shape[0]):
        dx, dy, dz = x - x[i], y - y[i], z - z[i]
        strength = gravity * mass * (dx**2 + dy**2 + dz**2 + softening**2) ** -1.5
        pull[i, 0] = np.sum(dx * strength)
        pull[i, 1] = np.sum(dy * strength)
        pull[i, 2] = np.sum(dz * strength)
    return pull


@numba.njit(fastmath=True, parallel=True, cache=True)
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
    return 0.5 * np.sum(mass.reshape(mass.shape[0], 1) * velocity**2)
