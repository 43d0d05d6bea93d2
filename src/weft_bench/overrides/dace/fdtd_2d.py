"""Electromagnetic waves for DaCe, which loops over numbers and not over arrays."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def fdtd_2d(ex: NDArray[Any], ey: NDArray[Any], hz: NDArray[Any], source: NDArray[Any]) -> None:
    """One step per number in `source`, which drives the first edge; the other edges keep their field."""
    for step in range(len(source)):
        ey[0] = source[step]
        ey[1:-1] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:-1] += 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz += 0.7 * (ex[:, 1:] - ex[:, :-1] - ey[1:] + ey[:-1])
