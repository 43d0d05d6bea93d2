"""The benchmark kernels: ordinary NumPy programs, one per file."""

from __future__ import annotations

from weft_bench.kernel import Kernel
from weft_bench.kernels import (
    cholesky,
    clipping,
    crc16,
    floyd_warshall,
    jacobi_2d,
    matrix_product,
    nbody,
    nussinov,
    softmax,
    triangular_solve,
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
)

BY_NAME = {kernel.name: kernel for kernel in KERNELS}
