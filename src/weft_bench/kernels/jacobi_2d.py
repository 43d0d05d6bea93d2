"""Jacobi relaxation on a plane: every inner point becomes the mean of itself and its four neighbours, many times.

in:   `A` and `B` (rows x columns), whose edges stay as they are; `steps`, a number
out:  both in place, after `steps - 1` turns (none if that is not positive) of two assignments, at the inner points:
      B[i, j] = 0.2 (A[i, j] + A[i, j-1] + A[i, j+1] + A[i+1, j] + A[i-1, j]), then the same with A and B exchanged
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def jacobi_2d(steps: int, A: NDArray[Any], B: NDArray[Any]) -> None:
    """Two half steps per turn, from A to B and back."""
    for _ in range(1, steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Two planes that are neither square nor equal."""
    shape = (sizes["rows"], sizes["columns"])
    return {
        "steps": sizes["steps"],
        "A": rng.uniform(-1.0, 2.0, shape).astype(dtype),
        "B": rng.uniform(-1.0, 2.0, shape).astype(dtype),
    }


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per inner point four additions and a product, twice a turn; the inside of B is written before it is read."""
    rows, columns = sizes["rows"], sizes["columns"]
    flops = (sizes["steps"] - 1) * 2 * 5 * (rows - 2) * (columns - 2)
    return Work(bytes=3 * rows * columns * dtype.itemsize, flops=flops)


KERNEL = Kernel(
    name="jacobi_2d",
    known_as="jacobi_2d",
    function=jacobi_2d,
    title="Jacobi relaxation, 2-D",
    domain="Differential equations",
    dwarf="Structured grids",
    presets={
        "S": {"rows": 140, "columns": 150, "steps": 60},
        "M": {"rows": 280, "columns": 300, "steps": 150},
        "L": {"rows": 640, "columns": 660, "steps": 200},
        "paper": {"rows": 2800, "columns": 2800, "steps": 1000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("A", "B"),
    work=work,
)
