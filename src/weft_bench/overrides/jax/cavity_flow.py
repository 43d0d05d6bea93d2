# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Flow in a cavity for JAX: loops that carry the fields."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


def slope_x(a: NDArray[Any], dx: float) -> NDArray[Any]:
    """The central difference along x."""
    return (a[1:-1, 2:] - a[1:-1, :-2]) / (2.0 * dx)


def slope_y(a: NDArray[Any], dy: float) -> NDArray[Any]:
    """The central difference along y."""
    return (a[2:, 1:-1] - a[:-2, 1:-1]) / (2.0 * dy)


def relax_pressure(p: NDArray[Any], source: NDArray[Any], dx: float, dy: float) -> NDArray[Any]:
    """One sweep, and the edges: no flow of pressure through the walls, none at all under the lid."""
    p = p.at[1:-1, 1:-1].set(
        ((p[1:-1, 2:] + p[1:-1, :-2]) * dy**2 + (p[2:, 1:-1] + p[:-2, 1:-1]) * dx**2 - source * (dx**2 * dy**2))
        / (2.0 * (dx**2 + dy**2))
    )
    p = p.at[:, -1].set(p[:, -2])
    p = p.at[0].set(p[1])
    p = p.at[:, 0].set(p[:, 1])
    return p.at[-1].set(0.0)


def transport(
    a: NDArray[Any], u: NDArray[Any], v: NDArray[Any], dx: float, dy: float, viscosity: float
) -> NDArray[Any]:
    """How fast friction and the flow itself change the velocity `a`; the flow brings what is upstream."""
    inner = a[1:-1, 1:-1]
    friction = (a[1:-1, 2:] - 2.0 * inner + a[1:-1, :-2]) / dx**2 + (a[2:, 1:-1] - 2.0 * inner + a[:-2, 1:-1]) / dy**2
    carried = u[1:-1, 1:-1] * (inner - a[1:-1, :-2]) / dx + v[1:-1, 1:-1] * (inner - a[:-2, 1:-1]) / dy
    return viscosity * friction - carried


@jax.jit(static_argnames=("steps", "sweeps"))
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
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Move the fluid."""

    def step(_: Any, fields: Any) -> Any:
        u, v, p = fields
        u_x, u_y, v_x, v_y = slope_x(u, dx), slope_y(u, dy), slope_x(v, dx), slope_y(v, dy)
        source = density * ((u_x + v_y) / dt - u_x**2 - 2.0 * u_y * v_x - v_y**2)
        p = lax.fori_loop(0, sweeps, lambda _, p: relax_pressure(p, source, dx, dy), p)
        change_u = dt * transport(u, u, v, dx, dy, viscosity) - dt * slope_x(p, dx) / density
        change_v = dt * transport(v, u, v, dx, dy, viscosity) - dt * slope_y(p, dy) / density
        u = np.pad(u[1:-1, 1:-1] + change_u, 1)
        v = np.pad(v[1:-1, 1:-1] + change_v, 1)
        return u.at[-1].set(lid), v, p

    return lax.fori_loop(0, steps, step, (u, v, p))
