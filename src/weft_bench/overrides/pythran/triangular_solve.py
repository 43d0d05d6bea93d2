"""Triangular solve for Pythran, whose product of no rows with a matrix is what the memory held: row after row."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def triangular_solve(L: NDArray[Any], B: NDArray[Any], X: NDArray[Any]) -> None:
    """Fill X row by row; the part of L above the diagonal is not looked at."""
    for i in range(X.shape[0]):
        X[i] = B[i]
        for k in range(i):
            X[i] -= L[i, k] * X[k]
        X[i] /= L[i, i]
