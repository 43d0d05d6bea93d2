"""LU factorisation with row and column products: A = L U, with U and the part of L below its ones in place of A.

in:   `A` (n x n), which needs no pivots
out:  `A` in place: U on and above the diagonal, below it L less its ones. Row by row,
      L[i, j] = (A[i, j] - sum over k < j of L[i, k] U[k, j]) / U[j, j] for j < i and
      U[i, j] = A[i, j] - sum over k < i of L[i, k] U[k, j] for j >= i
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def lu(A: NDArray[Any]) -> None:
    """Factorise A in place, row by row and without pivots."""
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[:j, j]) / A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A matrix whose diagonal is strong enough to do without pivots."""
    n = sizes["n"]
    return {"A": (rng.uniform(-0.5, 1.0, (n, n)) + n * np.eye(n)).astype(dtype)}


def tolerance(sizes: Sizes) -> float:
    """Dot products in any order; errors add up over the rows before."""
    return 8.0 * (sizes["n"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """In row i 2 j + 1 for each j < i and 2 i for the others, n - i of them."""
    n = sizes["n"]
    return Work(bytes=2 * n * n * dtype.itemsize, flops=n * n * (n - 1) - n * (n - 1) * (2 * n - 1) // 6)


KERNEL = Kernel(
    name="lu",
    known_as="lu",
    function=lu,
    title="LU factorisation with row products",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={
        "S": {"n": 80},
        "M": {"n": 250},
        "L": {"n": 600},
        "paper": {"n": 2000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("A",),
    tolerance=tolerance,
    work=work,
)
