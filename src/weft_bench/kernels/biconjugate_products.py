"""The two products of a step of the biconjugate gradient method: A p and A^T r.

in:   `A` (rows x columns), `p` (columns), `r` (rows)
out:  two new vectors: A p (rows) and A^T r (columns)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def biconjugate_products(A: NDArray[Any], p: NDArray[Any], r: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two new vectors: A p, and r A."""
    return A @ p, r @ A


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A matrix with entries of both signs, and two directions."""
    rows, columns = sizes["rows"], sizes["columns"]
    return {
        "A": rng.uniform(-0.5, 1.0, (rows, columns)).astype(dtype),
        "p": rng.uniform(-1.0, 2.0, columns).astype(dtype),
        "r": rng.uniform(-1.0, 2.0, rows).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """Any order of the sums over columns or rows, on both sides."""
    return 4.0 * (sizes["rows"] + sizes["columns"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """A multiplication and an addition per entry of A and product."""
    rows, columns = sizes["rows"], sizes["columns"]
    return Work(bytes=(rows * columns + 2 * (rows + columns)) * dtype.itemsize, flops=4 * rows * columns)


KERNEL = Kernel(
    name="biconjugate_products",
    known_as="bicg",
    function=biconjugate_products,
    title="Products of the biconjugate gradient method (bicg)",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={  # memory bounds L
        "S": {"rows": 3900, "columns": 4100},
        "M": {"rows": 10000, "columns": 10500},
        "L": {"rows": 16000, "columns": 17500},
        "paper": {"rows": 22000, "columns": 18000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
