"""A viscous fluid in a square cavity that is driven by its moving lid: the incompressible Navier-Stokes equations.

in:   `u`, `v`, `p` (rows x columns): velocity along x (index j of the columns), along y (index i of the rows), and
      pressure. Row 0 is the floor, the last row the lid. `steps` of length `dt`; `sweeps` of the pressure solver in
      each; spacings `dx`, `dy`; `density`, `viscosity` (kinematic), and the velocity `lid`
out:  `u`, `v`, `p` after the steps, in place

One step, at the inner points; a_E, a_W, a_N, a_S are the neighbours at j+1, j-1, i+1, i-1, and central differences are
a_x = (a_E - a_W) / (2 dx), a_y = (a_N - a_S) / (2 dy):
 1. source = density ((u_x + v_y) / dt - u_x^2 - 2 u_y v_x - v_y^2)
 2. `sweeps` times (Jacobi): p = ((p_E + p_W) dy^2 + (p_N + p_S) dx^2 - source dx^2 dy^2) / (2 (dx^2 + dy^2)), after
    which the edges follow, in this order: last column = last but one, row 0 = row 1, column 0 = column 1, lid row = 0
 3. from the old u and v together, for a = u with slope p_x and for a = v with slope p_y:
    a += dt (viscosity ((a_E - 2 a + a_W) / dx^2 + (a_N - 2 a + a_S) / dy^2)
             - u (a - a_W) / dx - v (a - a_S) / dy) - dt slope / density
 4. on the floor and both sides u = 0, then u = lid on the whole lid row; v = 0 on all edges
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


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
        for _ in range(sweeps):
            relax_pressure(p, source, dx, dy)
        change_u = dt * transport(u, u, v, dx, dy, viscosity) - dt * slope_x(p, dx) / density
        change_v = dt * transport(v, u, v, dx, dy, viscosity) - dt * slope_y(p, dy) / density
        u[1:-1, 1:-1] += change_u
        v[1:-1, 1:-1] += change_v
        u[0], u[:, 0], u[:, -1] = 0.0, 0.0, 0.0
        u[-1] = lid
        v[0], v[-1], v[:, 0], v[:, -1] = 0.0, 0.0, 0.0, 0.0


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A cavity two units wide with a fluid that is stirred a little at the start."""
    rows, columns = sizes["rows"], sizes["columns"]
    return {
        "steps": sizes["steps"],
        "sweeps": sizes["sweeps"],
        "dt": 0.0005,
        "dx": 2.0 / max(columns - 1, 1),
        "dy": 2.0 / max(rows - 1, 1),
        "density": 1.1,
        "viscosity": 0.08,
        "lid": 1.2,
        "u": rng.uniform(-0.01, 0.02, (rows, columns)).astype(dtype),
        "v": rng.uniform(-0.01, 0.02, (rows, columns)).astype(dtype),
        "p": rng.uniform(-0.01, 0.02, (rows, columns)).astype(dtype),
    }


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per step and inner point 18 for slopes and source, 8 per sweep, 25 for each velocity; the edges left out."""
    rows, columns = sizes["rows"], sizes["columns"]
    points = (rows - 2) * (columns - 2)
    return Work(
        bytes=6 * rows * columns * dtype.itemsize, flops=sizes["steps"] * points * (18 + 8 * sizes["sweeps"] + 2 * 25)
    )


KERNEL = Kernel(
    name="cavity_flow",
    known_as="cavity_flow",
    function=cavity_flow,
    title="Flow in a cavity with a moving lid",
    domain="Physics",
    dwarf="Structured grids",
    presets={
        "S": {"rows": 41, "columns": 43, "steps": 14, "sweeps": 30},
        "M": {"rows": 61, "columns": 65, "steps": 60, "sweeps": 50},
        "L": {"rows": 121, "columns": 125, "steps": 100, "sweeps": 100},
        "paper": {"rows": 101, "columns": 101, "steps": 700, "sweeps": 50},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("u", "v", "p"),
    work=work,
)
