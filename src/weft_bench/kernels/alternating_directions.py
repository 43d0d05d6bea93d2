"""Heat in a plane by alternating directions: each half step is implicit along one axis and explicit along the other.

in:   `u` (rows x columns), the temperature; its edges stay as they are. `steps`, a number of steps. `number` r, half a
      step's diffusivity times time over the square of the spacing
out:  `u` after the steps, in place

One step, at the inner points, with `D0 w = w[i-1, j] - 2 w[i, j] + w[i+1, j]` and `D1` the same along j:
    (1 - r D0) v  = (1 + r D1) u     for v, which has the edges of u
    (1 - r D1) u' = (1 + r D0) v     for u', which has them too
Each half is one tridiagonal system per line, solved by elimination from the first point to the last and substitution
back: `w[k] = p[k] w[k+1] + q[k]`, where p[0] = 0, q[0] is the first edge, and with `pivot = 1 + 2 r - r p[k-1]`
p[k] = r / pivot and q[k] = (right[k] + r q[k-1]) / pivot.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def alternating_directions(steps: int, number: float, u: NDArray[Any]) -> None:
    """All lines of one direction are solved side by side."""
    rows, columns = u.shape
    v = u.copy()
    p = np.zeros(max(rows, columns), u.dtype)
    q = np.empty_like(u)
    for _ in range(steps):
        right = u[1:-1, 1:-1] + number * (u[1:-1, :-2] - 2.0 * u[1:-1, 1:-1] + u[1:-1, 2:])
        q[0, 1:-1] = v[0, 1:-1]
        for i in range(1, rows - 1):
            pivot = 1.0 + 2.0 * number - number * p[i - 1]
            p[i] = number / pivot
            q[i, 1:-1] = (right[i - 1] + number * q[i - 1, 1:-1]) / pivot
        for i in range(rows - 2, 0, -1):
            v[i, 1:-1] = p[i] * v[i + 1, 1:-1] + q[i, 1:-1]

        right = v[1:-1, 1:-1] + number * (v[:-2, 1:-1] - 2.0 * v[1:-1, 1:-1] + v[2:, 1:-1])
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, columns - 1):
            pivot = 1.0 + 2.0 * number - number * p[j - 1]
            p[j] = number / pivot
            q[1:-1, j] = (right[:, j - 1] + number * q[1:-1, j - 1]) / pivot
        for j in range(columns - 2, 0, -1):
            u[1:-1, j] = p[j] * u[1:-1, j + 1] + q[1:-1, j]


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A plane that is not square, warm and cold at random; steps longer than an explicit method could take."""
    return {
        "steps": sizes["steps"],
        "number": 0.8,
        "u": rng.uniform(-1.0, 2.0, (sizes["rows"], sizes["columns"])).astype(dtype),
    }


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per half step and inner point 5 for the right-hand side, 3 to eliminate, 2 to substitute; the pivots left out."""
    rows, columns = sizes["rows"], sizes["columns"]
    return Work(bytes=2 * rows * columns * dtype.itemsize, flops=sizes["steps"] * 2 * 10 * (rows - 2) * (columns - 2))


KERNEL = Kernel(
    name="alternating_directions",
    known_as="adi",
    function=alternating_directions,
    title="Heat by alternating directions",
    domain="Differential equations",
    dwarf="Structured grids",
    presets={
        "S": {"rows": 60, "columns": 70, "steps": 10},
        "M": {"rows": 120, "columns": 130, "steps": 45},
        "L": {"rows": 300, "columns": 310, "steps": 120},
        "paper": {"rows": 200, "columns": 200, "steps": 100},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("u",),
    work=work,
)
