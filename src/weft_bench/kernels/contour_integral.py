"""Moments of the inverse of a matrix polynomial along a contour, from which its eigenvalues inside can be found.

in:   `H` (terms x n x n), the coefficients of T(z) = H[0] + z H[1] + z^2 H[2] + ...; `Y` (n x m), probing vectors;
      `z` and `weight`, the points on the contour and the weights of the quadrature. All complex
out:  two new matrices (n x m): P0 = sum_k weight[k] X_k and P1 = sum_k weight[k] z[k] X_k, where T(z[k]) X_k = Y
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def solve_at(point: Any, H: NDArray[Any], Y: NDArray[Any]) -> NDArray[Any]:
    """The X with T(point) X = Y; the polynomial is summed up from its highest power."""
    matrix = np.zeros_like(H[0])
    for term in range(H.shape[0] - 1, -1, -1):
        matrix = point * matrix + H[term]
    return np.linalg.solve(matrix, Y)  # pyright: ignore[reportUnknownVariableType] - its types do not know Any


def contour_integral(
    H: NDArray[Any], Y: NDArray[Any], z: NDArray[Any], weight: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """A linear system per point."""
    moment0 = np.zeros(Y.shape, Y.dtype)
    moment1 = np.zeros(Y.shape, Y.dtype)
    for k in range(z.shape[0]):
        X = weight[k] * solve_at(z[k], H, Y)
        moment0 += X
        moment1 += z[k] * X
    return moment0, moment1


def complex_uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    """Numbers in a square around zero."""
    return rng.uniform(-1.0, 1.0, shape) + 1j * rng.uniform(-1.0, 1.0, shape)


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """The trapezoidal rule on a circle, and coefficients of which that of z dominates: n eigenvalues lie inside."""
    terms, n, points = sizes["terms"], sizes["n"], sizes["points"]
    H = complex_uniform(rng, (terms, n, n))
    H[1:2] += 4.0 * terms * np.sqrt(max(n, 1)) * np.eye(n)
    angle = 2.0 * np.pi * (np.arange(points) + 0.5) / max(points, 1)
    z = 0.2 + 0.9 * np.exp(1j * angle)
    return {
        "H": H.astype(dtype),
        "Y": complex_uniform(rng, (n, sizes["probes"])).astype(dtype),
        "z": z.astype(dtype),
        "weight": (0.9 * np.exp(1j * angle) / max(points, 1)).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """Well-conditioned systems solved in any order, and sums whose terms cancel to a twentieth and more of them."""
    return 64.0 * (sizes["n"] + sizes["terms"] + sizes["points"] + 8)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """Per point the polynomial, n^3 / 3 to factorise, n^2 per probe, two moments; a complex pair `*`, `+` is 8."""
    terms, n, probes, points = sizes["terms"], sizes["n"], sizes["probes"], sizes["points"]
    arrays = terms * n * n + 3 * n * probes + 2 * points
    flops = points * (8 * (terms - 1) * n * n + 8 * n**3 // 3 + 8 * n * n * probes + 16 * n * probes)
    return Work(bytes=arrays * dtype.itemsize, flops=flops)


KERNEL = Kernel(
    name="contour_integral",
    known_as="contour_integral",
    function=contour_integral,
    title="Moments along a contour",
    domain="Physics",
    dwarf="Dense linear algebra",
    presets={
        "S": {"terms": 3, "n": 70, "probes": 60, "points": 16},
        "M": {"terms": 3, "n": 180, "probes": 150, "points": 32},
        "L": {"terms": 3, "n": 420, "probes": 360, "points": 32},
        "paper": {"terms": 3, "n": 500, "probes": 1000, "points": 32},
    },
    make_inputs=make_inputs,
    dtypes=("complex64", "complex128"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
