# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""RNA folding for JAX, where slices must have fixed extents: the loop over the places to split is a masked maximum over
the whole row and column.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit
def nussinov(strand: NDArray[Any], table: NDArray[Any]) -> NDArray[Any]:
    """The table with its upper triangle filled: entry (i, j) is the number of pairs in `strand[i:j + 1]`.

    Bases are numbered 0 to 3 such that those which pair add up to 3.
    """
    n = strand.shape[0]
    index = np.arange(n)

    def row(step: Any, table: Any) -> Any:
        i = n - 2 - step

        def entry(j: Any, table: Any) -> Any:
            most = np.maximum(table[i + 1, j], table[i, j - 1])
            pairs = strand[i] + strand[j] == 3
            most = np.where(pairs, np.maximum(most, table[i + 1, j - 1] + 1), most)
            splits = table[i] + np.roll(table[:, j], -1)
            most = np.max(np.where((i < index) & (index < j), splits, most))
            return table.at[i, j].set(most)

        return lax.fori_loop(i + 1, n, entry, table)

    return lax.fori_loop(0, n - 1, row, table)
