"""Layers of neural networks in other words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def softmax(x: NDArray[Any]) -> NDArray[Any]:
    """Methods and in-place operators on one buffer."""
    weights = x - x.max(axis=-1)[..., np.newaxis]
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights


def perceptron(
    x: NDArray[Any],
    w1: NDArray[Any],
    b1: NDArray[Any],
    w2: NDArray[Any],
    b2: NDArray[Any],
    w3: NDArray[Any],
    b3: NDArray[Any],
) -> NDArray[Any]:
    """The layers in a list; the last one is normalised instead of rectified."""
    layers = [(w1, b1), (w2, b2), (w3, b3)]
    values = x
    for number, (weights, bias) in enumerate(layers, start=1):
        values = values.dot(weights) + bias
        if number < len(layers):
            values *= values > 0
    values -= values.max(axis=1).reshape(-1, 1)
    odds = np.exp(values)
    return odds / odds.sum(axis=1)[:, None]
