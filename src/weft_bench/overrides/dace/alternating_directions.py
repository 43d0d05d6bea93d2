"""Heat by alternating directions for DaCe, where extents are symbols and a name keeps its shape: two of each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def alternating_directions(steps: int, number: float, u: NDArray[Any]) -> None:
    """All lines of one direction are solved side by side."""
    v = u.copy()
    p = np.zeros_like(u[:, 0])
    s = np.zeros_like(u[0])
    q = np.empty_like(u)
    for _ in range(steps):
        right = u[1:-1, 1:-1] + number * (u[1:-1, :-2] - 2.0 * u[1:-1, 1:-1] + u[1:-1, 2:])
        q[0, 1:-1] = v[0, 1:-1]
        for i in range(1, u.shape[0] - 1):
            p[i] = number / (1.0 + 2.0 * number - number * p[i - 1])
            q[i, 1:-1] = (right[i - 1] + number * q[i - 1, 1:-1]) / (1.0 + 2.0 * number - number * p[i - 1])
        for i in range(u.shape[0] - 2, 0, -1):
            v[i, 1:-1] = p[i] * v[i + 1, 1:-1] + q[i, 1:-1]

        below = v[1:-1, 1:-1] + number * (v[:-2, 1:-1] - 2.0 * v[1:-1, 1:-1] + v[2:, 1:-1])
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, u.shape[1] - 1):
            s[j] = number / (1.0 + 2.0 * number - number * s[j - 1])
            q[1:-1, j] = (below[:, j - 1] + number * q[1:-1, j - 1]) / (1.0 + 2.0 * number - number * s[j - 1])
        for j in range(u.shape[1] - 2, 0, -1):
            u[1:-1, j] = s[j] * u[1:-1, j + 1] + q[1:-1, j]
