"""Jacobi relaxation on a line: every inner point becomes the mean of itself and its two neighbours, many times.

in:   `A` and `B` (points), whose ends stay as they are; `steps`, a number
out:  both in place, after `steps` turns of two assignments, at the inner points:
      B[i] = (A[i-1] + A[i] + A[i+1]) / 3, then the same with A and B exchanged
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def jacobi_1d(steps: int, A: NDArray[Any], B: NDArray[Any]) -> None:
    """Two half steps per turn, from A to B and back."""
    for _ in range(steps):
        B[1:-1] = (A[:-2] + A[1:-1] + A[2:]) / 3.0
        A[1:-1] = (B[:-2] + B[1:-1] + B[2:]) / 3.0


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Two lines that differ everywhere."""
    return {
        "steps": sizes["steps"],
        "A": rng.uniform(-1.0, 2.0, sizes["points"]).astype(dtype),
        "B": rng.uniform(-1.0, 2.0, sizes["points"]).astype(dtype),
    }


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per inner point two additions and a division, twice a step; the inside of B is written before it is read."""
    points = sizes["points"]
    return Work(bytes=3 * points * dtype.itemsize, flops=sizes["steps"] * 2 * 3 * (points - 2))


KERNEL = Kernel(
    name="jacobi_1d",
    known_as="jacobi_1d",
    function=jacobi_1d,
    title="Jacobi relaxation, 1-D",
    domain="Differential equations",
    dwarf="Structured grids",
    presets={
        "S": {"points": 4_000, "steps": 500},
        "M": {"points": 16_000, "steps": 1_700},
        "L": {"points": 64_000, "steps": 4_000},
        "paper": {"points": 32_000, "steps": 4_000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("A", "B"),
    work=work,
)
