# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Durbin's recursion for Numba, whose products want contiguous operands, so that what is reversed would be copied; and
whose parallel mode reads in `y[:k] += c * y[k - 1 :: -1]` what it has already written. Loops do without either.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(fastmath=True, cache=True)
def durbin(r: NDArray[Any]) -> NDArray[Any]:
    """The y with T y = -r, where T is symmetric with ones on its diagonal and `r[k - 1]` on the k-th beside it."""
    y = np.empty_like(r)
    before = np.empty_like(r)
    y[0] = -r[0]
    error = 1.0 - r[0] * r[0]
    for k in range(1, r.shape[0]):
        total = r[k]
        for i in range(k):
            total += r[k - 1 - i] * y[i]
        reflection = -total / error
        before[:k] = y[:k]
        for i in range(k):
            y[i] = before[i] + reflection * before[k - 1 - i]
        y[k] = reflection
        error *= 1.0 - reflection * reflection
    return y
