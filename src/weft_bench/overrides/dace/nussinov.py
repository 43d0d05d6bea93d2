"""RNA folding for DaCe, which takes `shape[0]` of a vector for data; the best so far stays in the table."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def nussinov(strand: NDArray[Any], table: NDArray[Any]) -> None:
    """Fill the upper triangle of `table`."""
    for i in range(len(strand) - 2, -1, -1):
        for j in range(i + 1, len(strand)):
            table[i, j] = max(table[i + 1, j], table[i, j - 1])
            if strand[i] + strand[j] == 3:
                table[i, j] = max(table[i, j], table[i + 1, j - 1] + 1)
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
