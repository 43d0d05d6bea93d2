"""Self-energies for DaCe, whose remainder of a negative number is C's: it is kept positive, and sums have arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def self_energies(G: NDArray[Any], D: NDArray[Any], H: NDArray[Any], near: NDArray[Any]) -> NDArray[Any]:
    """One small pair of products per combination."""
    S = np.zeros_like(G)
    emitted = np.empty((G.shape[3], G.shape[4]), G.dtype)
    absorbed = np.empty((G.shape[3], G.shape[4]), G.dtype)
    for k in range(G.shape[0]):
        for e in range(G.shape[1]):
            for q in range(D.shape[0]):
                for w in range(min(D.shape[1], e + 1)):
                    for a in range(near.shape[0]):
                        for b in range(near.shape[1]):
                            for i in range(3):
                                emitted[:] = (
                                    G[(k - q + D.shape[0] * G.shape[0]) % G.shape[0], e - w, near[a, b]] @ H[a, b, i]
                                )
                                for j in range(3):
                                    absorbed[:] = D[q, w, a, b, i, j] * H[a, b, j]
                                    S[k, e, a] += emitted @ absorbed
    return S
