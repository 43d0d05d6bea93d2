"""Softmax for Pythran, whose reductions have no `keepdims`: the axis is put back by an index."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def softmax(x: NDArray[Any]) -> NDArray[Any]:
    """Weights that are positive and sum to one."""
    largest = np.max(x, axis=-1)
    weights = np.exp(x - largest[:, :, :, None])
    return weights / np.sum(weights, axis=-1)[:, :, :, None]
