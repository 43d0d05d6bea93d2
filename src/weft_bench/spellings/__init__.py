"""A second spelling of every kernel: the same arguments and the same meaning, written by another hand.

in:   the name of a kernel
out:  `SPELLINGS[name]`, a function with the kernel's signature, written from its description and not from its text

The numbers may differ by rounding, as sums may be taken in another order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft_bench.spellings import (
    discrete,
    factorisations,
    fluids,
    fractals,
    grids,
    learning,
    particles,
    products,
    signals,
    statistics,
)

_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    products.matrix_product,
    products.two_products,
    products.three_products,
    products.normal_product,
    products.biconjugate_products,
    products.transposed_products,
    products.summed_products,
    products.rank_two_update,
    products.mode_product,
    products.symmetric_product,
    products.symmetric_rank_k,
    products.symmetric_rank_2k,
    products.triangular_product,
    products.sparse_product,
    products.trace_shift,
    factorisations.cholesky,
    factorisations.library_cholesky,
    factorisations.lu,
    factorisations.lu_solve,
    factorisations.triangular_solve,
    factorisations.durbin,
    factorisations.gram_schmidt,
    factorisations.contour_integral,
    grids.jacobi_1d,
    grids.jacobi_2d,
    grids.heat_3d,
    grids.fdtd_2d,
    grids.seidel_2d,
    grids.horizontal_diffusion,
    grids.alternating_directions,
    grids.vertical_advection,
    fluids.cavity_flow,
    fluids.channel_flow,
    discrete.clipping,
    discrete.crc16,
    discrete.floyd_warshall,
    discrete.nussinov,
    fractals.mandelbrot_masks,
    fractals.mandelbrot_shrinking,
    signals.deriche,
    signals.stockham_fft,
    statistics.correlation,
    statistics.covariance,
    statistics.covariance_product,
    statistics.azimuthal_histogram,
    statistics.azimuthal_masks,
    statistics.great_circle,
    learning.softmax,
    learning.perceptron,
    learning.convolution,
    learning.lenet,
    learning.residual_block,
    particles.nbody,
    particles.self_energies,
)

SPELLINGS: dict[str, Callable[..., Any]] = {function.__name__: function for function in _FUNCTIONS}
