"""Bodies that attract each other: leap-frog steps, with the differences of all pairs as N x N matrices.

in:   `mass` (n), `position` and `velocity` (n x 3); `steps` of length `dt`; `softening` s
out:  `position` and `velocity` in place, after the steps; the kinetic energy, half the sum of m v^2, is returned

The pull on body i is the sum over all j of m_j d / (|d|^2 + s^2)^1.5, where d = position_j - position_i (the constant
of gravity is 1; a body's pull on itself is 0). A step is: velocity += dt/2 pull, position += dt velocity, the pull at
the new positions, velocity += dt/2 pull.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def find_acceleration(position: NDArray[Any], mass: NDArray[Any], gravity: float, softening: float) -> NDArray[Any]:
    """The pull of all bodies on each one; `softening` keeps close pairs finite, and a body off itself."""
    x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inverse_cube = (dx**2 + dy**2 + dz**2 + softening**2) ** -1.5
    pull = np.empty_like(position)
    pull[:, 0] = gravity * ((dx * inverse_cube) @ mass)
    pull[:, 1] = gravity * ((dy * inverse_cube) @ mass)
    pull[:, 2] = gravity * ((dz * inverse_cube) @ mass)
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


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A cloud that is wider than high, with a slow common drift."""
    bodies = sizes["bodies"]
    return {
        "mass": (rng.uniform(0.5, 2.0, bodies) / max(bodies, 1)).astype(dtype),
        "position": rng.normal(0.0, [2.0, 1.0, 0.5], (bodies, 3)).astype(dtype),
        "velocity": rng.normal([0.1, -0.05, 0.2], 0.3, (bodies, 3)).astype(dtype),
        "steps": sizes["steps"],
        "dt": 0.01,
        "softening": 0.1,
    }


def tolerance(sizes: Sizes) -> float:
    """The sums over the bodies in any order, powers within a few ulp, and steps that carry the errors on."""
    return 16.0 * (sizes["bodies"] + 8) * (sizes["steps"] + 1)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """19 per pair in both orders (3 differences, 6 for the distance, a power, 9 for the pull); 18 per body and step."""
    bodies, steps = sizes["bodies"], sizes["steps"]
    flops = (steps + 1) * 19 * bodies * bodies + steps * 18 * bodies + 9 * bodies
    return Work(bytes=(1 + 2 * 6) * bodies * dtype.itemsize, flops=flops)


KERNEL = Kernel(
    name="nbody",
    known_as="nbody",
    function=nbody,
    title="Gravitating bodies",
    domain="Physics",
    dwarf="N-body methods",
    presets={
        "S": {"bodies": 100, "steps": 50},
        "M": {"bodies": 200, "steps": 150},
        "L": {"bodies": 400, "steps": 350},
        "paper": {"bodies": 100, "steps": 1000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("position", "velocity", RETURN),
    tolerance=tolerance,
    work=work,
)
