"""Stockham's transform for DaCe, whose arrays keep their shape: places in the vector, computed from four loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def stockham_fft(x: NDArray[Any], radix: int, stages: int) -> NDArray[Any]:
    """The small transforms, the twiddle factors and the transposition in one expression; once per stage."""
    y = x.copy()
    z = np.empty_like(x)
    small = np.empty((radix, radix), x.dtype)
    for d in range(radix):
        for f in range(radix):
            small[d, f] = np.exp(-2.0j * (np.pi * d * f / radix))
    for stage in range(stages):
        for m in range(len(x) // radix ** (stage + 1)):
            for f in range(radix):
                twiddle = np.exp(-2.0j * (np.pi * f * m * radix**stage / len(x)))
                for t in range(radix**stage):
                    z[(m * radix + f) * radix**stage + t] = 0.0
                    for d in range(radix):
                        z[(m * radix + f) * radix**stage + t] += (
                            twiddle * small[d, f] * y[d * (len(x) // radix) + m * radix**stage + t]
                        )
        y[:] = z
    return y
