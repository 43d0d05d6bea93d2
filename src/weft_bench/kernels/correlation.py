"""Pearson's correlations between the columns of a table, row by row of the result.

in:   `data` (observations x variables)
out:  a new symmetric matrix (variables x variables) with ones on its diagonal, and beside it
      r[i, j] = mean over the observations of z_i z_j, where z_i = (data_i - mean(data_i)) / deviation(data_i)

The deviation is the population's (divided by the number of observations); a variable whose deviation is 0 is divided
by 1 instead, so that it correlates with nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def correlation(data: NDArray[Any]) -> NDArray[Any]:
    """Only what is right of the diagonal is computed."""
    observations, variables = data.shape
    deviation = np.std(data, axis=0)
    scores = (data - np.mean(data, axis=0)) / np.where(deviation == 0.0, 1.0, deviation)
    result = np.eye(variables, dtype=data.dtype)
    for i in range(variables - 1):
        row = scores[:, i] @ scores[:, i + 1 :] / observations
        result[i, i + 1 :] = row
        result[i + 1 :, i] = row
    return result


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Variables that share a part of their noise, around different means; one never moves off zero."""
    observations, variables = sizes["observations"], sizes["variables"]
    noise = rng.uniform(-1.0, 1.0, (observations, variables)) + rng.uniform(-0.5, 0.5, (observations, 1))
    data = noise + rng.uniform(-1.0, 2.0, variables)
    data[:, variables // 2 : variables // 2 + 1] = 0.0
    return {"data": data.astype(dtype)}


def tolerance(sizes: Sizes) -> float:
    """Means, deviations and products: sums over the observations in any order."""
    return 16.0 * (sizes["observations"] + 8)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """5 per number of the table for mean, deviation and score; a product of two columns for each pair, once."""
    observations, variables = sizes["observations"], sizes["variables"]
    pairs = variables * (variables - 1) // 2
    return Work(
        bytes=(observations * variables + variables * variables) * dtype.itemsize,
        flops=5 * observations * variables + 2 * observations * pairs,
    )


KERNEL = Kernel(
    name="correlation",
    known_as="correlation",
    function=correlation,
    title="Correlation matrix",
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
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
