"""The benchmark kernels: ordinary NumPy programs, one per file."""

from __future__ import annotations

from weft_bench.kernel import Kernel
from weft_bench.kernels import (
    biconjugate_products,
    cholesky,
    clipping,
    crc16,
    durbin,
    fdtd_2d,
    floyd_warshall,
    heat_3d,
    horizontal_diffusion,
    jacobi_1d,
    jacobi_2d,
    lu,
    matrix_product,
    mode_product,
    nbody,
    normal_product,
    nussinov,
    perceptron,
    rank_two_update,
    seidel_2d,
    softmax,
    summed_products,
    three_products,
    transposed_products,
    triangular_solve,
    two_products,
)

KERNELS: tuple[Kernel, ...] = (
    matrix_product.KERNEL,
    jacobi_2d.KERNEL,
    floyd_warshall.KERNEL,
    cholesky.KERNEL,
    clipping.KERNEL,
    softmax.KERNEL,
    crc16.KERNEL,
    nbody.KERNEL,
    nussinov.KERNEL,
    triangular_solve.KERNEL,
    two_products.KERNEL,
    three_products.KERNEL,
    normal_product.KERNEL,
    biconjugate_products.KERNEL,
    transposed_products.KERNEL,
    summed_products.KERNEL,
    rank_two_update.KERNEL,
    mode_product.KERNEL,
    jacobi_1d.KERNEL,
    heat_3d.KERNEL,
    fdtd_2d.KERNEL,
    seidel_2d.KERNEL,
    durbin.KERNEL,
    lu.KERNEL,
    horizontal_diffusion.KERNEL,
    perceptron.KERNEL,
)

BY_NAME = {kernel.name: kernel for kernel in KERNELS}
