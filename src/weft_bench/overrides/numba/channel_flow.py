# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Flow in a channel for Numba, whose `np.roll` knows no axis: the neighbours along x are copied by hand."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, cache=True)
def east(a: NDArray[Any]) -> NDArray[Any]:
    """The neighbours at larger x, off the walls."""
    rolled = np.empty((a.shape[0] - 2, a.shape[1]), a.dtype)
    rolled[:, :-1] = a[1:-1, 1:]
    rolled[:, -1] = a[1:-1, 0]
    return rolled


@numba.njit(fastmath=True, cache=True)
def west(a: NDArray[Any]) -> NDArray[Any]:
    """The neighbours at smaller x, off the walls."""
    rolled = np.empty((a.shape[0] - 2, a.shape[1]), a.dtype)
    rolled[:, 1:] = a[1:-1, :-1]
    rolled[:, 0] = a[1:-1, -1]
    return rolled


@numba.njit(fastmath=True, cache=True)
def slope_x(a: NDArray[Any], dx: float) -> NDArray[Any]:
    """The central difference along x."""
    return (east(a) - west(a)) / (2.0 * dx)


@numba.njit(fastmath=True, cache=True)
def slope_y(a: NDArray[Any], dy: float) -> NDArray[Any]:
    """The central difference along y."""
    return (a[2:] - a[:-2]) / (2.0 * dy)


@numba.njit(fastmath=True, cache=True)
def relax_pressure(p: NDArray[Any], source: NDArray[Any], dx: float, dy: float) -> None:
    """One sweep; no pressure flows through the walls."""
    p[1:-1] = ((east(p) + west(p)) * dy**2 + (p[2:] + p[:-2]) * dx**2 - source * (dx**2 * dy**2)) / (
        2.0 * (dx**2 + dy**2)
    )
    p[-1] = p[-2]
    p[0] = p[1]


@numba.njit(fastmath=True, cache=True)
def transport(
    a: NDArray[Any], u: NDArray[Any], v: NDArray[Any], dx: float, dy: float, viscosity: float
) -> NDArray[Any]:
    """How fast friction and the flow itself change the velocity `a`; the flow brings what is upstream."""
    inner = a[1:-1]
    friction = (east(a) - 2.0 * inner + west(a)) / dx**2 + (a[2:] - 2.0 * inner + a[:-2]) / dy**2
    carried = u[1:-1] * (inner - west(a)) / dx + v[1:-1] * (inner - a[:-2]) / dy
    return viscosity * friction - carried


@numba.njit(fastmath=True, cache=True)
def channel_flow(  # noqa: PLR0913, PLR0917 - the letters of the equations
    steps: int,
    steady: float,
    sweeps: int,
    dt: float,
    dx: float,
    dy: float,
    density: float,
    viscosity: float,
    force: float,
    u: NDArray[Any],
    v: NDArray[Any],
    p: NDArray[Any],
) -> int:
    """Move the fluid in place and count the steps."""
    taken = 0
    moving = True
    while moving and taken < steps:
        before = np.sum(u)
        u_x, u_y, v_x, v_y = slope_x(u, dx), slope_y(u, dy), slope_x(v, dx), slope_y(v, dy)
        source = density * ((u_x + v_y) / dt - u_x**2 - 2.0 * u_y * v_x - v_y**2)
        for _ in range(sweeps):
            relax_pressure(p, source, dx, dy)
        change_u = dt * transport(u, u, v, dx, dy, viscosity) - dt * slope_x(p, dx) / density + dt * force
        change_v = dt * transport(v, u, v, dx, dy, viscosity) - dt * slope_y(p, dy) / density
        u[1:-1] += change_u
        v[1:-1] += change_v
        u[0], u[-1] = 0.0, 0.0
        v[0], v[-1] = 0.0, 0.0
        after = np.sum(u)
        moving = abs(after - before) > steady * abs(after)
        taken += 1
    return taken
