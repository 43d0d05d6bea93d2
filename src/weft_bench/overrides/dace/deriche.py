"""Deriche's recursive filter for DaCe, where extents are symbols: those of the image, written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def deriche(alpha: Any, image: NDArray[Any]) -> NDArray[Any]:
    """All rows go through the recursion side by side, then all columns."""
    decay = np.exp(-alpha)
    decay2 = decay * decay
    k = (1.0 - decay) * (1.0 - decay) / (1.0 + 2.0 * alpha * decay - decay2)
    up1 = k * decay * (alpha - 1.0)
    down1 = k * decay * (alpha + 1.0)
    down2 = -k * decay2
    near = 2.0 * decay
    far = -decay2

    forward = np.empty_like(image)
    backward = np.empty_like(image)
    forward[:, 0] = k * image[:, 0]
    forward[:, 1] = k * image[:, 1] + up1 * image[:, 0] + near * forward[:, 0]
    for j in range(2, image.shape[1]):
        forward[:, j] = k * image[:, j] + up1 * image[:, j - 1] + near * forward[:, j - 1] + far * forward[:, j - 2]
    backward[:, -1] = 0.0
    backward[:, -2] = down1 * image[:, -1]
    for j in range(image.shape[1] - 3, -1, -1):
        backward[:, j] = (
            down1 * image[:, j + 1] + down2 * image[:, j + 2] + near * backward[:, j + 1] + far * backward[:, j + 2]
        )
    smooth = forward + backward

    forward[0] = k * smooth[0]
    forward[1] = k * smooth[1] + up1 * smooth[0] + near * forward[0]
    for i in range(2, image.shape[0]):
        forward[i] = k * smooth[i] + up1 * smooth[i - 1] + near * forward[i - 1] + far * forward[i - 2]
    backward[-1] = 0.0
    backward[-2] = down1 * smooth[-1]
    for i in range(image.shape[0] - 3, -1, -1):
        backward[i] = down1 * smooth[i + 1] + down2 * smooth[i + 2] + near * backward[i + 1] + far * backward[i + 2]
    return forward + backward
