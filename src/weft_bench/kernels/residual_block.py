"""The bottleneck block of a residual network: narrow, convolve, widen, and add what came in; channels last.

in:   `x` (batch x rows x columns x channels); `w1` (channels x inner), `w2` (3 x 3 x inner x inner),
      `w3` (inner x channels)
out:  a new array like x: relu(x + normalise(relu(normalise(relu(normalise(x w1)) * w2)) w3))

Here relu(t) = max(t, 0); a product with w1 or w3 is one over the channels of every pixel; `*` is the convolution
y[n, i, j, f] = sum over a, b in 0..2 and c of x[n, i+a-1, j+b-1, c] w2[a, b, c, f], with zeros outside of the image;
normalise(t) = (t - mean) / sqrt(variance + 1e-5), with the mean and the variance (divided by their number) of each
channel over the whole batch and all pixels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def relu(x: NDArray[Any]) -> NDArray[Any]:
    """What is negative becomes zero."""
    return np.maximum(x, 0.0)


def normalise(x: NDArray[Any]) -> NDArray[Any]:
    """Every channel with mean 0 and variance 1."""
    return (x - np.mean(x, axis=(0, 1, 2))) / np.sqrt(np.var(x, axis=(0, 1, 2)) + 1e-5)


def convolve_same(x: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """A 3 x 3 convolution that keeps the extent of the image, as a sum of nine products."""
    batch, rows, columns, channels = x.shape
    padded = np.zeros((batch, rows + 2, columns + 2, channels), x.dtype)
    padded[:, 1:-1, 1:-1] = x
    y = np.zeros((batch, rows, columns, weights.shape[3]), x.dtype)
    for a in range(3):
        for b in range(3):
            y += padded[:, a : a + rows, b : b + columns] @ weights[a, b]
    return y


def residual_block(x: NDArray[Any], w1: NDArray[Any], w2: NDArray[Any], w3: NDArray[Any]) -> NDArray[Any]:
    """Three layers, and the short cut around them."""
    y = relu(normalise(x @ w1))
    y = relu(normalise(convolve_same(y, w2)))
    y = normalise(y @ w3)
    return relu(x + y)


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Images that are not square; weights of both signs."""
    channels, inner = sizes["channels"], sizes["inner"]
    return {
        "x": rng.uniform(-1.0, 2.0, (sizes["batch"], sizes["rows"], sizes["columns"], channels)).astype(dtype),
        "w1": rng.uniform(-0.6, 0.7, (channels, inner)).astype(dtype),
        "w2": rng.uniform(-0.6, 0.7, (3, 3, inner, inner)).astype(dtype),
        "w3": rng.uniform(-0.6, 0.7, (inner, channels)).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """The sums of all layers and of the statistics in any order, on both sides."""
    pixels = sizes["batch"] * sizes["rows"] * sizes["columns"]
    return 16.0 * (sizes["channels"] + 10 * sizes["inner"] + np.sqrt(pixels) + 8)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Two per weight and pixel (the border's zeros too), 5 per number normalised, one per relu and short cut."""
    channels, inner = sizes["channels"], sizes["inner"]
    pixels = sizes["batch"] * sizes["rows"] * sizes["columns"]
    weights = 2 * channels * inner + 9 * inner * inner
    return Work(
        bytes=(2 * pixels * channels + weights) * dtype.itemsize,
        flops=pixels * (2 * weights + 2 * 6 * inner + 7 * channels),
    )


KERNEL = Kernel(
    name="residual_block",
    known_as="resnet",
    function=residual_block,
    title="Residual bottleneck block",
    domain="Machine learning",
    dwarf="Dense linear algebra",
    presets={
        "S": {"batch": 4, "rows": 28, "columns": 30, "channels": 64, "inner": 16},
        "M": {"batch": 8, "rows": 40, "columns": 42, "channels": 128, "inner": 32},
        "L": {"batch": 8, "rows": 56, "columns": 58, "channels": 256, "inner": 64},
        "paper": {"batch": 8, "rows": 56, "columns": 56, "channels": 256, "inner": 64},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
