"""Self-energies of electrons scattered by phonons, for every momentum, energy and atom of a device.

in:   `G` (momenta x energies x atoms x orbitals x orbitals), Green's functions of the electrons;
      `D` (phonon momenta x frequencies x atoms x neighbours x 3 x 3), those of the phonons;
      `H` (atoms x neighbours x 3 x orbitals x orbitals), the derivatives of the Hamiltonian along the three directions;
      `near` (atoms x neighbours, integers), which atom each neighbour is. All but `near` are complex
out:  a new array like G:
      S[k, e, a] = sum over q, w <= e, neighbours b and directions i, j of
                   G[(k - q) mod momenta, e - w, near[a, b]] H[a, b, i] D[q, w, a, b, i, j] H[a, b, j]
      with products of orbitals x orbitals matrices, D[...] being a number; a phonon of frequency w takes energy w away
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def self_energies(G: NDArray[Any], D: NDArray[Any], H: NDArray[Any], near: NDArray[Any]) -> NDArray[Any]:
    """One small pair of products per combination."""
    momenta, energies = G.shape[0], G.shape[1]
    S = np.zeros(G.shape, G.dtype)
    for k in range(momenta):
        for e in range(energies):
            for q in range(D.shape[0]):
                for w in range(min(D.shape[1], e + 1)):
                    for a in range(near.shape[0]):
                        for b in range(near.shape[1]):
                            for i in range(3):
                                emitted = G[(k - q) % momenta, e - w, near[a, b]] @ H[a, b, i]
                                for j in range(3):
                                    S[k, e, a] += emitted @ (D[q, w, a, b, i, j] * H[a, b, j])
    return S


def complex_uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    """Numbers in a square that is not quite around zero."""
    return rng.uniform(-0.5, 1.0, shape) + 1j * rng.uniform(-0.5, 1.0, shape)


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Every atom has neighbours at random."""
    atoms, neighbours, orbitals = sizes["atoms"], sizes["neighbours"], sizes["orbitals"]
    G = complex_uniform(rng, (sizes["momenta"], sizes["energies"], atoms, orbitals, orbitals))
    D = complex_uniform(rng, (sizes["phonons"], sizes["frequencies"], atoms, neighbours, 3, 3))
    H = complex_uniform(rng, (atoms, neighbours, 3, orbitals, orbitals))
    return {
        "G": G.astype(dtype),
        "D": D.astype(dtype),
        "H": H.astype(dtype),
        "near": rng.integers(0, max(atoms, 1), (atoms, neighbours)),
    }


def tolerance(sizes: Sizes) -> float:
    """Any order of the sums over the orbitals in both products, and of the real and imaginary parts."""
    return 16.0 * (sizes["orbitals"] + 4)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per term 3 products G H, the 9 sums of D H over j, and 3 products of both; a complex pair `*`, `+` is 8."""
    momenta, energies, phonons, frequencies = (sizes[n] for n in ("momenta", "energies", "phonons", "frequencies"))
    square, bonds = sizes["orbitals"] ** 2, sizes["atoms"] * sizes["neighbours"]
    terms = momenta * phonons * sum(min(frequencies, e + 1) for e in range(energies)) * bonds
    arrays = 2 * momenta * energies * sizes["atoms"] * square + phonons * frequencies * bonds * 9 + bonds * 3 * square
    return Work(bytes=arrays * dtype.itemsize + 8 * bonds, flops=terms * 8 * (6 * sizes["orbitals"] + 9) * square)


KERNEL = Kernel(
    name="self_energies",
    known_as="scattering_self_energies",
    function=self_energies,
    title="Scattering self-energies",
    domain="Physics",
    dwarf="Dense linear algebra",
    presets={
        "S": {
            "momenta": 3, "energies": 4, "phonons": 2, "frequencies": 3, "atoms": 5, "neighbours": 2, "orbitals": 3,
        },
        "M": {
            "momenta": 3, "energies": 6, "phonons": 2, "frequencies": 4, "atoms": 7, "neighbours": 3, "orbitals": 4,
        },
        "L": {
            "momenta": 4, "energies": 10, "phonons": 3, "frequencies": 5, "atoms": 12, "neighbours": 4, "orbitals": 4,
        },
        "paper": {  # its phonons have as many momenta as the electrons
            "momenta": 4, "energies": 10, "phonons": 4, "frequencies": 3, "atoms": 20, "neighbours": 4, "orbitals": 4,
        },
    },
    make_inputs=make_inputs,
    dtypes=("complex64", "complex128"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)  # fmt: skip
