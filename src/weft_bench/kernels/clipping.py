"""A weighted sum of two arrays, the first of them clipped: clip(a, low, high) * gain + b * weight + offset.

in:   `a` and `b` (rows x columns), floats or integers; numbers `low`, `high`, `gain`, `weight`, `offset`
out:  a new array, element by element min(max(a, low), high) * gain + b * weight + offset, evaluated from left to right
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def clipping(
    a: NDArray[Any], b: NDArray[Any], low: float, high: float, gain: float, weight: float, offset: float
) -> NDArray[Any]:
    """Element by element, into a new array."""
    return np.clip(a, low, high) * gain + b * weight + offset


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """About a third of the numbers is clipped at either end."""
    shape = (sizes["rows"], sizes["columns"])
    if dtype.kind == "i":
        return {
            "a": rng.integers(-1000, 1000, shape).astype(dtype),
            "b": rng.integers(-1000, 1000, shape).astype(dtype),
            "low": -300,
            "high": 350,
            "gain": 4,
            "weight": -3,
            "offset": 9,
        }
    return {
        "a": rng.uniform(-1.0, 1.0, shape).astype(dtype),
        "b": rng.uniform(-1.0, 1.0, shape).astype(dtype),
        "low": -0.3,
        "high": 0.35,
        "gain": 4.1,
        "weight": -3.3,
        "offset": 9.7,
    }


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per element two comparisons, two multiplications, two additions."""
    elements = sizes["rows"] * sizes["columns"]
    return Work(bytes=3 * elements * dtype.itemsize, flops=6 * elements)


KERNEL = Kernel(
    name="clipping",
    known_as="compute",
    function=clipping,
    title="Clipped weighted sum",
    domain="Signal processing",
    dwarf="Map",
    presets={
        "S": {"rows": 1100, "columns": 1200},
        "M": {"rows": 3500, "columns": 3600},
        "L": {"rows": 9000, "columns": 9100},
        "paper": {"rows": 12500, "columns": 12500},
    },
    make_inputs=make_inputs,
    dtypes=("int32", "int64", "float32", "float64"),
    outputs=(RETURN,),
    work=work,
)
