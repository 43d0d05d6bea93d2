"""Bodies and particles in other words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def nbody(
    mass: NDArray[Any], position: NDArray[Any], velocity: NDArray[Any], steps: int, dt: float, softening: float
) -> Any:
    """One body after the other; its distances to all others are the rows of one array."""

    def accelerations() -> NDArray[Any]:
        pulls = np.zeros(position.shape, position.dtype)
        for i, here in enumerate(position):
            away = position - here
            squares = (away * away).sum(axis=1) + softening * softening
            pulls[i] = np.dot(mass / (squares * np.sqrt(squares)), away)
        return pulls

    half = dt / 2
    pull = accelerations()
    for _ in range(steps):
        velocity[...] += half * pull
        position[...] += dt * velocity
        pull = accelerations()
        velocity[...] += half * pull
    return 0.5 * np.einsum("i,ij,ij->", mass, velocity, velocity)


def self_energies(G: NDArray[Any], D: NDArray[Any], H: NDArray[Any], near: NDArray[Any]) -> NDArray[Any]:
    """All atoms and neighbours at once, by index notation and a look-up of the neighbours."""
    momenta, energies = G.shape[:2]
    phonons, frequencies = D.shape[:2]
    result = np.zeros_like(G)
    for q in range(phonons):
        for w in range(frequencies):
            coupling = np.einsum("abixy,abij,abjyz->abxz", H, D[q, w], H)
            for k in range(momenta):
                for e in range(w, energies):
                    scattered = G[(k - q) % momenta, e - w][near]
                    result[k, e] += np.matmul(scattered, coupling).sum(axis=1)
    return result
