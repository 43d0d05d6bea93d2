"""Deriche's recursive filter: an image smoothed along its rows, then along its columns, at a cost free of the width.

in:   `image` (rows x columns); `alpha`, a positive number of the image's type: the smaller, the wider the smoothing
out:  a new image; there must be at least two rows and two columns

A line x is smoothed to y[n] = sum over m of x[m] S(n - m), where S(d) = k (alpha |d| + 1) e^(-alpha |d|) and
k = (1 - e^-alpha)^2 / (1 + 2 alpha e^-alpha - e^(-2 alpha)), so that the S(d) add up to 1; outside of the line x is 0.
This is the sum f + g of two recursions, each with zeros in front of its first two terms:
    f[n] = k x[n] + k e^-alpha (alpha - 1) x[n-1] + 2 e^-alpha f[n-1] - e^(-2 alpha) f[n-2]           upwards
    g[n] = k e^-alpha (alpha + 1) x[n+1] - k e^(-2 alpha) x[n+2] + 2 e^-alpha g[n+1] - e^(-2 alpha) g[n+2]   downwards
First every row is smoothed (n counts the columns), then every column of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def deriche(alpha: Any, image: NDArray[Any]) -> NDArray[Any]:
    """All rows go through the recursion side by side, then all columns."""
    decay = np.exp(-alpha)
    decay2 = decay * decay
    k = (1.0 - decay) ** 2 / (1.0 + 2.0 * alpha * decay - decay2)
    up0, up1 = k, k * decay * (alpha - 1.0)
    down1, down2 = k * decay * (alpha + 1.0), -k * decay2
    near, far = 2.0 * decay, -decay2
    rows, columns = image.shape

    forward = np.empty((rows, columns), image.dtype)
    backward = np.empty((rows, columns), image.dtype)
    forward[:, 0] = up0 * image[:, 0]
    forward[:, 1] = up0 * image[:, 1] + up1 * image[:, 0] + near * forward[:, 0]
    for j in range(2, columns):
        forward[:, j] = up0 * image[:, j] + up1 * image[:, j - 1] + near * forward[:, j - 1] + far * forward[:, j - 2]
    backward[:, -1] = 0.0
    backward[:, -2] = down1 * image[:, -1]
    for j in range(columns - 3, -1, -1):
        backward[:, j] = (
            down1 * image[:, j + 1] + down2 * image[:, j + 2] + near * backward[:, j + 1] + far * backward[:, j + 2]
        )
    smooth = forward + backward

    forward[0] = up0 * smooth[0]
    forward[1] = up0 * smooth[1] + up1 * smooth[0] + near * forward[0]
    for i in range(2, rows):
        forward[i] = up0 * smooth[i] + up1 * smooth[i - 1] + near * forward[i - 1] + far * forward[i - 2]
    backward[-1] = 0.0
    backward[-2] = down1 * smooth[-1]
    for i in range(rows - 3, -1, -1):
        backward[i] = down1 * smooth[i + 1] + down2 * smooth[i + 2] + near * backward[i + 1] + far * backward[i + 2]
    return forward + backward


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A picture of noise that is not square."""
    return {
        "alpha": dtype.type(0.3),
        "image": rng.uniform(-0.5, 1.0, (sizes["rows"], sizes["columns"])).astype(dtype),
    }


def tolerance(_sizes: Sizes) -> float:
    """An exponential within 4 ulp, whose error both recursions raise by about 1 / (1 - e^-alpha)^2."""
    return 512.0


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per pixel and direction two recursions of 4 multiplications and 3 additions, and their sum."""
    pixels = sizes["rows"] * sizes["columns"]
    return Work(bytes=2 * pixels * dtype.itemsize, flops=2 * (7 + 7 + 1) * pixels)


KERNEL = Kernel(
    name="deriche",
    known_as="deriche",
    function=deriche,
    title="Deriche's recursive filter",
    domain="Signal processing",
    dwarf="Structured grids",
    presets={
        "S": {"rows": 380, "columns": 400},
        "M": {"rows": 1100, "columns": 1200},
        "L": {"rows": 3200, "columns": 3400},
        "paper": {"rows": 7680, "columns": 4320},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
