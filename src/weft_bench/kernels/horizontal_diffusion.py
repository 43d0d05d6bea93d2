"""Diffusion along the levels of an atmosphere: fourth order, with fluxes that only run downhill.

in:   `field` ((width + 4) x (length + 4) x levels), `strength` (width x length x levels)
out:  a new array like `strength`: at every inner point (two away from the sides), level by level,
      field - strength (fx[i, j] - fx[i-1, j] + fy[i, j] - fy[i, j-1])

With l = 4 f[i, j] - f[i+1, j] - f[i-1, j] - f[i, j+1] - f[i, j-1] for the field f, the flux is
fx[i, j] = l[i+1, j] - l[i, j], or 0 where fx[i, j] (f[i+1, j] - f[i, j]) > 0; fy is the same along j.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def horizontal_diffusion(field: NDArray[Any], strength: NDArray[Any]) -> NDArray[Any]:
    """The field after one step, without the two points at every side that only serve as neighbours."""
    laplacian = 4.0 * field[1:-1, 1:-1] - field[2:, 1:-1] - field[:-2, 1:-1] - field[1:-1, 2:] - field[1:-1, :-2]
    flux_x = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
    uphill = flux_x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0.0
    flux_x = np.where(uphill, 0.0, flux_x)
    flux_y = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
    uphill = flux_y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0.0
    flux_y = np.where(uphill, 0.0, flux_y)
    return field[2:-2, 2:-2] - strength * (flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1])


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Hills under noise: between a third and two thirds of the fluxes are stopped."""
    width, length, levels = sizes["width"], sizes["length"], sizes["levels"]
    hills = 9.0 * np.sin(0.3 * np.arange(width + 4))[:, None, None] + 7.0 * np.cos(0.4 * np.arange(length + 4))[:, None]
    return {
        "field": (hills + rng.uniform(-1.0, 2.0, (width + 4, length + 4, levels))).astype(dtype),
        "strength": rng.uniform(0.01, 0.05, (width, length, levels)).astype(dtype),
    }


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """5 for each Laplacian (none at the corners), 4 for each flux, 5 for each number of the result."""
    width, length, levels = sizes["width"], sizes["length"], sizes["levels"]
    fluxes = (width + 1) * length + width * (length + 1)
    flops = levels * (5 * ((width + 2) * (length + 2) - 4) + 4 * fluxes + 5 * width * length)
    arrays = levels * ((width + 4) * (length + 4) + 2 * width * length)
    return Work(bytes=arrays * dtype.itemsize, flops=flops)


KERNEL = Kernel(
    name="horizontal_diffusion",
    known_as="hdiff",
    function=horizontal_diffusion,
    title="Diffusion along atmospheric levels",
    domain="Weather",
    dwarf="Structured grids",
    presets={
        "S": {"width": 90, "length": 96, "levels": 60},
        "M": {"width": 170, "length": 180, "levels": 110},
        "L": {"width": 340, "length": 360, "levels": 200},
        "paper": {"width": 256, "length": 256, "levels": 160},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    work=work,
)
