"""Softmax for DaCe, which keeps reduced axes in the `reduce` of its ufuncs alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def softmax(x: NDArray[Any]) -> NDArray[Any]:
    """Weights that are positive and sum to one."""
    largest = np.maximum.reduce(x, axis=-1, keepdims=True)
    weights = np.exp(x - largest)
    return weights / np.add.reduce(weights, axis=-1, keepdims=True)
