"""Flow along a channel for DaCe, which has no `np.roll`: fields with one more column at either end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def widen(a: NDArray[Any], wide: NDArray[Any]) -> None:
    """The field between copies of its last and its first column."""
    wide[:, 1:-1] = a
    wide[:, 0] = a[:, -1]
    wide[:, -1] = a[:, 0]


def slope_x(a: NDArray[Any], dx: float) -> NDArray[Any]:
    """The central difference along x of a widened field."""
    return (a[1:-1, 2:] - a[1:-1, :-2]) / (2.0 * dx)


def slope_y(a: NDArray[Any], dy: float) -> NDArray[Any]:
    """The central difference along y of a widened field."""
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
    source = np.empty((u.shape[0] - 2, u.shape[1]), u.dtype)
    wide_u = np.empty((u.shape[0], u.shape[1] + 2), u.dtype)
    wide_v = np.empty((u.shape[0], u.shape[1] + 2), u.dtype)
    wide_p = np.empty((u.shape[0], u.shape[1] + 2), u.dtype)
    taken = 0
    change = 1.0
    least = 0.0
    while change > least and taken < steps:
        before = np.sum(u)
        widen(u, wide_u)
        widen(v, wide_v)
        find_source(wide_u, wide_v, source, dt, dx, dy, density)
        for _sweep in range(sweeps):
            widen(p, wide_p)
            p[1:-1] = (
                (wide_p[1:-1, 2:] + wide_p[1:-1, :-2]) * dy**2
                + (wide_p[2:, 1:-1] + wide_p[:-2, 1:-1]) * dx**2
                - source * (dx**2 * dy**2)
            ) / (2.0 * (dx**2 + dy**2))
            p[-1] = p[-2]
            p[0] = p[1]
        widen(p, wide_p)
        u[1:-1] += (
            dt * transport(wide_u, wide_u, wide_v, dx, dy, viscosity) - dt * slope_x(wide_p, dx) / density + dt * force
        )
        v[1:-1] += dt * transport(wide_v, wide_u, wide_v, dx, dy, viscosity) - dt * slope_y(wide_p, dy) / density
        u[0] = 0.0
        u[-1] = 0.0
        v[0] = 0.0
        v[-1] = 0.0
        after = np.sum(u)
        change = abs(after - before)
        least = steady * abs(after)
        taken += 1
    return taken
