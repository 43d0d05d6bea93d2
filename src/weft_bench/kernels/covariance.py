"""Covariances between the columns of a table, row by row of the result; the table is centred in place.

in:   `data` (observations x variables)
out:  a new symmetric matrix (variables x variables), c[i, j] = (sum over the observations of d_i d_j) /
      (observations - 1), where d_i is column i less its mean; `data` has become the d
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def covariance(data: NDArray[Any]) -> NDArray[Any]:
    """Only the upper triangle is computed, and mirrored."""
    observations, variables = data.shape
    data -= np.mean(data, axis=0)
    result = np.empty((variables, variables), data.dtype)
    for i in range(variables):
        row = data[:, i] @ data[:, i:] / (observations - 1)
        result[i, i:] = row
        result[i:, i] = row
    return result


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Variables that share a part of their noise, around different means."""
    observations, variables = sizes["observations"], sizes["variables"]
    noise = rng.uniform(-1.0, 1.0, (observations, variables)) + rng.uniform(-0.5, 0.5, (observations, 1))
    return {"data": (noise + rng.uniform(-1.0, 2.0, variables)).astype(dtype)}


def tolerance(sizes: Sizes) -> float:
    """Means and products: sums over the observations in any order."""
    return 16.0 * (sizes["observations"] + 8)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """2 per number of the table for mean and centre; a product of two columns for each pair, once."""
    observations, variables = sizes["observations"], sizes["variables"]
    pairs = variables * (variables + 1) // 2
    return Work(
        bytes=(2 * observations * variables + variables * variables) * dtype.itemsize,
        flops=2 * observations * variables + 2 * observations * pairs,
    )


KERNEL = Kernel(
    name="covariance",
    known_as="covariance",
    function=covariance,
    title="Covariance matrix, row by row",
    domain="Statistics",
    dwarf="Dense linear algebra",
    presets={
        "S": {"observations": 450, "variables": 350},
        "M": {"observations": 1000, "variables": 700},
        "L": {"observations": 1900, "variables": 1400},
        "paper": {"observations": 1400, "variables": 1200},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=("data", RETURN),
    tolerance=tolerance,
    work=work,
)
