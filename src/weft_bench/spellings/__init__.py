"""A second spelling of every kernel: the same arguments and the same meaning, written by another hand.

in:   the name of a kernel
out:  `SPELLINGS[name]`, a function with the kernel's signature that knows nothing of the kernel's own text

The numbers may differ by rounding, as sums may be taken in another order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft_bench.spellings import discrete, factorisations, grids, learning, particles, products

SPELLINGS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        products.matrix_product,
        grids.jacobi_2d,
        discrete.floyd_warshall,
        factorisations.cholesky,
        discrete.clipping,
        learning.softmax,
        discrete.crc16,
        particles.nbody,
        discrete.nussinov,
        factorisations.triangular_solve,
        products.two_products,
        products.three_products,
        products.normal_product,
        products.biconjugate_products,
        products.transposed_products,
        products.summed_products,
        products.rank_two_update,
        products.mode_product,
        grids.jacobi_1d,
        grids.heat_3d,
        grids.fdtd_2d,
        grids.seidel_2d,
        factorisations.durbin,
        factorisations.lu,
        grids.horizontal_diffusion,
        learning.perceptron,
    )
}
