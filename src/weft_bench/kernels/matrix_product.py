"""Matrix product update: C becomes alpha A B + beta C.

in:   numbers `alpha`, `beta`; `A` (rows x inner), `B` (inner x columns), `C` (rows x columns)
out:  `C` in place: C[i, j] = alpha (sum over k of A[i, k] B[k, j]) + beta C[i, j]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def matrix_product(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any]) -> None:
    """Update C in place."""
    C[:] = alpha * A @ B + beta * C


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Matrices with entries of both signs."""
    rows, inner, columns = sizes["rows"], sizes["inner"], sizes["columns"]
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": rng.uniform(-0.5, 1.0, (rows, inner)).astype(dtype),
        "B": rng.uniform(-0.5, 1.0, (inner, columns)).astype(dtype),
        "C": rng.uniform(-0.5, 1.0, (rows, columns)).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """Any order of the sums over the inner dimension, on both sides."""
    return 4.0 * (sizes["inner"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per number of C a sum of products, two factors and their sum."""
    rows, inner, columns = sizes["rows"], sizes["inner"], sizes["columns"]
    return Work(
        bytes=(rows * inner + inner * columns + 2 * rows * columns) * dtype.itemsize,
        flops=rows * columns * (2 * inner + 2),
    )


KERNEL = Kernel(
    name="matrix_product",
    known_as="gemm",
    function=matrix_product,
    title="Matrix product update",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={
        "S": {"rows": 600, "inner": 640, "columns": 620},
        "M": {"rows": 1400, "inner": 1500, "columns": 1450},
        "L": {"rows": 3100, "inner": 3300, "columns": 3200},
        "paper": {"rows": 2000, "inner": 2600, "columns": 2300},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("C",),
    tolerance=tolerance,
    work=work,
)
