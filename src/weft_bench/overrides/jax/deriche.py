# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Deriche's filter for JAX: each recursion is a scan, over the columns of the image and then over its rows."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


def smooth_first_axis(x: NDArray[Any], up: Any, down: Any, feedback: Any) -> NDArray[Any]:
    """Both recursions along the first axis, with zeros in front of their first two terms."""
    near, far = feedback
    zeros = np.zeros_like(x[0])

    def forward(state: Any, now: Any) -> Any:
        before, last, second = state
        new = up[0] * now + up[1] * before + near * last + far * second
        return (now, new, last), new

    def backward(state: Any, now: Any) -> Any:
        after, second_after, last, second = state
        new = down[0] * after + down[1] * second_after + near * last + far * second
        return (now, after, new, last), new

    rising = lax.scan(forward, (zeros, zeros, zeros), x)[1]
    falling = lax.scan(backward, (zeros, zeros, zeros, zeros), x, reverse=True)[1]
    return rising + falling


@jax.jit
def deriche(alpha: Any, image: NDArray[Any]) -> NDArray[Any]:
    """All rows go through the recursion side by side, then all columns."""
    decay = np.exp(-alpha)
    decay2 = decay * decay
    k = (1.0 - decay) ** 2 / (1.0 + 2.0 * alpha * decay - decay2)
    up = k, k * decay * (alpha - 1.0)
    down = k * decay * (alpha + 1.0), -k * decay2
    feedback = 2.0 * decay, -decay2
    smooth = smooth_first_axis(image.T, up, down, feedback).T
    return smooth_first_axis(smooth, up, down, feedback)
