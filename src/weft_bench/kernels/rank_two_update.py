"""A matrix changed by two outer products, then used in two matrix-vector products.

in:   numbers `alpha`, `beta`; `A` (rows x columns); `u1`, `u2`, `y` (rows), `v1`, `v2`, `z` (columns)
out:  `A` in place: A[i, j] + u1[i] v1[j] + u2[i] v2[j]; with the new A two new vectors are returned:
      x = beta A^T y + z (columns) and w = alpha A x (rows)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def rank_two_update(  # noqa: PLR0913, PLR0917 - the letters of the formulas
    alpha: float,
    beta: float,
    A: NDArray[Any],
    u1: NDArray[Any],
    v1: NDArray[Any],
    u2: NDArray[Any],
    v2: NDArray[Any],
    y: NDArray[Any],
    z: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """A + u1 v1^T + u2 v2^T in place of A; x = beta A^T y + z and w = alpha A x with the new A."""
    A[:] = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = beta * (A.T @ y) + z
    w = alpha * (A @ x)
    return x, w


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Numbers of both signs; u1, u2, y are as long as the columns of A, v1, v2, z as its rows."""
    rows, columns = sizes["rows"], sizes["columns"]
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": rng.uniform(-0.5, 1.0, (rows, columns)).astype(dtype),
        "u1": rng.uniform(-0.5, 1.0, rows).astype(dtype),
        "v1": rng.uniform(-1.0, 0.5, columns).astype(dtype),
        "u2": rng.uniform(-0.5, 1.0, rows).astype(dtype),
        "v2": rng.uniform(-0.5, 1.0, columns).astype(dtype),
        "y": rng.uniform(-1.0, 2.0, rows).astype(dtype),
        "z": rng.uniform(-1.0, 2.0, columns).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """Any order of the sums over rows and columns, on both sides."""
    return 8.0 * (sizes["rows"] + sizes["columns"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per entry of A 4 for the update and 2 for each product; A is read once and written once."""
    rows, columns = sizes["rows"], sizes["columns"]
    return Work(
        bytes=(2 * rows * columns + 4 * (rows + columns)) * dtype.itemsize,
        flops=8 * rows * columns + 2 * columns + rows,
    )


KERNEL = Kernel(
    name="rank_two_update",
    known_as="gemver",
    function=rank_two_update,
    title="Rank-two update and products (gemver)",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={
        "S": {"rows": 1300, "columns": 1400},
        "M": {"rows": 3600, "columns": 3900},
        "L": {"rows": 11000, "columns": 12000},
        "paper": {"rows": 8000, "columns": 8000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("A", RETURN),
    tolerance=tolerance,
    work=work,
)
