"""Durbin's recursion for DaCe, which takes `shape[0]` of a vector for data, and turns a vector around by `np.flip`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def durbin(r: NDArray[Any]) -> NDArray[Any]:
    """The y with T y = -r, where T is symmetric with ones on its diagonal and `r[k - 1]` on the k-th beside it."""
    y = np.empty_like(r)
    y[0] = -r[0]
    error = 1.0 - r[0] * r[0]
    for k in range(1, len(r)):
        reflection = -(r[k] + np.flip(r[:k]) @ y[:k]) / error
        y[:k] += reflection * np.flip(y[:k])
        y[k] = reflection
        error *= 1.0 - reflection * reflection
    return y
