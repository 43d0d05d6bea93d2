"""Maxwell's equations in a plane, by finite differences in time on a staggered grid.

in:   `ex` (rows x (columns + 1)), `ey` ((rows + 1) x columns), the electric field between the columns and between the
      rows of the magnetic field `hz` (rows x columns); `source`, one number per step
out:  `ex`, `ey`, `hz` in place. One step, for each number of the source:
      ey[0, j] = that number; ey[i, j] -= 0.5 (hz[i, j] - hz[i-1, j]) at its inner rows;
      ex[i, j] += 0.5 (hz[i, j] - hz[i, j-1]) at its inner columns;
      hz[i, j] += 0.7 (ex[i, j+1] - ex[i, j] - ey[i+1, j] + ey[i, j]). The other edges keep their field
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def fdtd_2d(ex: NDArray[Any], ey: NDArray[Any], hz: NDArray[Any], source: NDArray[Any]) -> None:
    """One step per number in `source`, which drives the first edge; the other edges keep their field.

    `ex` lies between the columns of `hz` and has one more of them; `ey` between its rows and has one more of those.
    """
    for pulse in source:
        ey[0] = pulse
        ey[1:-1] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:-1] += 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz += 0.7 * (ex[:, 1:] - ex[:, :-1] - ey[1:] + ey[:-1])


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Fields with numbers of both signs, and a pulse that swings."""
    rows, columns, steps = sizes["rows"], sizes["columns"], sizes["steps"]
    return {
        "ex": rng.uniform(-1.0, 1.0, (rows, columns + 1)).astype(dtype),
        "ey": rng.uniform(-1.0, 1.0, (rows + 1, columns)).astype(dtype),
        "hz": rng.uniform(-1.0, 1.0, (rows, columns)).astype(dtype),
        "source": np.sin(0.1 * np.arange(steps)).astype(dtype),
    }


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per step 3 for each point of `ex` and `ey` that moves, 5 for each of `hz`; three fields read and written."""
    rows, columns, steps = sizes["rows"], sizes["columns"], sizes["steps"]
    fields = rows * (columns + 1) + (rows + 1) * columns + rows * columns
    flops = steps * (3 * rows * (columns - 1) + 3 * (rows - 1) * columns + 5 * rows * columns)
    return Work(bytes=(2 * fields + steps) * dtype.itemsize, flops=flops)


KERNEL = Kernel(
    name="fdtd_2d",
    known_as="fdtd_2d",
    function=fdtd_2d,
    title="Electromagnetic waves, 2-D",
    domain="Physics",
    dwarf="Structured grids",
    presets={
        "S": {"rows": 150, "columns": 160, "steps": 80},
        "M": {"rows": 320, "columns": 340, "steps": 140},
        "L": {"rows": 700, "columns": 720, "steps": 220},
        "paper": {"rows": 1000, "columns": 1200, "steps": 500},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("ex", "ey", "hz"),
    work=work,
)
