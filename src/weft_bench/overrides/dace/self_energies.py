"""Self-energies for DaCe, whose remainder of a negative number is C's: the loop runs over the momentum before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def self_energies(G: NDArray[Any], D: NDArray[Any], H: NDArray[Any], near: NDArray[Any]) -> NDArray[Any]:
    """One small pair of products per combination; momentum k is `before` + q."""
    S = np.zeros_like(G)
    for before in range(G.shape[0]):
        for e in range(G.shape[1]):
            for q in range(D.shape[0]):
                for w in range(min(D.shape[1], e + 1)):
                    for a in range(near.shape[0]):
                        for b in range(near.shape[1]):
                            for i in range(3):
                                emitted = G[before, e - w, near[a, b]] @ H[a, b, i]
                                for j in range(3):
                                    S[(before + q) % G.shape[0], e, a] += emitted @ (D[q, w, a, b, i, j] * H[a, b, j])
    return S
