"""Fluids in other words: indices with names, a named tuple for the grid, neighbours looked up through index arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

INNER = np.s_[1:-1, 1:-1]
EAST, WEST = np.s_[1:-1, 2:], np.s_[1:-1, :-2]
NORTH, SOUTH = np.s_[2:, 1:-1], np.s_[:-2, 1:-1]


class Grid(NamedTuple):
    """The spacings in time and space."""

    dt: float
    dx: float
    dy: float


def cavity_source(grid: Grid, density: float, u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    """What drives the pressure."""
    dt, dx, dy = grid
    u_x = (u[EAST] - u[WEST]) / (2 * dx)
    v_x = (v[EAST] - v[WEST]) / (2 * dx)
    u_y = (u[NORTH] - u[SOUTH]) / (2 * dy)
    v_y = (v[NORTH] - v[SOUTH]) / (2 * dy)
    return density * ((u_x + v_y) / dt - u_x * u_x - 2 * u_y * v_x - v_y * v_y)


def cavity_rate(grid: Grid, viscosity: float, a: NDArray[Any], u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    """Friction less transport."""
    friction = (a[EAST] - 2 * a[INNER] + a[WEST]) / grid.dx**2
    friction += (a[NORTH] - 2 * a[INNER] + a[SOUTH]) / grid.dy**2
    along = u[INNER] * (a[INNER] - a[WEST]) / grid.dx
    across = v[INNER] * (a[INNER] - a[SOUTH]) / grid.dy
    return viscosity * friction - along - across


def cavity_flow(  # noqa: PLR0913, PLR0917 - the kernel's arguments
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
    """Neighbours are indices with the names of the compass."""
    grid = Grid(dt=dt, dx=dx, dy=dy)
    total = 2 * (dx**2 + dy**2)
    for _ in range(steps):
        source = cavity_source(grid, density, u, v)
        for _ in range(sweeps):
            p[INNER] = ((p[EAST] + p[WEST]) * dy**2 + (p[NORTH] + p[SOUTH]) * dx**2 - source * (dx * dy) ** 2) / total
            p[:, -1] = p[:, -2]
            p[0] = p[1]
            p[:, 0] = p[:, 1]
            p[-1] = 0
        u_rate = cavity_rate(grid, viscosity, u, u, v) - (p[EAST] - p[WEST]) / (2 * dx * density)
        v_rate = cavity_rate(grid, viscosity, v, u, v) - (p[NORTH] - p[SOUTH]) / (2 * dy * density)
        u[INNER] += dt * u_rate
        v[INNER] += dt * v_rate
        for edge in (np.s_[0, :], np.s_[:, 0], np.s_[:, -1], np.s_[-1, :]):
            u[edge] = v[edge] = 0
        u[-1, :] = lid


def channel_flow(  # noqa: PLR0913, PLR0917 - the kernel's arguments
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
    """The channel closes through index arrays; the loop runs until it is told to stop."""
    columns = u.shape[1]
    here = np.arange(columns, dtype=np.intp)
    east, west = (here + 1) % columns, (here - 1) % columns

    def slopes(a: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        return (a[1:-1, east] - a[1:-1, west]) / (2 * dx), (a[2:] - a[:-2]) / (2 * dy)

    def rate(a: NDArray[Any]) -> NDArray[Any]:
        middle = a[1:-1]
        friction = (a[1:-1, east] - 2 * middle + a[1:-1, west]) / dx**2 + (a[2:] - 2 * middle + a[:-2]) / dy**2
        return viscosity * friction - u[1:-1] * (middle - a[1:-1, west]) / dx - v[1:-1] * (middle - a[:-2]) / dy

    taken = 0
    while taken < steps:
        (u_x, u_y), (v_x, v_y) = slopes(u), slopes(v)
        source = density * ((u_x + v_y) / dt - u_x**2 - 2 * u_y * v_x - v_y**2)
        for _ in range(sweeps):
            level = (p[1:-1, east] + p[1:-1, west]) * dy**2 + (p[2:] + p[:-2]) * dx**2 - source * dx**2 * dy**2
            p[1:-1] = level / (2 * (dx**2 + dy**2))
            p[-1], p[0] = p[-2], p[1]
        p_x, p_y = slopes(p)
        u_new = u[1:-1] + dt * (rate(u) - p_x / density + force)
        v_new = v[1:-1] + dt * (rate(v) - p_y / density)
        before = u.sum()
        u[1:-1], v[1:-1] = u_new, v_new
        for field in (u, v):
            field[[0, -1]] = 0
        taken += 1
        after = u.sum()
        if abs(after - before) <= steady * abs(after):
            break
    return taken
