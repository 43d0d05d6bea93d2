"""Covariances between the columns of a table by one matrix product.

in:   `data` (observations x variables), which stays as it is
out:  a new symmetric matrix (variables x variables), D^T D / (observations - 1), where D is the data less the mean of
      each column
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def covariance_product(data: NDArray[Any]) -> NDArray[Any]:
    """Centre, multiply, scale."""
    centred = data - np.mean(data, axis=0)
    return centred.T @ centred / (data.shape[0] - 1)


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Variables that share a part of their noise, around different means."""
    observations, variables = sizes["observations"], sizes["variables"]
    noise = rng.uniform(-1.0, 1.0, (observations, variables)) + rng.uniform(-0.5, 0.5, (observations, 1))
    return {"data": (noise + rng.uniform(-1.0, 2.0, variables)).astype(dtype)}


def tolerance(sizes: Sizes) -> float:
    """Means and products: sums over the observations in any order."""
    return 16.0 * (sizes["observations"] + 8)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """2 per number of the table for mean and centre; a product of two columns for each pair, once (it is symmetric)."""
    observations, variables = sizes["observations"], sizes["variables"]
    pairs = variables * (variables + 1) // 2
    return Work(
        bytes=(observations * variables + variables * variables) * dtype.itemsize,
        flops=2 * observations * variables + 2 * observations * pairs,
    )


KERNEL = Kernel(
    name="covariance_product",
    known_as="covariance2",
    function=covariance_product,
    title="Covariance matrix by a product",
    domain="Statistics",
    dwarf="Dense linear algebra",
    presets={
        "S": {"observations": 900, "variables": 500},
        "M": {"observations": 2200, "variables": 1400},
        "L": {"observations": 5000, "variables": 3200},
        "paper": {"observations": 1400, "variables": 1200},  # the paper has one covariance: these are its sizes
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
