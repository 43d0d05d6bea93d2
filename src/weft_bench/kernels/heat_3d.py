"""Conduction of heat in a box, by explicit steps with the seven-point Laplace operator.

in:   `A` and `B` (depth x rows x columns), whose surfaces stay as they are; `steps`, a number; `number` r, diffusivity
      times step over the square of the spacing
out:  both in place, after `steps` turns of two steps, at the inner points: B = A + r (the sum over the three axes of
      the neighbour on either side less twice the point itself, in A), then the same with A and B exchanged
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def heat_3d(steps: int, number: float, A: NDArray[Any], B: NDArray[Any]) -> None:
    """Two steps per turn, from A to B and back; `number` is diffusivity times step over the square of the spacing."""
    for _ in range(steps):
        step_heat(number, A, B)
        step_heat(number, B, A)


def step_heat(number: float, old: NDArray[Any], new: NDArray[Any]) -> None:
    """One step; the surface of the box keeps its temperature."""
    inner = old[1:-1, 1:-1, 1:-1]
    new[1:-1, 1:-1, 1:-1] = inner + number * (
        (old[2:, 1:-1, 1:-1] - 2.0 * inner + old[:-2, 1:-1, 1:-1])
        + (old[1:-1, 2:, 1:-1] - 2.0 * inner + old[1:-1, :-2, 1:-1])
        + (old[1:-1, 1:-1, 2:] - 2.0 * inner + old[1:-1, 1:-1, :-2])
    )


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Two boxes with three different edges; the step is a stable one."""
    shape = (sizes["depth"], sizes["rows"], sizes["columns"])
    return {
        "steps": sizes["steps"],
        "number": 0.125,
        "A": rng.uniform(-1.0, 2.0, shape).astype(dtype),
        "B": rng.uniform(-1.0, 2.0, shape).astype(dtype),
    }


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per inner point and step 3 for each axis, 4 to join them; the inside of B is written before it is read."""
    depth, rows, columns = sizes["depth"], sizes["rows"], sizes["columns"]
    inner = (depth - 2) * (rows - 2) * (columns - 2)
    return Work(bytes=3 * depth * rows * columns * dtype.itemsize, flops=sizes["steps"] * 2 * 13 * inner)


KERNEL = Kernel(
    name="heat_3d",
    known_as="heat_3d",
    function=heat_3d,
    title="Heat equation, 3-D",
    domain="Differential equations",
    dwarf="Structured grids",
    presets={
        "S": {"depth": 28, "rows": 30, "columns": 34, "steps": 16},
        "M": {"depth": 56, "rows": 60, "columns": 66, "steps": 22},
        "L": {"depth": 110, "rows": 120, "columns": 128, "steps": 11},
        "paper": {"depth": 120, "rows": 120, "columns": 120, "steps": 500},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("A", "B"),
    work=work,
)
