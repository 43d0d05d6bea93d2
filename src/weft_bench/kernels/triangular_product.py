"""The transpose of a unit lower triangular matrix times another, in place: B becomes alpha A^T B.

in:   a number `alpha`; `A` (rows x rows), of which only the part below the diagonal is looked at: on the diagonal it
      counts as 1, above it as 0; `B` (rows x columns)
out:  `B` in place: B[i, j] = alpha (B[i, j] + sum over k > i of A[k, i] B[k, j])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def triangular_product(alpha: float, A: NDArray[Any], B: NDArray[Any]) -> None:
    """From the first row on, since each only needs those below it, which are still the old ones."""
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += A[i + 1 :, i] @ B[i + 1 :, j]
    B[:] = alpha * B


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Numbers of both signs; those on and above the diagonal of A mean nothing."""
    rows, columns = sizes["rows"], sizes["columns"]
    return {
        "alpha": 1.5,
        "A": rng.uniform(-0.5, 1.0, (rows, rows)).astype(dtype),
        "B": rng.uniform(-0.5, 1.0, (rows, columns)).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """The dot products in any order."""
    return 8.0 * (sizes["rows"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """In row i 2 (rows - 1 - i) + 1 per number of B; of A what is below the diagonal."""
    rows, columns = sizes["rows"], sizes["columns"]
    return Work(bytes=(rows * (rows - 1) // 2 + 2 * rows * columns) * dtype.itemsize, flops=rows * rows * columns)


KERNEL = Kernel(
    name="triangular_product",
    known_as="trmm",
    function=triangular_product,
    title="Product with a triangular matrix",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={
        "S": {"rows": 75, "columns": 90},
        "M": {"rows": 230, "columns": 280},
        "L": {"rows": 700, "columns": 800},
        "paper": {"rows": 1000, "columns": 1200},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("B",),
    tolerance=tolerance,
    work=work,
)
