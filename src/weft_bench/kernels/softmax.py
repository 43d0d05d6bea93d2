"""Softmax over the last axis of a rank-4 array, as in an attention layer (batch, heads, queries, keys).

in:   `x` (batch x heads x queries x keys), scores
out:  a new array like x, along the last axis e^(x - m) / (sum over the axis of e^(x - m)), where m is the largest score
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def softmax(x: NDArray[Any]) -> NDArray[Any]:
    """Weights that are positive and sum to one; the maximum is taken off first, so that nothing overflows."""
    largest = np.max(x, axis=-1, keepdims=True)
    weights = np.exp(x - largest)
    return weights / np.sum(weights, axis=-1, keepdims=True)


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Scores of both signs, in rows so far from zero that their exponentials would overflow; one in eight is masked."""
    shape = (sizes["batch"], sizes["heads"], sizes["queries"], sizes["keys"])
    level = rng.uniform(-1000.0, 1200.0, (*shape[:3], 1))
    masked = 2000.0 * (rng.random(shape) < 0.125)
    return {"x": (rng.uniform(-4.0, 6.0, shape) + level - masked).astype(dtype)}


def tolerance(sizes: Sizes) -> float:
    """Both exponentials within 4 ulp, and the sum over the keys in any order (the terms are positive)."""
    return 16.0 + 2.0 * sizes["keys"]


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per number the maximum, a difference, an exponential, the sum and a division."""
    elements = sizes["batch"] * sizes["heads"] * sizes["queries"] * sizes["keys"]
    return Work(bytes=2 * elements * dtype.itemsize, flops=5 * elements)


KERNEL = Kernel(
    name="softmax",
    known_as="softmax",
    function=softmax,
    title="Softmax over the last axis",
    domain="Machine learning",
    dwarf="Dense linear algebra",
    presets={
        "S": {"batch": 8, "heads": 8, "queries": 120, "keys": 128},
        "M": {"batch": 16, "heads": 16, "queries": 220, "keys": 128},
        "L": {"batch": 32, "heads": 16, "queries": 512, "keys": 256},
        "paper": {"batch": 64, "heads": 16, "queries": 512, "keys": 512},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
