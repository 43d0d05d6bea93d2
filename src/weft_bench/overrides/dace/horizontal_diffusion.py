"""Diffusion along levels for DaCe, where a name keeps its shape: the two directions have names of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def horizontal_diffusion(field: NDArray[Any], strength: NDArray[Any]) -> NDArray[Any]:
    """The field after one step, without the two points at every side that only serve as neighbours."""
    laplacian = 4.0 * field[1:-1, 1:-1] - field[2:, 1:-1] - field[:-2, 1:-1] - field[1:-1, 2:] - field[1:-1, :-2]
    step_x = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
    uphill_x = step_x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0.0
    flux_x = np.where(uphill_x, 0.0, step_x)
    step_y = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
    uphill_y = step_y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0.0
    flux_y = np.where(uphill_y, 0.0, step_y)
    return field[2:-2, 2:-2] - strength * (flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1])
