"""A convolutional layer with a bias: square windows slid over images, channels last.

in:   `x` (batch x rows x columns x channels), images; `weights` (size x size x channels x filters); `bias` (filters)
out:  a new array (batch x (rows - size + 1) x (columns - size + 1) x filters), with
      y[n, i, j, f] = bias[f] + sum over a, b, c of x[n, i + a, j + b, c] weights[a, b, c, f]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def convolution(x: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any]) -> NDArray[Any]:
    """Place after place, for all images and filters at once."""
    size = weights.shape[0]
    rows, columns = x.shape[1] - size + 1, x.shape[2] - size + 1
    y = np.empty((x.shape[0], rows, columns, weights.shape[3]), x.dtype)
    for i in range(rows):
        for j in range(columns):
            window = x[:, i : i + size, j : j + size, :, None]
            y[:, i, j] = np.sum(window * weights, axis=(1, 2, 3))
    return y + bias


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Images that are not square; weights of both signs."""
    size, channels, filters = sizes["size"], sizes["channels"], sizes["filters"]
    return {
        "x": rng.uniform(-1.0, 2.0, (sizes["batch"], sizes["rows"], sizes["columns"], channels)).astype(dtype),
        "weights": rng.uniform(-0.5, 1.0, (size, size, channels, filters)).astype(dtype),
        "bias": rng.uniform(-1.0, 1.0, filters).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """Any order of the sums over the window and the channels, on both sides."""
    return 4.0 * (sizes["size"] ** 2 * sizes["channels"] + 4)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per number of the result a product and a sum for each place of the window; the bias is the last of the sums."""
    batch, channels, filters, size = sizes["batch"], sizes["channels"], sizes["filters"], sizes["size"]
    results = batch * (sizes["rows"] - size + 1) * (sizes["columns"] - size + 1) * filters
    window = size * size * channels
    arrays = batch * sizes["rows"] * sizes["columns"] * channels + window * filters + filters + results
    return Work(bytes=arrays * dtype.itemsize, flops=2 * window * results)


KERNEL = Kernel(
    name="convolution",
    known_as="conv2d_bias",
    function=convolution,
    title="Convolutional layer",
    domain="Machine learning",
    dwarf="Dense linear algebra",
    presets={
        "S": {"batch": 4, "rows": 28, "columns": 30, "channels": 3, "filters": 8, "size": 3},
        "M": {"batch": 8, "rows": 60, "columns": 62, "channels": 3, "filters": 16, "size": 5},
        "L": {"batch": 8, "rows": 92, "columns": 94, "channels": 6, "filters": 16, "size": 7},
        "paper": {"batch": 8, "rows": 256, "columns": 256, "channels": 3, "filters": 16, "size": 20},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
