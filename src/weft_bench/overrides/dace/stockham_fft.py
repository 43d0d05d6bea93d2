"""Stockham's transform for DaCe, whose arrays keep their shape: places in the vector, computed from four loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CONCRETE = "its frontend cannot print a quotient of symbols in an index"


def stockham_fft(x: NDArray[Any], radix: int, stages: int) -> NDArray[Any]:
    """The small transforms, the twiddle factors and the transposition in one expression; once per stage."""
    y = x.copy()
    z = np.empty_like(x)
    root = np.empty_like(x)
    small = np.empty((radix, radix), x.dtype)
    for i in range(len(x)):
        root[i] = np.exp(-2.0j * np.pi * (i * 1.0 / len(x)))
    for d in range(radix):
        for f in range(radix):
            small[d, f] = np.exp(-2.0j * np.pi * (d * f * 1.0 / radix))
    stride = 1
    shorter = len(x) // radix
    for _ in range(stages):
        for m in range(shorter):
            for f in range(radix):
                for t in range(stride):
                    z[(m * radix + f) * stride + t] = 0.0
                    for d in range(radix):
                        z[(m * radix + f) * stride + t] += (
                            root[f * m * stride] * small[d, f] * y[d * (len(x) // radix) + m * stride + t]
                        )
        y[:] = z
        stride = stride * radix
        shorter = shorter // radix
    return y
