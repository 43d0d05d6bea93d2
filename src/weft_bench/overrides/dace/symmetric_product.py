# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A product with a symmetric matrix for DaCe: the source is taken, but each short statement starts threads; `dace.map`
shares out the columns of the result.
"""

from __future__ import annotations

from typing import Any

import dace
from numpy.typing import NDArray


def symmetric_product(alpha: float, beta: float, A: NDArray[Any], B: NDArray[Any], C: NDArray[Any]) -> None:
    """A number of A left of the diagonal serves both places it stands for."""
    C[:] = beta * C
    for j in dace.map[0 : C.shape[1]]:
        for i in range(C.shape[0]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            C[i, j] += alpha * (A[i, : i + 1] @ B[: i + 1, j])
