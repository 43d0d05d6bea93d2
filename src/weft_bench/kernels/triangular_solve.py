"""Forward substitution: the X with L X = B, for a lower triangular L and several right-hand sides.

in:   `L` (n x n), of which only the lower triangle with the diagonal is looked at; `B` (n x sides); `X` (n x sides),
      whose contents do not matter
out:  `X` in place: X[i, s] = (B[i, s] - sum over k < i of L[i, k] X[k, s]) / L[i, i], from the first row on
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def triangular_solve(L: NDArray[Any], B: NDArray[Any], X: NDArray[Any]) -> None:
    """Fill X row by row; the part of L above the diagonal is not looked at."""
    for i in range(X.shape[0]):
        X[i] = (B[i] - L[i, :i] @ X[:i]) / L[i, i]


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A matrix with a strong diagonal, so that X stays of the size of B."""
    n, sides = sizes["n"], sizes["sides"]
    matrix = rng.uniform(-0.5, 1.0, (n, n)) / max(n, 1) + np.diag(rng.uniform(1.0, 2.0, n))
    return {
        "L": matrix.astype(dtype),
        "B": rng.uniform(-1.0, 2.0, (n, sides)).astype(dtype),
        "X": rng.uniform(-1.0, 1.0, (n, sides)).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """Dot products in any order, on numbers that carry the error of those before."""
    return 8.0 * (sizes["n"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """In row i 2 i + 1 per side; of L the lower triangle, and X is only written."""
    n, sides = sizes["n"], sizes["sides"]
    return Work(bytes=(n * (n + 1) // 2 + 2 * n * sides) * dtype.itemsize, flops=n * n * sides)


KERNEL = Kernel(
    name="triangular_solve",
    known_as="trisolv",
    function=triangular_solve,
    title="Triangular solve",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={
        "S": {"n": 750, "sides": 90},
        "M": {"n": 2000, "sides": 230},
        "L": {"n": 4000, "sides": 500},
        "paper": {"n": 16_000, "sides": 1},  # the paper has one right-hand side
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("X",),
    tolerance=tolerance,
    work=work,
)
