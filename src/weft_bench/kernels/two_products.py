"""Two matrix products in a row: D becomes alpha A B C + beta D.

in:   numbers `alpha`, `beta`; `A` (rows x inner), `B` (inner x middle), `C` (middle x columns), `D` (rows x columns)
out:  `D` in place: D[i, j] = alpha (A B C)[i, j] + beta D[i, j]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def two_products(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any], D: NDArray[Any]) -> None:
    """Update D in place."""
    D[:] = alpha * A @ B @ C + beta * D


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Matrices with entries of both signs, all extents different."""
    rows, inner, middle, columns = sizes["rows"], sizes["inner"], sizes["middle"], sizes["columns"]
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": rng.uniform(-0.5, 1.0, (rows, inner)).astype(dtype),
        "B": rng.uniform(-0.5, 1.0, (inner, middle)).astype(dtype),
        "C": rng.uniform(-0.5, 1.0, (middle, columns)).astype(dtype),
        "D": rng.uniform(-0.5, 1.0, (rows, columns)).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """Any order of the sums over both inner dimensions, on both sides."""
    return 8.0 * (sizes["inner"] + sizes["middle"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Two products, in the order in which they are written, two factors and a sum."""
    rows, inner, middle, columns = (sizes[n] for n in ("rows", "inner", "middle", "columns"))
    arrays = rows * inner + inner * middle + middle * columns + 2 * rows * columns
    flops = rows * middle * (2 * inner - 1) + rows * columns * (2 * middle + 2)
    return Work(bytes=arrays * dtype.itemsize, flops=flops)


KERNEL = Kernel(
    name="two_products",
    known_as="k2mm",
    function=two_products,
    title="Two matrix products (2mm)",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={
        "S": {"rows": 540, "inner": 560, "middle": 580, "columns": 600},
        "M": {"rows": 1150, "inner": 1250, "middle": 1300, "columns": 1350},
        "L": {"rows": 2600, "inner": 2700, "middle": 2800, "columns": 2900},
        "paper": {"rows": 3200, "inner": 4400, "middle": 3600, "columns": 4800},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("D",),
    tolerance=tolerance,
    work=work,
)
