# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Gram-Schmidt orthonormalisation for DaCe, where extents are symbols: those of the matrix, written out; `dace.map`
shares out the columns that are left.
"""

from __future__ import annotations

from typing import Any

import dace
import numpy as np
from numpy.typing import NDArray


def gram_schmidt(A: NDArray[Any]) -> NDArray[Any]:
    """Column by column, in place."""
    R = np.zeros((A.shape[1], A.shape[1]), A.dtype)
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(A[:, k] @ A[:, k])
        A[:, k] /= R[k, k]
        for j in dace.map[k + 1 : A.shape[1]]:
            R[k, j] = A[:, k] @ A[:, j]
            A[:, j] -= R[k, j] * A[:, k]
    return R
