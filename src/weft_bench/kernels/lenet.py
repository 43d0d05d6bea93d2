"""LeNet-5, a small network that reads digits: two convolutions with pooling, then three dense layers; inference only.

in:   `x` (batch x rows x columns x 1), images; `w1` (5 x 5 x 1 x first), `b1` (first), `w2` (5 x 5 x first x second),
      `b2` (second), the windows and biases of the convolutions; `w3` (flat x third), `b3`, `w4` (third x fourth), `b4`,
      `w5` (fourth x 10), `b5`, the dense layers, where flat is what is left of an image after step 2, times second. The
      layers of LeNet-5 are 6, 16, 120 and 84 wide
out:  a new array (batch x 10), the scores

With relu(t) = max(t, 0), `*` the convolution without padding, channels last
((x * w)[n, i, j, f] = sum over a, b, c of x[n, i+a, j+b, c] w[a, b, c, f]) and pool the largest of each 2 x 2 block of
pixels that do not overlap, for every channel (a last row or column that fills no block is dropped):
 1. x = pool(relu(x * w1 + b1))
 2. x = pool(relu(x * w2 + b2)), and every image is flattened to one row: rows, columns, channels, the last fastest
 3. x = relu(x w3 + b3), x = relu(x w4 + b4), scores = x w5 + b5
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work

WINDOW, CLASSES = 5, 10
WIDTHS = {"first": 6, "second": 16, "third": 120, "fourth": 84}


def relu(x: NDArray[Any]) -> NDArray[Any]:
    """What is negative becomes zero."""
    return np.maximum(x, 0.0)


def convolve(x: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """Place after place, for all images and filters at once."""
    size = weights.shape[0]
    rows, columns = x.shape[1] - size + 1, x.shape[2] - size + 1
    y = np.empty((x.shape[0], rows, columns, weights.shape[3]), x.dtype)
    for i in range(rows):
        for j in range(columns):
            window = x[:, i : i + size, j : j + size, :, None]
            y[:, i, j] = np.sum(window * weights, axis=(1, 2, 3))
    return y


def pool(x: NDArray[Any]) -> NDArray[Any]:
    """The largest of every block of two by two."""
    rows, columns = x.shape[1] // 2, x.shape[2] // 2
    y = np.empty((x.shape[0], rows, columns, x.shape[3]), x.dtype)
    for i in range(rows):
        for j in range(columns):
            y[:, i, j] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2], axis=(1, 2))
    return y


def lenet(  # noqa: PLR0913, PLR0917 - five layers
    x: NDArray[Any],
    w1: NDArray[Any],
    b1: NDArray[Any],
    w2: NDArray[Any],
    b2: NDArray[Any],
    w3: NDArray[Any],
    b3: NDArray[Any],
    w4: NDArray[Any],
    b4: NDArray[Any],
    w5: NDArray[Any],
    b5: NDArray[Any],
) -> NDArray[Any]:
    """The scores of the ten digits for every image."""
    x = pool(relu(convolve(x, w1) + b1))
    x = pool(relu(convolve(x, w2) + b2))
    x = np.reshape(x, (x.shape[0], x.shape[1] * x.shape[2] * x.shape[3]))
    x = relu(x @ w3 + b3)
    x = relu(x @ w4 + b4)
    return x @ w5 + b5


def after_convolutions(extent: int) -> int:
    """What is left of a side of the image after both convolutions and pools."""
    for _ in range(2):
        extent = max(extent - WINDOW + 1, 0) // 2
    return extent


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Images that are not square, the last column of a pool left over, and weights that keep the numbers near one."""
    rows, columns = sizes["rows"], sizes["columns"]
    first, second, third, fourth = (sizes[name] for name in WIDTHS)
    flat = after_convolutions(rows) * after_convolutions(columns) * second
    convolutions = [(WINDOW, WINDOW, 1, first), (WINDOW, WINDOW, first, second)]
    shapes = [*convolutions, (flat, third), (third, fourth), (fourth, CLASSES)]
    inputs: Inputs = {"x": rng.uniform(-0.2, 1.0, (sizes["batch"], rows, columns, 1)).astype(dtype)}
    for layer, shape in enumerate(shapes, start=1):
        terms = max(int(np.prod(shape[:-1])), 1)
        inputs[f"w{layer}"] = (rng.normal(0.0, 1.4, shape) / np.sqrt(terms)).astype(dtype)
        inputs[f"b{layer}"] = rng.uniform(-0.1, 0.2, shape[-1]).astype(dtype)
    return inputs


def tolerance(sizes: Sizes) -> float:
    """The sums of all layers in any order, on both sides."""
    flat = after_convolutions(sizes["rows"]) * after_convolutions(sizes["columns"]) * sizes["second"]
    return 16.0 * (WINDOW**2 * (1 + sizes["first"]) + flat + sizes["third"] + sizes["fourth"])


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Two per weight and place it is used at, one per relu, three comparisons per block; biases count with the sums."""
    batch, flops, values, channels = sizes["batch"], 0, sizes["batch"] * sizes["rows"] * sizes["columns"], 1
    rows, columns = sizes["rows"], sizes["columns"]
    for filters in (sizes["first"], sizes["second"]):
        rows, columns, window = rows - WINDOW + 1, columns - WINDOW + 1, WINDOW * WINDOW * channels
        flops += batch * rows * columns * filters * (2 * window + 1)
        rows, columns, channels = rows // 2, columns // 2, filters
        flops += batch * rows * columns * filters * 3
        values += (window + 1) * filters
    for before, after in pairwise((rows * columns * channels, sizes["third"], sizes["fourth"], CLASSES)):
        flops += 2 * batch * before * after
        values += (before + 1) * after
    flops += batch * (sizes["third"] + sizes["fourth"])
    return Work(bytes=(values + batch * CLASSES) * dtype.itemsize, flops=flops)


KERNEL = Kernel(
    name="lenet",
    known_as="lenet",
    function=lenet,
    title="LeNet-5, inference",
    domain="Machine learning",
    dwarf="Dense linear algebra",
    presets={
        "S": {"batch": 3, "rows": 28, "columns": 33, **WIDTHS},
        "M": {"batch": 52, "rows": 28, "columns": 33, **WIDTHS},
        "L": {"batch": 270, "rows": 32, "columns": 37, **WIDTHS},
        "paper": {"batch": 16, "rows": 256, "columns": 256, **WIDTHS},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
