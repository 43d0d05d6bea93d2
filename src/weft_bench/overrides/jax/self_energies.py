# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Self-energies for JAX: its loops over all combinations would be unrolled, so only those over the phonons' momenta and
frequencies are left, and the rest is Einstein's sums.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from numpy.typing import NDArray


@jax.jit
def self_energies(G: NDArray[Any], D: NDArray[Any], H: NDArray[Any], near: NDArray[Any]) -> NDArray[Any]:
    """All electrons and atoms at once, for each momentum and frequency of the phonons."""
    energies = G.shape[1]
    S = np.zeros(G.shape, G.dtype)
    for q in range(D.shape[0]):
        for w in range(min(D.shape[1], energies)):
            before = np.roll(G, q, axis=0)[:, : energies - w][:, :, near]
            emitted = np.einsum("keabmn,abino->keabimo", before, H)
            absorbed = np.einsum("abij,abjmn->abimn", D[q, w], H)
            S = S.at[:, w:].add(np.einsum("keabimo,abion->keamn", emitted, absorbed))
    return S
