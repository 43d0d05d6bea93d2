"""Azimuthal integration by histograms: the mean intensity of a detector's points in rings of equal width.

in:   `data` and `radius`, two vectors of one length: the intensity of each point and its distance from the centre;
      `rings`, a number
out:  a new vector of that many means

The interval from the smallest to the largest radius is cut into rings of equal width; each contains its inner edge but
not its outer one, except for the last, which contains both. Result i is the sum of the data in ring i divided by the
number of points in it: the histogram of the radii with the data as weights over the one without weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def azimuthal_histogram(data: NDArray[Any], radius: NDArray[Any], rings: int) -> NDArray[Any]:
    """Two histograms and a division."""
    points = np.histogram(radius, rings)[0]
    total = np.histogram(radius, rings, weights=data)[0]
    return total / points


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Intensities of both signs (a background was taken off), and many points for every ring."""
    points = sizes["points"]
    return {
        "data": rng.uniform(-0.5, 1.5, points).astype(dtype),
        "radius": rng.uniform(0.05, 1.0, points).astype(dtype),
        "rings": sizes["rings"],
    }


def tolerance(sizes: Sizes) -> float:
    """The sum in each ring, in any order; terms of both signs cancel in part."""
    return 16.0 + 8.0 * sizes["points"] / max(sizes["rings"], 1)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per point both extremes, both edges of its ring, its sum and its count; the means are float64."""
    points, rings = sizes["points"], sizes["rings"]
    return Work(bytes=2 * points * dtype.itemsize + 8 * rings, flops=6 * points + rings)


KERNEL = Kernel(
    name="azimuthal_histogram",
    known_as="azimint_hist",
    function=azimuthal_histogram,
    title="Azimuthal integration by histograms",
    domain="Chemistry",
    dwarf="Map",
    presets={
        "S": {"points": 300_000, "rings": 200},
        "M": {"points": 3_000_000, "rings": 1000},
        "L": {"points": 16_000_000, "rings": 1000},
        "paper": {"points": 1_000_000, "rings": 1000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
