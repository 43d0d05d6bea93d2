"""Azimuthal integration by masks: the mean intensity of a detector's points in rings around its centre.

in:   `data` and `radius`, two vectors of one length: the intensity of each point and its distance from the centre;
      `rings`, a number
out:  a new vector of that many means, of the type of `data`

With R the largest radius, result i is the mean of all data whose radius r has R i / rings <= r < R (i + 1) / rings. The
point at R itself therefore belongs to no ring. A ring without points gives NaN, and NumPy's warning.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def azimuthal_masks(data: NDArray[Any], radius: NDArray[Any], rings: int) -> NDArray[Any]:
    """All points are looked at once per ring."""
    largest = np.max(radius)
    means = np.empty(rings, data.dtype)
    for i in range(rings):
        inner = largest * i / rings
        outer = largest * (i + 1) / rings
        means[i] = np.mean(data[(inner <= radius) & (radius < outer)])
    return means


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Intensities of both signs (a background was taken off), and many points for every ring."""
    points = sizes["points"]
    return {
        "data": rng.uniform(-0.5, 1.5, points).astype(dtype),
        "radius": rng.uniform(0.0, 1.0, points).astype(dtype),
        "rings": sizes["rings"],
    }


def tolerance(sizes: Sizes) -> float:
    """The sum in each ring, in any order; terms of both signs cancel in part."""
    return 16.0 + 8.0 * sizes["points"] / max(sizes["rings"], 1)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per point the maximum, both edges of its ring, its sum and its count: not once per ring."""
    points, rings = sizes["points"], sizes["rings"]
    return Work(bytes=(2 * points + rings) * dtype.itemsize, flops=5 * points + rings)


KERNEL = Kernel(
    name="azimuthal_masks",
    known_as="azimint_naive",
    function=azimuthal_masks,
    title="Azimuthal integration by masks",
    domain="Chemistry",
    dwarf="Map",
    presets={
        "S": {"points": 40_000, "rings": 200},
        "M": {"points": 200_000, "rings": 400},
        "L": {"points": 800_000, "rings": 800},
        "paper": {"points": 1_000_000, "rings": 1000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
