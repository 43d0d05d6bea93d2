"""Gram-Schmidt orthonormalisation, modified: A = Q R, with every column freed of those before it as they come.

in:   `A` (rows x columns), columns that are independent
out:  `A` has become Q, whose columns are orthonormal; a new upper triangular R (columns x columns) is returned, with
      zeros below its diagonal and positive numbers on it, such that Q R is the A that came in

For k = 0, 1, ...: R[k, k] is the Euclidean norm of column k, which is divided by it; then, for every later column j,
R[k, j] is the product of columns k and j, and column j loses R[k, j] times column k.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def gram_schmidt(A: NDArray[Any]) -> NDArray[Any]:
    """Column by column, in place."""
    columns = A.shape[1]
    R = np.zeros((columns, columns), A.dtype)
    for k in range(columns):
        R[k, k] = np.sqrt(A[:, k] @ A[:, k])
        A[:, k] /= R[k, k]
        for j in range(k + 1, columns):
            R[k, j] = A[:, k] @ A[:, j]
            A[:, j] -= R[k, j] * A[:, k]
    return R


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Noise on top of an upright box: columns at wide angles."""
    rows, columns = sizes["rows"], sizes["columns"]
    upright = 0.5 * np.sqrt(max(rows, 1)) * np.eye(rows, columns)
    return {"A": (rng.uniform(-1.0, 1.2, (rows, columns)) + upright).astype(dtype)}


def tolerance(sizes: Sizes) -> float:
    """Products over the rows in any order, on columns that carry the errors of those before."""
    return 16.0 * (sizes["rows"] + sizes["columns"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per column its norm and the division, 3 per row; per pair of columns a product and an update, 4 per row."""
    rows, columns = sizes["rows"], sizes["columns"]
    return Work(
        bytes=(2 * rows * columns + columns * columns) * dtype.itemsize,
        flops=rows * (3 * columns + 4 * (columns * (columns - 1) // 2)),
    )


KERNEL = Kernel(
    name="gram_schmidt",
    known_as="gramschmidt",
    function=gram_schmidt,
    title="Gram-Schmidt orthonormalisation",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={
        "S": {"rows": 100, "columns": 80},
        "M": {"rows": 240, "columns": 210},
        "L": {"rows": 600, "columns": 500},
        "paper": {"rows": 240, "columns": 200},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("A", RETURN),
    tolerance=tolerance,
    work=work,
)
