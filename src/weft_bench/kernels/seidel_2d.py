"""Gauss-Seidel relaxation of Poisson's equation in a plane: every point uses the new values before it.

in:   `u` (rows x columns), whose edges stay as they are; `source` of the same shape; `steps`, a number of sweeps
out:  `u` in place. A sweep goes through the inner points row by row, from left to right, with
      u[i, j] = (u[i-1, j] + u[i, j-1] + u[i, j+1] + u[i+1, j] - source[i, j]) / 4, the first two of them new already
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def seidel_2d(steps: int, u: NDArray[Any], source: NDArray[Any]) -> None:
    """Sweeps over u in place; what does not wait for the neighbour on the left is computed a row at a time."""
    rows, columns = u.shape
    for _ in range(steps):
        for i in range(1, rows - 1):
            known = u[i - 1, 1:-1] + u[i, 2:] + u[i + 1, 1:-1] - source[i, 1:-1]
            for j in range(1, columns - 1):
                u[i, j] = 0.25 * (u[i, j - 1] + known[j - 1])


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A plane that is not square, and a source of both signs."""
    shape = (sizes["rows"], sizes["columns"])
    return {
        "steps": sizes["steps"],
        "u": rng.uniform(-1.0, 2.0, shape).astype(dtype),
        "source": rng.uniform(-0.5, 1.0, shape).astype(dtype),
    }


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per inner point and sweep four sums and a product."""
    rows, columns = sizes["rows"], sizes["columns"]
    return Work(bytes=3 * rows * columns * dtype.itemsize, flops=sizes["steps"] * 5 * (rows - 2) * (columns - 2))


KERNEL = Kernel(
    name="seidel_2d",
    known_as="seidel_2d",
    function=seidel_2d,
    title="Gauss-Seidel relaxation, 2-D",
    domain="Differential equations",
    dwarf="Structured grids",
    presets={
        "S": {"rows": 60, "columns": 70, "steps": 6},
        "M": {"rows": 130, "columns": 150, "steps": 14},
        "L": {"rows": 280, "columns": 320, "steps": 30},
        "paper": {"rows": 400, "columns": 400, "steps": 100},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("u",),
    work=work,
)
