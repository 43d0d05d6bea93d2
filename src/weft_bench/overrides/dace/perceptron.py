"""Three-layer perceptron for DaCe, which keeps reduced axes in the `reduce` of its ufuncs alone."""

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
    first = np.maximum(x @ w1 + b1, 0.0)
    second = np.maximum(first @ w2 + b2, 0.0)
    scores = second @ w3 + b3
    weights = np.exp(scores - np.maximum.reduce(scores, axis=-1, keepdims=True))
    return weights / np.add.reduce(weights, axis=-1, keepdims=True)
