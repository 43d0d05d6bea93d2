"""Cholesky factorisation by the library: the lower triangular L with A = L L^T.

in:   `A` (n x n), positive definite; only its lower triangle is looked at, so that of a symmetric matrix
out:  a new matrix L with a positive diagonal and zeros above it; A stays as it is

A matrix that is not positive definite raises `numpy.linalg.LinAlgError`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def library_cholesky(A: NDArray[Any]) -> NDArray[Any]:
    """One call."""
    return np.linalg.cholesky(A)


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A symmetric, well-conditioned matrix."""
    n = sizes["n"]
    factor = rng.uniform(-0.5, 1.0, (n, n))
    return {"A": (factor @ factor.T + 0.5 * n * np.eye(n)).astype(dtype)}


def tolerance(sizes: Sizes) -> float:
    """Sums in any order; errors add up over the rows before."""
    return 8.0 * (sizes["n"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """In row i 2 j + 1 for each j < i, 2 i + 1 on the diagonal; the lower triangle is read, the whole of L written."""
    n = sizes["n"]
    return Work(bytes=(n * (n + 1) // 2 + n * n) * dtype.itemsize, flops=n * (n - 1) * (2 * n - 1) // 6 + n * n)


KERNEL = Kernel(
    name="library_cholesky",
    known_as="cholesky2",
    function=library_cholesky,
    title="Cholesky factorisation by the library",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={
        "S": {"n": 700},
        "M": {"n": 1800},
        "L": {"n": 4000},
        "paper": {"n": 2000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
