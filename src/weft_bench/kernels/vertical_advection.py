"""Vertical transport in an atmosphere, half of it implicit: one tridiagonal system per column of air.

in:   `wind` ((width + 1) x length x (levels + 1)), vertical velocities, between the columns along the first axis and
      between the levels along the last; `now`, `start`, `other` and `stage` (width x length x levels): a horizontal
      velocity at this stage and at the start of the step, its rate of change by other processes and by earlier stages;
      `rate`, one over the length of the step. There must be at least two levels
out:  `stage` in place: rate (new - start), where new solves, in every column (i, j) and level k,
      rate (new_k - start_k) = other_k + stage_k - f_k - f_{k+1}, with
      f_k = g_k ((now_k - now_{k-1}) + (new_k - new_{k-1})) / 2 at the interface k between the levels k - 1 and k,
      g_k = (wind[i, j, k] + wind[i + 1, j, k]) / 4, and f = 0 at the lowest and the highest interface, 0 and levels;
      the `stage` on the right is the one that came in

The systems are solved by elimination from level 0 upwards and substitution back, for all columns side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def vertical_advection(
    rate: float, wind: NDArray[Any], now: NDArray[Any], start: NDArray[Any], other: NDArray[Any], stage: NDArray[Any]
) -> None:
    """Level by level: `above` and `right` are the rows of the system after elimination, divided by the diagonal."""
    levels = now.shape[2]
    above = np.empty_like(now)
    right = np.empty_like(now)

    half = 0.125 * (wind[1:, :, 1] + wind[:-1, :, 1])
    pivot = rate - half
    above[:, :, 0] = half / pivot
    known = rate * start[:, :, 0] + other[:, :, 0] + stage[:, :, 0] - half * (now[:, :, 1] - now[:, :, 0])
    right[:, :, 0] = known / pivot

    for k in range(1, levels):
        below = half
        known = rate * start[:, :, k] + other[:, :, k] + stage[:, :, k] - below * (now[:, :, k] - now[:, :, k - 1])
        pivot = rate + below + below * above[:, :, k - 1]
        if k < levels - 1:
            half = 0.125 * (wind[1:, :, k + 1] + wind[:-1, :, k + 1])
            known = known - half * (now[:, :, k + 1] - now[:, :, k])
            pivot = pivot - half
            above[:, :, k] = half / pivot
        right[:, :, k] = (known + below * right[:, :, k - 1]) / pivot

    new = right[:, :, levels - 1]
    stage[:, :, levels - 1] = rate * (new - start[:, :, levels - 1])
    for k in range(levels - 2, -1, -1):
        new = right[:, :, k] - above[:, :, k] * new
        stage[:, :, k] = rate * (new - start[:, :, k])


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Winds up and down that are slow enough for the system to be well-conditioned."""
    width, length, levels = sizes["width"], sizes["length"], sizes["levels"]
    shape = (width, length, levels)
    return {
        "rate": 3.0 / 20.0,
        "wind": rng.uniform(-0.1, 0.15, (width + 1, length, levels + 1)).astype(dtype),
        "now": rng.uniform(-1.0, 2.0, shape).astype(dtype),
        "start": rng.uniform(-1.0, 2.0, shape).astype(dtype),
        "other": rng.uniform(-0.1, 0.2, shape).astype(dtype),
        "stage": rng.uniform(-0.1, 0.2, shape).astype(dtype),
    }


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per column of air 23 for each level inside, 15 for the lowest, 14 for the highest; substitution included."""
    width, length, levels = sizes["width"], sizes["length"], sizes["levels"]
    arrays = (width + 1) * length * (levels + 1) + 5 * width * length * levels
    return Work(bytes=arrays * dtype.itemsize, flops=width * length * (23 * (levels - 2) + 15 + 14))


KERNEL = Kernel(
    name="vertical_advection",
    known_as="vadv",
    function=vertical_advection,
    title="Vertical advection",
    domain="Weather",
    dwarf="Structured grids",
    presets={
        "S": {"width": 64, "length": 68, "levels": 40},
        "M": {"width": 130, "length": 140, "levels": 64},
        "L": {"width": 250, "length": 260, "levels": 90},
        "paper": {"width": 256, "length": 256, "levels": 160},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("stage",),
    work=work,
)
