"""A weighted sum of two matrix-vector products: alpha A x + beta B x.

in:   numbers `alpha`, `beta`; `A` and `B` (rows x columns), `x` (columns)
out:  a new vector (rows): alpha (sum over j of A[i, j] x[j]) + beta (sum over j of B[i, j] x[j])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def summed_products(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """A new vector."""
    return alpha * (A @ x) + beta * (B @ x)


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Two matrices of one shape with entries of both signs."""
    rows, columns = sizes["rows"], sizes["columns"]
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": rng.uniform(-0.5, 1.0, (rows, columns)).astype(dtype),
        "B": rng.uniform(-1.0, 0.5, (rows, columns)).astype(dtype),
        "x": rng.uniform(-1.0, 2.0, columns).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """Any order of the sums over the columns, on both sides; the two products may cancel in part."""
    return 16.0 * (sizes["columns"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """A multiplication and an addition per entry of both matrices, and the weights."""
    rows, columns = sizes["rows"], sizes["columns"]
    return Work(bytes=(2 * rows * columns + columns + rows) * dtype.itemsize, flops=4 * rows * columns + rows)


KERNEL = Kernel(
    name="summed_products",
    known_as="gesummv",
    function=summed_products,
    title="Sum of matrix-vector products (gesummv)",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={  # memory bounds L
        "S": {"rows": 4200, "columns": 3900},
        "M": {"rows": 10000, "columns": 10500},
        "L": {"rows": 13000, "columns": 13500},
        "paper": {"rows": 11200, "columns": 11200},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
