# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The perceptron for Numba, whose `np.max` and `np.sum` know no `keepdims`: the softmax in a loop over the rows."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, parallel=True, cache=True)
def perceptron(
    x: NDArray[Any],
    w1: NDArray[Any],
    b1: NDArray[Any],
    w2: NDArray[Any],
    b2: NDArray[Any],
    w3: NDArray[Any],
    b3: NDArray[Any],
) -> NDArray[Any]:
    """The probability of every class, for every row of x."""
    hidden = np.maximum(x @ w1 + b1, x.dtype.type(0.0))
    hidden = np.maximum(hidden @ w2 + b2, x.dtype.type(0.0))
    scores = hidden @ w3 + b3
    weights = np.empty_like(scores)
    for i in numba.prange(scores.shape[0]):
        row = np.exp(scores[i] - np.max(scores[i]))
        weights[i] = row / np.sum(row)
    return weights
