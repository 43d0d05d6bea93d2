"""A viscous fluid pushed along a channel until its flow is steady: the incompressible Navier-Stokes equations.

in:   `u`, `v`, `p` (rows x columns): velocity along the channel (x, index j), across it (y, index i), and pressure. The
      first and the last row are walls; along x the channel is periodic, so the last column is followed by the first.
      At most `steps` steps of length `dt`; `sweeps` of the pressure solver in each; spacings `dx`, `dy`; `density`,
      `viscosity` (kinematic), the `force` per mass along the channel; `steady`, when to stop
out:  `u`, `v`, `p` in place; the number of steps taken is returned

Steps are taken while the last one changed the sum of u by more than `steady` times the new sum, in magnitude, and there
are steps left; the first is always taken if `steps` is positive. One step, at all points but the walls; a_E, a_W, a_N,
a_S are the neighbours at j+1, j-1 (periodic), i+1, i-1, and a_x = (a_E - a_W) / (2 dx), a_y = (a_N - a_S) / (2 dy):
 1. source = density ((u_x + v_y) / dt - u_x^2 - 2 u_y v_x - v_y^2)
 2. `sweeps` times (Jacobi): p = ((p_E + p_W) dy^2 + (p_N + p_S) dx^2 - source dx^2 dy^2) / (2 (dx^2 + dy^2)), after
    which the last row becomes the last but one, and row 0 row 1
 3. from the old u and v together, for a = u with slope p_x and for a = v with slope p_y:
    a += dt (viscosity ((a_E - 2 a + a_W) / dx^2 + (a_N - 2 a + a_S) / dy^2)
             - u (a - a_W) / dx - v (a - a_S) / dy) - dt slope / density, and u moreover += dt force
 4. u = v = 0 at both walls
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


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


def relax_pressure(p: NDArray[Any], source: NDArray[Any], dx: float, dy: float) -> None:
    """One sweep; no pressure flows through the walls."""
    p[1:-1] = ((east(p) + west(p)) * dy**2 + (p[2:] + p[:-2]) * dx**2 - source * (dx**2 * dy**2)) / (
        2.0 * (dx**2 + dy**2)
    )
    p[-1] = p[-2]
    p[0] = p[1]


def transport(
    a: NDArray[Any], u: NDArray[Any], v: NDArray[Any], dx: float, dy: float, viscosity: float
) -> NDArray[Any]:
    """How fast friction and the flow itself change the velocity `a`; for the latter, differences go backwards."""
    inner = a[1:-1]
    friction = (east(a) - 2.0 * inner + west(a)) / dx**2 + (a[2:] - 2.0 * inner + a[:-2]) / dy**2
    carried = u[1:-1] * (inner - west(a)) / dx + v[1:-1] * (inner - a[:-2]) / dy
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


def steps_until_steady(steps: int) -> int:
    """How many of the steps are taken, about: after k of them u is about k + 2 times what one step adds to it."""
    return round(0.75 * steps)


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A channel two units long and wide, a fluid nearly at rest that is pushed back, steady before the steps end."""
    rows, columns = sizes["rows"], sizes["columns"]
    return {
        "steps": sizes["steps"],
        "steady": 1.0 / (2.0 + steps_until_steady(sizes["steps"])),
        "sweeps": sizes["sweeps"],
        "dt": 0.001,
        "dx": 2.0 / max(columns - 1, 1),
        "dy": 2.0 / max(rows - 1, 1),
        "density": 1.1,
        "viscosity": 0.05,
        "force": -1.3,
        "u": rng.uniform(-0.004, 0.002, (rows, columns)).astype(dtype),
        "v": rng.uniform(-0.01, 0.02, (rows, columns)).astype(dtype),
        "p": rng.uniform(-0.01, 0.02, (rows, columns)).astype(dtype),
    }


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per step and point 18 for slopes and source, 8 per sweep, 25 for each velocity, 2 for force and sum."""
    rows, columns = sizes["rows"], sizes["columns"]
    points = (rows - 2) * columns
    flops = steps_until_steady(sizes["steps"]) * points * (18 + 8 * sizes["sweeps"] + 2 * 25 + 2)
    return Work(bytes=6 * rows * columns * dtype.itemsize, flops=flops)


KERNEL = Kernel(
    name="channel_flow",
    known_as="channel_flow",
    function=channel_flow,
    title="Flow along a periodic channel",
    domain="Physics",
    dwarf="Structured grids",
    presets={
        "S": {"rows": 31, "columns": 33, "steps": 12, "sweeps": 20},
        "M": {"rows": 41, "columns": 45, "steps": 60, "sweeps": 40},
        "L": {"rows": 61, "columns": 65, "steps": 300, "sweeps": 50},
        "paper": {
            "rows": 101,
            "columns": 101,
            "steps": 1330,
            "sweeps": 50,
        },  # ends when the flow is steady to 0.001, which these steps ask for; the paper gives no number of them
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("u", "v", "p", RETURN),
    work=work,
)
