"""A rank-3 array times a matrix along its last axis: a change of basis of every column of fibres.

in:   `A` (slabs x rows x basis), `M` (basis x basis)
out:  `A` in place: A[r, q, p] becomes the sum over s of A[r, q, s] M[s, p]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def mode_product(A: NDArray[Any], M: NDArray[Any]) -> None:
    """Replace each vector `A[i, j]` by its product with M."""
    A[:] = A @ M


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """An array with three different extents."""
    slabs, rows, basis = sizes["slabs"], sizes["rows"], sizes["basis"]
    return {
        "A": rng.uniform(-0.5, 1.0, (slabs, rows, basis)).astype(dtype),
        "M": rng.uniform(-0.5, 1.0, (basis, basis)).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """Any order of the sums over the basis, on both sides."""
    return 4.0 * (sizes["basis"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per number of A a sum of products over the basis."""
    basis, fibres = sizes["basis"], sizes["slabs"] * sizes["rows"]
    return Work(bytes=(2 * fibres * basis + basis * basis) * dtype.itemsize, flops=fibres * basis * (2 * basis - 1))


KERNEL = Kernel(
    name="mode_product",
    known_as="doitgen",
    function=mode_product,
    title="Product along the last axis (doitgen)",
    domain="Quantum chemistry",
    dwarf="Dense linear algebra",
    presets={
        "S": {"slabs": 60, "rows": 70, "basis": 180},
        "M": {"slabs": 130, "rows": 140, "basis": 330},
        "L": {"slabs": 250, "rows": 270, "basis": 620},
        "paper": {"slabs": 220, "rows": 250, "basis": 270},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("A",),
    tolerance=tolerance,
    work=work,
)
