"""A symmetric matrix changed by the products of two others: the lower triangle of alpha (A B^T + B A^T) + beta C.

in:   numbers `alpha`, `beta`; `A` and `B` (rows x inner), `C` (rows x rows)
out:  `C` in place, for j <= i:
      C[i, j] = beta C[i, j] + sum over k = 0, 1, ... of (alpha B[i, k] A[j, k] + alpha A[i, k] B[j, k]);
      what is above the diagonal stays as it is
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def symmetric_rank_2k(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any]) -> None:
    """Row by row up to the diagonal, one pair of columns after the other."""
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * B[i, k] * A[: i + 1, k] + alpha * A[i, k] * B[: i + 1, k]


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Numbers of both signs."""
    rows, inner = sizes["rows"], sizes["inner"]
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": rng.uniform(-0.5, 1.0, (rows, inner)).astype(dtype),
        "B": rng.uniform(-1.0, 0.5, (rows, inner)).astype(dtype),
        "C": rng.uniform(-0.5, 1.0, (rows, rows)).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """What is added up over the columns, in any order."""
    return 16.0 * (sizes["inner"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per number of the lower triangle two sums of products, two factors and their sum."""
    rows, inner = sizes["rows"], sizes["inner"]
    triangle = rows * (rows + 1) // 2
    return Work(bytes=(2 * rows * inner + 2 * triangle) * dtype.itemsize, flops=triangle * (4 * inner + 2))


KERNEL = Kernel(
    name="symmetric_rank_2k",
    known_as="syr2k",
    function=symmetric_rank_2k,
    title="Symmetric update by two matrices",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={
        "S": {"rows": 55, "inner": 45},
        "M": {"rows": 160, "inner": 140},
        "L": {"rows": 480, "inner": 400},
        "paper": {"rows": 1200, "inner": 1000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("C",),
    tolerance=tolerance,
    work=work,
)
