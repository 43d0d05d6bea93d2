"""Three-layer perceptron for Pythran, whose reductions have no `keepdims`: the axis is put back by an index."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


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
    hidden = np.maximum(x @ w1 + b1, 0.0)
    hidden = np.maximum(hidden @ w2 + b2, 0.0)
    scores = hidden @ w3 + b3
    weights = np.exp(scores - np.max(scores, axis=-1)[:, None])
    return weights / np.sum(weights, axis=-1)[:, None]
