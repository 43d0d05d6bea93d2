"""Triangular solve for DaCe, whose product of no rows with a matrix is what the memory held: the first row apart."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def triangular_solve(L: NDArray[Any], B: NDArray[Any], X: NDArray[Any]) -> None:
    """Fill X row by row; the part of L above the diagonal is not looked at."""
    X[0] = B[0] / L[0, 0]
    for i in range(1, X.shape[0]):
        X[i] = (B[i] - L[i, :i] @ X[:i]) / L[i, i]
