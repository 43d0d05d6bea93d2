"""Cholesky factorisation written in scalar loops: A = L L^T, with L in the lower triangle of A.

in:   `A` (n x n), whose lower triangle with the diagonal is that of a positive definite symmetric matrix
out:  `A` in place: that triangle has become L, what is above it stays as it is. Row by row, for j < i,
      L[i, j] = (A[i, j] - sum over k < j of L[i, k] L[j, k]) / L[j, j], and
      L[i, i] = sqrt(A[i, i] - sum over k < i of L[i, k]^2)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def cholesky(A: NDArray[Any]) -> None:
    """Factorise A in place, row by row; its upper triangle is not looked at."""
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            rest = A[i, j]
            for k in range(j):
                rest -= A[i, k] * A[j, k]
            A[i, j] = rest / A[j, j]
        square = A[i, i]
        for k in range(i):
            square -= A[i, k] * A[i, k]
        A[i, i] = np.sqrt(square)


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A well-conditioned matrix: its lower triangle belongs to a positive definite one, its upper one to nothing."""
    n = sizes["n"]
    factor = rng.uniform(-0.5, 1.0, (n, n))
    matrix = factor @ factor.T + 0.5 * n * np.eye(n)
    return {"A": (np.tril(matrix) + np.triu(rng.uniform(-1.0, 1.0, (n, n)), 1)).astype(dtype)}


def tolerance(sizes: Sizes) -> float:
    """The inner loops are sums, in any order; errors add up over the rows before."""
    return 8.0 * (sizes["n"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """In row i 2 j + 1 for each j < i, 2 i + 1 on the diagonal; of A only the lower triangle, read and written."""
    n = sizes["n"]
    return Work(bytes=n * (n + 1) * dtype.itemsize, flops=n * (n - 1) * (2 * n - 1) // 6 + n * n)


KERNEL = Kernel(
    name="cholesky",
    known_as="cholesky",
    function=cholesky,
    title="Cholesky factorisation in loops",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={
        "S": {"n": 52},
        "M": {"n": 112},
        "L": {"n": 240},
        "paper": {"n": 2000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("A",),
    tolerance=tolerance,
    work=work,
)
