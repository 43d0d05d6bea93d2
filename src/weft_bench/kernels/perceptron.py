"""A perceptron with two hidden layers: dense layers, rectified, and a softmax over the classes.

in:   `x` (batch x features); the weights and biases of three layers: `w1` (features x first), `b1` (first), `w2`
      (first x second), `b2`, `w3` (second x classes), `b3`
out:  a new array (batch x classes): softmax(relu(relu(x w1 + b1) w2 + b2) w3 + b3), where relu(t) = max(t, 0) and the
      softmax of a row s is e^(s - m) / (sum of e^(s - m)), m being the largest of the row
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work

LEVEL = 800.0  # e^710 is infinite in float64


def perceptron(
    x: NDArray[Any],
    w1: NDArray[Any],
    b1: NDArray[Any],
    w2: NDArray[Any],
    b2: NDArray[Any],
    w3: NDArray[Any],
    b3: NDArray[Any],
) -> NDArray[Any]:
    """The probability of every class, for every row of x."""
    hidden = np.maximum(x @ w1 + b1, 0.0)
    hidden = np.maximum(hidden @ w2 + b2, 0.0)
    scores = hidden @ w3 + b3
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return weights / np.sum(weights, axis=-1, keepdims=True)


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Layers of four different widths; scores whose exponentials would overflow, but for a class that is never met."""
    widths = [sizes[name] for name in ("features", "first", "second", "classes")]
    inputs: Inputs = {"x": rng.uniform(-1.0, 1.0, (sizes["batch"], widths[0])).astype(dtype)}
    for layer, (before, after) in enumerate(pairwise(widths), start=1):
        inputs[f"w{layer}"] = (rng.normal(0.0, 1.4, (before, after)) / np.sqrt(max(before, 1))).astype(dtype)
        inputs[f"b{layer}"] = rng.uniform(-0.2, 0.3, after).astype(dtype)
    inputs["b3"] += dtype.type(LEVEL)
    inputs["b3"][:1] -= dtype.type(3.0 * LEVEL)
    return inputs


def tolerance(sizes: Sizes) -> float:
    """The sums of all layers in any order, on both sides; exponentials within 4 ulp, of scores rounded at LEVEL."""
    return 4.0 * LEVEL + 16.0 * (sizes["features"] + sizes["first"] + sizes["second"] + sizes["classes"] + 8)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Two per weight and row of the batch, one per relu, 5 per class for the softmax."""
    widths = [sizes[name] for name in ("features", "first", "second", "classes")]
    weights = sum(before * after for before, after in pairwise(widths))
    arrays = sizes["batch"] * (widths[0] + widths[3]) + weights + sum(widths[1:])
    flops = sizes["batch"] * (2 * weights + widths[1] + widths[2] + 5 * widths[3])
    return Work(bytes=arrays * dtype.itemsize, flops=flops)


KERNEL = Kernel(
    name="perceptron",
    known_as="mlp",
    function=perceptron,
    title="Three-layer perceptron",
    domain="Machine learning",
    dwarf="Dense linear algebra",
    presets={
        "S": {"batch": 450, "features": 500, "first": 600, "second": 400, "classes": 100},
        "M": {"batch": 1300, "features": 1200, "first": 1400, "second": 1000, "classes": 300},
        "L": {"batch": 3200, "features": 2600, "first": 3000, "second": 2200, "classes": 700},
        "paper": {"batch": 8, "features": 3, "first": 30000, "second": 10000, "classes": 1000},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
