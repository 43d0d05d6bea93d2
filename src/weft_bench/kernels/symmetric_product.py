"""A symmetric matrix, of which only the lower triangle is stored, times another: C becomes alpha A B + beta C.

in:   numbers `alpha`, `beta`; `A` (rows x rows), whose part above the diagonal is not looked at: A[i, k] stands for
      A[k, i] there; `B` and `C` (rows x columns)
out:  `C` in place: C[i, j] =
      beta C[i, j] + alpha (sum over k <= i of A[i, k] B[k, j] + sum over k > i of A[k, i] B[k, j])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def symmetric_product(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any]) -> None:
    """A number of A left of the diagonal serves both places it stands for."""
    C[:] = beta * C
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            C[i, j] += alpha * (A[i, : i + 1] @ B[: i + 1, j])


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Numbers of both signs; those above the diagonal of A mean nothing."""
    rows, columns = sizes["rows"], sizes["columns"]
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": rng.uniform(-0.5, 1.0, (rows, rows)).astype(dtype),
        "B": rng.uniform(-0.5, 1.0, (rows, columns)).astype(dtype),
        "C": rng.uniform(-0.5, 1.0, (rows, columns)).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """The dot products in any order."""
    return 8.0 * (sizes["rows"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per number of C a sum of products, two factors and their sum; of A the lower triangle."""
    rows, columns = sizes["rows"], sizes["columns"]
    return Work(
        bytes=(rows * (rows + 1) // 2 + 3 * rows * columns) * dtype.itemsize, flops=rows * columns * (2 * rows + 2)
    )


KERNEL = Kernel(
    name="symmetric_product",
    known_as="symm",
    function=symmetric_product,
    title="Product with a symmetric matrix",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={
        "S": {"rows": 38, "columns": 44},
        "M": {"rows": 130, "columns": 150},
        "L": {"rows": 360, "columns": 400},
        "paper": {"rows": 1000, "columns": 1200},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("C",),
    tolerance=tolerance,
    work=work,
)
