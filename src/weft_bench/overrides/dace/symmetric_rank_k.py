# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A symmetric update for DaCe: the source is taken, but each statement starts threads; `dace.map` takes the rows."""

from __future__ import annotations

from typing import Any

import dace
from numpy.typing import NDArray


def symmetric_rank_k(alpha: float, beta: float, A: NDArray[Any], C: NDArray[Any]) -> None:
    """Row by row up to the diagonal, one column of A after the other."""
    for i in dace.map[0 : A.shape[0]]:
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]
