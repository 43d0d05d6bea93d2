"""Durbin's recursion: the linear predictor of a signal from its autocorrelation, a Toeplitz system.

in:   `r` (n), autocorrelations at the distances 1 to n, that at distance 0 being 1
out:  a new vector y (n) with T y = -r, where T[i, j] = 1 for i = j and r[|i - j| - 1] otherwise

y[0] = -r[0] and e = 1 - r[0]^2; then, for k = 1, 2, ...: c = -(r[k] + sum over i < k of r[k-1-i] y[i]) / e,
y[i] += c y[k-1-i] for all i < k at once, y[k] = c, and e is multiplied by 1 - c^2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def durbin(r: NDArray[Any]) -> NDArray[Any]:
    """The y with T y = -r, where T is symmetric with ones on its diagonal and `r[k - 1]` on the k-th beside it."""
    y = np.empty_like(r)
    y[0] = -r[0]
    error = 1.0 - r[0] * r[0]
    for k in range(1, r.shape[0]):
        reflection = -(r[k] + r[k - 1 :: -1] @ y[:k]) / error
        y[:k] += reflection * y[k - 1 :: -1]
        y[k] = reflection
        error *= 1.0 - reflection * reflection
    return y


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Correlations so small that the diagonal dominates."""
    n = sizes["n"]
    return {"r": (rng.uniform(-0.3, 0.4, n) / max(n, 1)).astype(dtype)}


def tolerance(sizes: Sizes) -> float:
    """Dot products in any order, on numbers that carry the error of those before."""
    return 8.0 * (sizes["n"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """At k a product and an update of k numbers, 2 k each, and 6 for the reflection and the error."""
    n = sizes["n"]
    return Work(bytes=2 * n * dtype.itemsize, flops=2 * n * (n - 1) + 6 * (n - 1))


KERNEL = Kernel(
    name="durbin",
    known_as="durbin",
    function=durbin,
    title="Durbin's recursion",
    domain="Signal processing",
    dwarf="Dense linear algebra",
    presets={
        "S": {"n": 1_600},
        "M": {"n": 9_000},
        "L": {"n": 28_000},
        "paper": {"n": 16000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
