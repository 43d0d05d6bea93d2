"""The Mandelbrot set by the escape of each point, the whole grid in every turn and a mask for those still inside.

in:   `x` and `y`, vectors of coordinates; `turns`, a number; `horizon`, a positive number
out:  two new arrays (len(y) x len(x)): how many turns each point took part in (int64), and the complex z it ended with

Every point c = x[j] + i y[i] starts with z = 0. In each turn the points with |z| < horizon, and only they, replace z by
z^2 + c and count one more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def mandelbrot_masks(
    x: NDArray[Any], y: NDArray[Any], turns: int, horizon: float
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Points that escaped stay as they are."""
    c = x + 1j * y[:, None]
    z = np.zeros_like(c)
    count = np.zeros(c.shape, np.int64)
    for _ in range(turns):
        inside = np.abs(z) < horizon
        z[inside] = z[inside] ** 2 + c[inside]
        count[inside] += 1
    return count, z


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], _rng: np.random.Generator) -> Inputs:
    """A frame around the set that no point lies in the middle of."""
    return {
        "x": np.linspace(-1.85, 0.65, sizes["width"]).astype(dtype),
        "y": np.linspace(-1.2, 1.15, sizes["height"]).astype(dtype),
        "turns": sizes["turns"],
        "horizon": 2.0,
    }


def turns_per_point(turns: int) -> float:
    """In the mean over this frame, within two per cent from 40 turns on: about a quarter of it never escapes."""
    return 4.7 + 0.26 * turns


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """11 for each turn of a point inside: a complex square (6) and sum (2), modulus, comparison, count."""
    points = sizes["width"] * sizes["height"]
    inputs = (sizes["width"] + sizes["height"]) * dtype.itemsize
    return Work(
        bytes=inputs + points * (8 + 2 * dtype.itemsize), flops=11 * round(points * turns_per_point(sizes["turns"]))
    )


KERNEL = Kernel(
    name="mandelbrot_masks",
    known_as="mandelbrot1",
    function=mandelbrot_masks,
    title="Mandelbrot set with masks",
    domain="Mathematics",
    dwarf="Map",
    presets={
        "S": {"width": 200, "height": 190, "turns": 40},
        "M": {"width": 480, "height": 460, "turns": 60},
        "L": {"width": 900, "height": 880, "turns": 150},
        "paper": {"width": 1000, "height": 1000, "turns": 200},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    work=work,
)
