"""A matrix and its transpose, each times a vector of its own: x += A y and u += A^T v.

in:   `A` (rows x columns); `x` and `v` (rows), `y` and `u` (columns)
out:  `x` and `u` in place: first x[i] += sum over j of A[i, j] y[j], then u[j] += sum over i of A[i, j] v[i]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def transposed_products(A: NDArray[Any], x: NDArray[Any], y: NDArray[Any], u: NDArray[Any], v: NDArray[Any]) -> None:
    """Update x and u in place."""
    x += A @ y
    u += A.T @ v


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A matrix with entries of both signs; x and v are as long as its columns, y and u as its rows."""
    rows, columns = sizes["rows"], sizes["columns"]
    return {
        "A": rng.uniform(-0.5, 1.0, (rows, columns)).astype(dtype),
        "x": rng.uniform(-1.0, 2.0, rows).astype(dtype),
        "y": rng.uniform(-1.0, 2.0, columns).astype(dtype),
        "u": rng.uniform(-1.0, 2.0, columns).astype(dtype),
        "v": rng.uniform(-1.0, 2.0, rows).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """Any order of the sums over columns or rows, on both sides."""
    return 4.0 * (sizes["rows"] + sizes["columns"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """A multiplication and an addition per entry of A and product."""
    rows, columns = sizes["rows"], sizes["columns"]
    return Work(bytes=(rows * columns + 3 * (rows + columns)) * dtype.itemsize, flops=4 * rows * columns)


KERNEL = Kernel(
    name="transposed_products",
    known_as="mvt",
    function=transposed_products,
    title="Matrix and transpose times vectors (mvt)",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={  # memory bounds L
        "S": {"rows": 4000, "columns": 4200},
        "M": {"rows": 10500, "columns": 10000},
        "L": {"rows": 17000, "columns": 16500},
        "paper": {"rows": 16000, "columns": 16000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("x", "u"),
    tolerance=tolerance,
    work=work,
)
