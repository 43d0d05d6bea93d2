"""Distances along great circles between pairs of points on the unit sphere, by the haversine formula.

in:   four vectors of one length, in radians: the latitudes and longitudes of the starts (`latitude1`, `longitude1`) and
      of the ends (`latitude2`, `longitude2`)
out:  a new vector with the distance of each pair, an angle from 0 to pi

    h = sin((latitude2 - latitude1) / 2)^2 + cos(latitude1) cos(latitude2) sin((longitude2 - longitude1) / 2)^2
    distance = 2 atan2(sqrt(h), sqrt(1 - h))
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def great_circle(
    latitude1: NDArray[Any], longitude1: NDArray[Any], latitude2: NDArray[Any], longitude2: NDArray[Any]
) -> NDArray[Any]:
    """The formula on whole vectors."""
    across = np.sin(0.5 * (latitude2 - latitude1)) ** 2
    along = np.sin(0.5 * (longitude2 - longitude1)) ** 2
    haversine = across + np.cos(latitude1) * np.cos(latitude2) * along
    return 2.0 * np.arctan2(np.sqrt(haversine), np.sqrt(1.0 - haversine))


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Points of one half of the sphere: where two are nearly opposite, the formula has nothing to hold on to."""
    pairs = sizes["pairs"]
    return {
        "latitude1": rng.uniform(-1.1, 1.2, pairs).astype(dtype),
        "longitude1": rng.uniform(-1.2, 1.3, pairs).astype(dtype),
        "latitude2": rng.uniform(-1.1, 1.2, pairs).astype(dtype),
        "longitude2": rng.uniform(-1.2, 1.3, pairs).astype(dtype),
    }


def tolerance(_sizes: Sizes) -> float:
    """Sines, cosines and the arc tangent within 4 ulp; 1 - h is above 0.09 for these points."""
    return 64.0


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per pair 4 for either sine, 5 for their sum with the cosines, 5 for the distance; a function counts as one."""
    pairs = sizes["pairs"]
    return Work(bytes=5 * pairs * dtype.itemsize, flops=(4 + 4 + 5 + 5) * pairs)


KERNEL = Kernel(
    name="great_circle",
    known_as="arc_distance",
    function=great_circle,
    title="Great-circle distances",
    domain="Geography",
    dwarf="Map",
    presets={
        "S": {"pairs": 100_000},
        "M": {"pairs": 1_000_000},
        "L": {"pairs": 10_000_000},
        "paper": {"pairs": 10_000_000},  # not in the paper: as L
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
