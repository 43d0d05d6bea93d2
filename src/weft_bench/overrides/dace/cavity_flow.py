"""Flow in a cavity for DaCe, where a loop within a loop needs a counter of its own, `_` as well."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def slope_x(a: NDArray[Any], dx: float) -> NDArray[Any]:
    """The central difference along x."""
    return (a[1:-1, 2:] - a[1:-1, :-2]) / (2.0 * dx)


def slope_y(a: NDArray[Any], dy: float) -> NDArray[Any]:
    """The central difference along y."""
    return (a[2:, 1:-1] - a[:-2, 1:-1]) / (2.0 * dy)


def relax_pressure(p: NDArray[Any], source: NDArray[Any], dx: float, dy: float) -> None:
    """One sweep, and the edges: no flow of pressure through the walls, none at all under the lid."""
    p[1:-1, 1:-1] = (
        (p[1:-1, 2:] + p[1:-1, :-2]) * dy**2 + (p[2:, 1:-1] + p[:-2, 1:-1]) * dx**2 - source * (dx**2 * dy**2)
    ) / (2.0 * (dx**2 + dy**2))
    p[:, -1] = p[:, -2]
    p[0] = p[1]
    p[:, 0] = p[:, 1]
    p[-1] = 0.0


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
    for _ in range(steps):
        u_x, u_y, v_x, v_y = slope_x(u, dx), slope_y(u, dy), slope_x(v, dx), slope_y(v, dy)
        source = density * ((u_x + v_y) / dt - u_x**2 - 2.0 * u_y * v_x - v_y**2)
        for _sweep in range(sweeps):
            relax_pressure(p, source, dx, dy)
        change_u = dt * transport(u, u, v, dx, dy, viscosity) - dt * slope_x(p, dx) / density
        change_v = dt * transport(v, u, v, dx, dy, viscosity) - dt * slope_y(p, dy) / density
        u[1:-1, 1:-1] += change_u
        v[1:-1, 1:-1] += change_v
        u[0], u[:, 0], u[:, -1] = 0.0, 0.0, 0.0
        u[-1] = lid
        v[0], v[-1], v[:, 0], v[:, -1] = 0.0, 0.0, 0.0, 0.0
