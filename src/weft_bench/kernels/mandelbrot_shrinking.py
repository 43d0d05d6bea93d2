"""The Mandelbrot set by the escape of each point, with arrays that shrink to the points still inside.

in:   `x` and `y`, vectors of coordinates; `turns`, a number; `horizon`, a positive number
out:  two new arrays (len(y) x len(x)): the turn in which each point escaped, counted from 1, and 0 for those that did
      not (int64); and the complex z it escaped with, or 0

Every point c = x[j] + i y[i] starts with z = 0. In each turn the points that are left replace z by z^2 + c; those with
|z| > horizon afterwards have escaped in this turn: their turn and z are noted, and they are left out from then on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def mandelbrot_shrinking(
    x: NDArray[Any], y: NDArray[Any], turns: int, horizon: float
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """`place` says where in the flat grid the points that are left belong."""
    c = np.ravel(x + 1j * y[:, None])
    place = np.arange(c.shape[0])
    z = np.zeros_like(c)
    escape = np.zeros(c.shape, np.int64)
    last = np.zeros_like(c)
    for turn in range(1, turns + 1):
        z = z * z + c
        gone = np.abs(z) > horizon
        escape[place[gone]] = turn
        last[place[gone]] = z[gone]
        left = ~gone
        place, z, c = place[left], z[left], c[left]
    shape = (y.shape[0], x.shape[0])
    return escape.reshape(shape), last.reshape(shape)


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
    """10 for each turn of a point that is left: a complex square (6) and sum (2), modulus, comparison."""
    points = sizes["width"] * sizes["height"]
    inputs = (sizes["width"] + sizes["height"]) * dtype.itemsize
    return Work(
        bytes=inputs + points * (8 + 2 * dtype.itemsize), flops=10 * round(points * turns_per_point(sizes["turns"]))
    )


KERNEL = Kernel(
    name="mandelbrot_shrinking",
    known_as="mandelbrot2",
    function=mandelbrot_shrinking,
    title="Mandelbrot set with shrinking arrays",
    domain="Mathematics",
    dwarf="Map",
    presets={
        "S": {"width": 210, "height": 200, "turns": 50},
        "M": {"width": 480, "height": 460, "turns": 110},
        "L": {"width": 1200, "height": 1150, "turns": 150},
        "paper": {"width": 1000, "height": 1000, "turns": 200},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    work=work,
)
