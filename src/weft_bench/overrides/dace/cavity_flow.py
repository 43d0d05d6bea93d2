"""Flow in a cavity for DaCe, whose fusion computes wrong numbers from updates in place: copies of the old fields."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def slope_x(a: NDArray[Any], dx: float) -> NDArray[Any]:
    """The central difference along x."""
    return (a[1:-1, 2:] - a[1:-1, :-2]) / (2.0 * dx)


def slope_y(a: NDArray[Any], dy: float) -> NDArray[Any]:
    """The central difference along y."""
    return (a[2:, 1:-1] - a[:-2, 1:-1]) / (2.0 * dy)


def find_source(
    u: NDArray[Any], v: NDArray[Any], source: NDArray[Any], dt: float, dx: float, dy: float, density: float
) -> None:
    """What drives the pressure."""
    u_x = slope_x(u, dx)
    u_y = slope_y(u, dy)
    v_x = slope_x(v, dx)
    v_y = slope_y(v, dy)
    source[:] = density * ((u_x + v_y) / dt - u_x * u_x - 2.0 * u_y * v_x - v_y * v_y)


def transport(
    a: NDArray[Any], u: NDArray[Any], v: NDArray[Any], dx: float, dy: float, viscosity: float
) -> NDArray[Any]:
    """How fast friction and the flow itself change the velocity `a`; the flow brings what is upstream."""
    inner = a[1:-1, 1:-1]
    friction = (a[1:-1, 2:] - 2.0 * inner + a[1:-1, :-2]) / dx**2 + (a[2:, 1:-1] - 2.0 * inner + a[:-2, 1:-1]) / dy**2
    carried = u[1:-1, 1:-1] * (inner - a[1:-1, :-2]) / dx + v[1:-1, 1:-1] * (inner - a[:-2, 1:-1]) / dy
    return viscosity * friction - carried


def cavity_flow(  # noqa: PLR0913, PLR0917 - the letters of the equations
    steps: int,
    sweeps: int,
    dt: float,
    dx: float,
    dy: float,
    density: float,
    viscosity: float,
    lid: float,
    u: NDArray[Any],
    v: NDArray[Any],
    p: NDArray[Any],
) -> None:
    """Move the fluid in place."""
    source = np.empty((u.shape[0] - 2, u.shape[1] - 2), u.dtype)
    old = np.empty_like(p)
    was_u = np.empty_like(u)
    was_v = np.empty_like(v)
    for _ in range(steps):
        find_source(u, v, source, dt, dx, dy, density)
        for _ in range(sweeps):
            old[:] = p
            p[1:-1, 1:-1] = (
                (old[1:-1, 2:] + old[1:-1, :-2]) * dy**2
                + (old[2:, 1:-1] + old[:-2, 1:-1]) * dx**2
                - source * (dx**2 * dy**2)
            ) / (2.0 * (dx**2 + dy**2))
            p[:, -1] = p[:, -2]
            p[0] = p[1]
            p[:, 0] = p[:, 1]
            p[-1] = 0.0
        was_u[:] = u
        was_v[:] = v
        u[1:-1, 1:-1] += dt * transport(was_u, was_u, was_v, dx, dy, viscosity) - dt * slope_x(p, dx) / density
        v[1:-1, 1:-1] += dt * transport(was_v, was_u, was_v, dx, dy, viscosity) - dt * slope_y(p, dy) / density
        u[0] = 0.0
        u[:, 0] = 0.0
        u[:, -1] = 0.0
        u[-1] = lid
        v[0] = 0.0
        v[-1] = 0.0
        v[:, 0] = 0.0
        v[:, -1] = 0.0
