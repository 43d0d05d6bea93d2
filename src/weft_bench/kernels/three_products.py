"""A product of two matrix products: (A B) (C D).

in:   `A` (rows x first), `B` (first x middle), `C` (middle x second), `D` (second x columns)
out:  a new matrix (rows x columns): the product of A B and C D
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def three_products(A: NDArray[Any], B: NDArray[Any], C: NDArray[Any], D: NDArray[Any]) -> NDArray[Any]:
    """The product, in a new matrix."""
    left = A @ B
    right = C @ D
    return left @ right


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Matrices with entries of both signs, all extents different."""
    rows, first, middle, second = sizes["rows"], sizes["first"], sizes["middle"], sizes["second"]
    return {
        "A": rng.uniform(-0.5, 1.0, (rows, first)).astype(dtype),
        "B": rng.uniform(-0.5, 1.0, (first, middle)).astype(dtype),
        "C": rng.uniform(-0.5, 1.0, (middle, second)).astype(dtype),
        "D": rng.uniform(-0.5, 1.0, (second, sizes["columns"])).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """Any order of the sums over all inner dimensions, on both sides."""
    return 8.0 * (sizes["first"] + sizes["middle"] + sizes["second"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Three products, in the order in which they are written."""
    rows, first, middle, second, columns = (sizes[n] for n in ("rows", "first", "middle", "second", "columns"))
    arrays = rows * first + first * middle + middle * second + second * columns + rows * columns
    flops = rows * middle * (2 * first - 1) + middle * columns * (2 * second - 1) + rows * columns * (2 * middle - 1)
    return Work(bytes=arrays * dtype.itemsize, flops=flops)


KERNEL = Kernel(
    name="three_products",
    known_as="k3mm",
    function=three_products,
    title="Three matrix products (3mm)",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={
        "S": {"rows": 480, "first": 500, "middle": 520, "second": 540, "columns": 560},
        "M": {"rows": 1050, "first": 1100, "middle": 1150, "second": 1200, "columns": 1250},
        "L": {"rows": 2300, "first": 2400, "middle": 2500, "second": 2600, "columns": 2700},
        "paper": {"rows": 3200, "first": 4000, "middle": 3600, "second": 4800, "columns": 4400},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
