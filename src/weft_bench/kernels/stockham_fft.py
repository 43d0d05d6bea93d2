"""The discrete Fourier transform by Stockham's algorithm, which needs no reversal of digits.

in:   `x`, a complex vector of radix^stages numbers; the integers `radix` and `stages`
out:  a new vector y of the type of x, y[k] = sum over n of x[n] e^(-2 pi i n k / N), N being the length of x

Each stage splits a transform of length L at stride s (L s = N; L is N in the first stage) into `radix` ones of length
M = L / radix at stride radix s: with x seen as radix x M x s and y as M x radix x s,
    y[m, f, t] = e^(-2 pi i f m / L) sum over d < radix of e^(-2 pi i d f / radix) x[d, m, t]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def roots(rows: int, columns: int, period: int, dtype: Any) -> NDArray[Any]:
    """e^(-2 pi i r c / period) for all rows r and columns c."""
    angle = -2.0 * np.pi / period * np.outer(np.arange(rows), np.arange(columns))
    return np.exp(1j * angle).astype(dtype)


def stockham_fft(x: NDArray[Any], radix: int, stages: int) -> NDArray[Any]:
    """A small transform as a matrix product, the twiddle factors, a transposition; once per stage."""
    points = x.shape[0]
    small = roots(radix, radix, radix, x.dtype)
    y = x.copy()
    stride = 1
    for _ in range(stages):
        length = points // stride
        shorter = length // radix
        y = small @ y.reshape(radix, shorter * stride)
        y = y.reshape(radix, shorter, stride) * roots(radix, shorter, length, x.dtype)[:, :, None]
        y = y.transpose(1, 0, 2).copy().reshape(points)
        stride *= radix
    return y


def count_stages(points: int, radix: int) -> int:
    """The largest power of the radix that does not exceed `points`."""
    stages = 0
    while radix ** (stages + 1) <= points:
        stages += 1
    return stages


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Noise around a mean that is not zero; as many points as the largest power of four that is not above the size."""
    stages = count_stages(sizes["points"], 4)
    points = int(4**stages)
    x = rng.uniform(-0.5, 1.0, points) + 1j * rng.uniform(-1.0, 1.0, points)
    return {"x": x.astype(dtype), "radix": 4, "stages": stages}


def tolerance(sizes: Sizes) -> float:
    """Exponentials within 4 ulp of angles within an ulp, and a sum of four per stage in any order."""
    return 16.0 * (count_stages(sizes["points"], 4) + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """The usual 5 N log2(N) of a complex transform; the roots are not counted."""
    stages = count_stages(sizes["points"], 4)
    points = int(4**stages)
    return Work(bytes=2 * points * dtype.itemsize, flops=5 * points * 2 * stages)


KERNEL = Kernel(
    name="stockham_fft",
    known_as="stockham_fft",
    function=stockham_fft,
    title="Fourier transform after Stockham",
    domain="Signal processing",
    dwarf="Spectral methods",
    presets={
        "S": {"points": 4**8},
        "M": {"points": 4**10},
        "L": {"points": 4**11},
        "paper": {"points": 4**10},
    },
    make_inputs=make_inputs,
    dtypes=("complex64", "complex128"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
