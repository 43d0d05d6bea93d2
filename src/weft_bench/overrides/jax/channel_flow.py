# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Flow in a channel for JAX: loops that carry the fields, the outer one until the flow is steady."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


def east(a: NDArray[Any]) -> NDArray[Any]:
    """The neighbours at larger x, off the walls."""
    return np.roll(a, -1, axis=1)[1:-1]


def west(a: NDArray[Any]) -> NDArray[Any]:
    """The neighbours at smaller x, off the walls."""
    return np.roll(a, 1, axis=1)[1:-1]


def slope_x(a: NDArray[Any], dx: float) -> NDArray[Any]:
    """The central difference along x."""
    return (east(a) - west(a)) / (2.0 * dx)


def slope_y(a: NDArray[Any], dy: float) -> NDArray[Any]:
    """The central difference along y."""
    return (a[2:] - a[:-2]) / (2.0 * dy)


def relax_pressure(p: NDArray[Any], source: NDArray[Any], dx: float, dy: float) -> NDArray[Any]:
    """One sweep; no pressure flows through the walls."""
    p = p.at[1:-1].set(
        ((east(p) + west(p)) * dy**2 + (p[2:] + p[:-2]) * dx**2 - source * (dx**2 * dy**2)) / (2.0 * (dx**2 + dy**2))
    )
    p = p.at[-1].set(p[-2])
    return p.at[0].set(p[1])


def transport(
    a: NDArray[Any], u: NDArray[Any], v: NDArray[Any], dx: float, dy: float, viscosity: float
) -> NDArray[Any]:
    """How fast friction and the flow itself change the velocity `a`; the flow brings what is upstream."""
    inner = a[1:-1]
    friction = (east(a) - 2.0 * inner + west(a)) / dx**2 + (a[2:] - 2.0 * inner + a[:-2]) / dy**2
    carried = u[1:-1] * (inner - west(a)) / dx + v[1:-1] * (inner - a[:-2]) / dy
    return viscosity * friction - carried


@jax.jit(static_argnames=("steps", "sweeps"))
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
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Any]:
    """Move the fluid and count the steps."""

    def go_on(state: Any) -> Any:
        taken, moving, *_ = state
        return moving & (taken < steps)

    def step(state: Any) -> Any:
        taken, _, u, v, p = state
        before = np.sum(u)
        u_x, u_y, v_x, v_y = slope_x(u, dx), slope_y(u, dy), slope_x(v, dx), slope_y(v, dy)
        source = density * ((u_x + v_y) / dt - u_x**2 - 2.0 * u_y * v_x - v_y**2)
        p = lax.fori_loop(0, sweeps, lambda _, p: relax_pressure(p, source, dx, dy), p)
        change_u = dt * transport(u, u, v, dx, dy, viscosity) - dt * slope_x(p, dx) / density + dt * force
        change_v = dt * transport(v, u, v, dx, dy, viscosity) - dt * slope_y(p, dy) / density
        u = np.pad(u[1:-1] + change_u, ((1, 1), (0, 0)))
        v = np.pad(v[1:-1] + change_v, ((1, 1), (0, 0)))
        after = np.sum(u)
        moving = abs(after - before) > steady * abs(after)
        return taken + 1, moving, u, v, p

    taken, _, u, v, p = lax.while_loop(go_on, step, (0, True, u, v, p))
    return u, v, p, taken
