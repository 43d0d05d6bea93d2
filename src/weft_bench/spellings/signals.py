"""Filters and transforms in other words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def smooth_rows(alpha: Any, image: NDArray[Any]) -> NDArray[Any]:
    """Both recursions on buffers with two columns of zeros in front and behind, so that no column is special."""
    decay = np.exp(-alpha)
    k = (1 - decay) ** 2 / (1 + 2 * alpha * decay - decay**2)
    rows, columns = image.shape
    x = np.zeros((rows, columns + 4), image.dtype)
    x[:, 2:-2] = image
    f, g = np.zeros_like(x), np.zeros_like(x)
    for n in range(2, columns + 2):
        f[:, n] = k * (x[:, n] + decay * (alpha - 1) * x[:, n - 1])
        f[:, n] += 2 * decay * f[:, n - 1] - decay**2 * f[:, n - 2]
    for n in reversed(range(2, columns + 2)):
        g[:, n] = k * decay * ((alpha + 1) * x[:, n + 1] - decay * x[:, n + 2])
        g[:, n] += 2 * decay * g[:, n + 1] - decay**2 * g[:, n + 2]
    return (f + g)[:, 2:-2]


def deriche(alpha: Any, image: NDArray[Any]) -> NDArray[Any]:
    """The same function for the rows and, on the transpose, for the columns."""
    return smooth_rows(alpha, smooth_rows(alpha, image).T).T


def stockham_fft(x: NDArray[Any], radix: int, stages: int) -> NDArray[Any]:
    """The sums of every stage written out, with swapped buffers and the exponentials of `cmath`."""
    import cmath

    turn = -2j * cmath.pi
    old, new = x.copy(), np.empty_like(x)
    length, stride = x.size, 1
    for _ in range(stages):
        part = length // radix
        before, after = old.reshape(radix, part, stride), new.reshape(part, radix, stride)
        for f in range(radix):
            total = np.zeros((part, stride), dtype=x.dtype)
            for d in range(radix):
                total += cmath.exp(turn * d * f / radix) * before[d]
            for m in range(part):
                after[m, f] = cmath.exp(turn * f * m / length) * total[m]
        length, stride = part, stride * radix
        old, new = new, old
    return old
