"""Durbin's recursion for DaCe, which takes `shape[0]` of a vector for data, and turns no part of one around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def durbin(r: NDArray[Any]) -> NDArray[Any]:
    """The y with T y = -r, where T is symmetric with ones on its diagonal and `r[k - 1]` on the k-th beside it."""
    y = np.empty_like(r)
    turned = np.empty_like(r)
    backwards = np.empty_like(r)
    for i in range(len(r)):
        backwards[i] = r[len(r) - 1 - i]
    y[0] = -r[0]
    error = 1.0 - r[0] * r[0]
    for k in range(1, len(r)):
        reflection = -(r[k] + backwards[len(r) - k :] @ y[:k]) / error
        for i in range(k):
            turned[i] = y[k - 1 - i]
        y[:k] += reflection * turned[:k]
        y[k] = reflection
        error *= 1.0 - reflection * reflection
    return y
