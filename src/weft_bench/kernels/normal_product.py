"""The matrix of the normal equations times a vector, A^T A x, without forming that matrix.

in:   `A` (rows x columns), `x` (columns)
out:  a new vector (columns): sum over i of A[i, j] (sum over k of A[i, k] x[k])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def normal_product(A: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """A new vector, as long as x."""
    return A.T @ (A @ x)


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """More rows than columns, as in a fit."""
    rows, columns = sizes["rows"], sizes["columns"]
    return {
        "A": rng.uniform(-0.5, 1.0, (rows, columns)).astype(dtype),
        "x": rng.uniform(-1.0, 2.0, columns).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """Any order of the sums over columns and rows, on both sides."""
    return 8.0 * (sizes["rows"] + sizes["columns"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """A multiplication and an addition per entry of A and product; A once, though two products follow each other."""
    rows, columns = sizes["rows"], sizes["columns"]
    return Work(bytes=(rows * columns + 2 * columns) * dtype.itemsize, flops=4 * rows * columns)


KERNEL = Kernel(
    name="normal_product",
    known_as="atax",
    function=normal_product,
    title="Normal equations times a vector (atax)",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={  # memory bounds L
        "S": {"rows": 4200, "columns": 3800},
        "M": {"rows": 12000, "columns": 9000},
        "L": {"rows": 19000, "columns": 15000},
        "paper": {"rows": 18000, "columns": 22000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
