"""A system of linear equations solved by LU factorisation without pivots and two substitutions.

in:   `A` (n x n), which needs no pivots, and `b` (n)
out:  a new vector x with A x = b; `A` has become its factors: U on and above the diagonal, and below it the part of L
      that is below its ones, with A = L U

Row by row: for j < i, L[i, j] = (A[i, j] - sum_{k<j} L[i, k] U[k, j]) / U[j, j], for j >= i,
U[i, j] = A[i, j] - sum_{k<i} L[i, k] U[k, j]. Then L y = b from the top, U x = y from the bottom.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def lu_solve(A: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Factorise in place, then substitute."""
    n = A.shape[0]
    x = np.empty_like(b)
    y = np.empty_like(b)
    for i in range(n):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[:j, j]) / A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]
    for i in range(n):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A matrix whose diagonal is strong enough to do without pivots."""
    n = sizes["n"]
    return {
        "A": (rng.uniform(-0.5, 1.0, (n, n)) + n * np.eye(n)).astype(dtype),
        "b": rng.uniform(-1.0, 2.0, n).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """Dot products in any order; errors add up over the rows before."""
    return 16.0 * (sizes["n"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """In row i 2 j + 1 for each j < i and 2 i for the others, n - i of them; then two substitutions and a division."""
    n = sizes["n"]
    factors = n * n * (n - 1) - n * (n - 1) * (2 * n - 1) // 6
    return Work(bytes=(2 * n * n + 2 * n) * dtype.itemsize, flops=factors + 2 * n * (n - 1) + n)


KERNEL = Kernel(
    name="lu_solve",
    known_as="ludcmp",
    function=lu_solve,
    title="Linear system by LU factorisation",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={
        "S": {"n": 80},
        "M": {"n": 200},
        "L": {"n": 600},
        "paper": {"n": 2000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("A", RETURN),
    tolerance=tolerance,
    work=work,
)
