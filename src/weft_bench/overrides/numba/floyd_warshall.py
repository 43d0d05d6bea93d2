# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Shortest paths for Numba, whose parallel mode takes a column and a row that broadcast for a mismatch: a loop over the
rows. Node k's own row and column are copied first, as no assignment of its turn may see another.
"""

from __future__ import annotations

from typing import Any

import numba
from numpy.typing import NDArray


@numba.njit(fastmath=True, parallel=True, cache=True)
def floyd_warshall(path: NDArray[Any]) -> None:
    """Replace the lengths of the edges in `path` by those of the shortest paths."""
    for k in range(path.shape[0]):
        row, column = path[k].copy(), path[:, k].copy()
        for i in numba.prange(path.shape[0]):
            for j in range(path.shape[1]):
                path[i, j] = min(path[i, j], column[i] + row[j])
