"""A matrix shifted by the sum of the hyperbolic tangents of its diagonal.

in:   `a` (n x n)
out:  a new matrix, a[i, j] + (tanh(a[0, 0]) + tanh(a[1, 1]) + ... + tanh(a[n-1, n-1]))
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def trace_shift(a: NDArray[Any]) -> NDArray[Any]:
    """The sum in a loop, then the shift of all at once."""
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Numbers where the tangent bends, more of them positive."""
    return {"a": rng.uniform(-1.0, 2.0, (sizes["n"], sizes["n"])).astype(dtype)}


def tolerance(sizes: Sizes) -> float:
    """Tangents within 4 ulp, summed in any order; those of both signs cancel in part."""
    return 4.0 * (sizes["n"] + 8)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """A tangent and an addition per number of the diagonal, an addition per number of the matrix."""
    n = sizes["n"]
    return Work(bytes=2 * n * n * dtype.itemsize, flops=2 * n + n * n)


KERNEL = Kernel(
    name="trace_shift",
    known_as="go_fast",
    function=trace_shift,
    title="Shift by a trace",
    domain="Linear algebra",
    dwarf="Dense linear algebra",
    presets={
        "S": {"n": 2200},
        "M": {"n": 6000},
        "L": {"n": 14_000},
        "paper": {"n": 12500},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
