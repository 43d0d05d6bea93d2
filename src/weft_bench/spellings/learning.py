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


def convolution(x: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any]) -> NDArray[Any]:
    """One product over the channels for every place in the window, on shifted images."""
    batch, rows, columns, _ = x.shape
    size = weights.shape[0]
    height, width = rows - size + 1, columns - size + 1
    y = np.broadcast_to(bias, (batch, height, width, bias.shape[0])).copy()
    for a in range(size):
        for b in range(size):
            window = x[:, a : a + height, b : b + width]
            y += np.tensordot(window, weights[a, b], axes=([3], [0]))
    return y


def rectify(x: NDArray[Any]) -> NDArray[Any]:
    """What is not positive becomes zero."""
    return np.where(x > 0, x, 0)


def pooled_layer(x: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any]) -> NDArray[Any]:
    """A convolution on sliding windows, rectified, and the largest number of each block of four."""
    windows = np.lib.stride_tricks.sliding_window_view(x, weights.shape[:2], axis=(1, 2))
    y = rectify(np.tensordot(windows, weights, axes=((3, 4, 5), (2, 0, 1))) + bias)
    batch, rows, columns, filters = y.shape
    blocks = y[:, : rows // 2 * 2, : columns // 2 * 2].reshape(batch, rows // 2, 2, columns // 2, 2, filters)
    return blocks.max(axis=(2, 4))


def lenet(  # noqa: PLR0913, PLR0917 - the kernel's arguments
    x: NDArray[Any],
    w1: NDArray[Any],
    b1: NDArray[Any],
    w2: NDArray[Any],
    b2: NDArray[Any],
    w3: NDArray[Any],
    b3: NDArray[Any],
    w4: NDArray[Any],
    b4: NDArray[Any],
    w5: NDArray[Any],
    b5: NDArray[Any],
) -> NDArray[Any]:
    """Layers from helpers; windows and blocks are views with more axes."""
    images = pooled_layer(pooled_layer(x, w1, b1), weights=w2, bias=b2)
    hidden = images.reshape(len(images), -1)
    for weights, bias in ((w3, b3), (w4, b4)):
        hidden = rectify(hidden.dot(weights) + bias)
    return np.add(hidden @ w5, b5)


def standardise(x: NDArray[Any], epsilon: float = 1e-5) -> NDArray[Any]:
    """In place: every channel with mean 0 and variance 1."""
    channels = (0, 1, 2)
    x -= x.mean(axis=channels)
    x /= np.sqrt(np.var(x, axis=channels) + epsilon)
    return x


def residual_block(x: NDArray[Any], w1: NDArray[Any], w2: NDArray[Any], w3: NDArray[Any]) -> NDArray[Any]:
    """Zeros around the image by padding; one buffer that is changed in place."""
    _, rows, columns, _ = x.shape
    narrow = np.pad(rectify(standardise(np.dot(x, w1))), ((0, 0), (1, 1), (1, 1), (0, 0)))
    convolved = np.zeros((*x.shape[:3], w2.shape[-1]), dtype=x.dtype)
    for a, b in np.ndindex(3, 3):
        convolved += narrow[:, a : a + rows, b : b + columns] @ w2[a, b]
    wide = standardise(rectify(standardise(convolved)) @ w3)
    wide += x
    return np.maximum(wide, 0, out=wide)
