"""The bytes and flops every kernel says it cannot do without."""

from __future__ import annotations

from math import log2
from typing import Any

import numpy as np
import pytest

from tests.kernels.forms import USUAL
from weft_bench.kernel import RETURN, Kernel, Preset, Sizes
from weft_bench.kernels import BY_NAME, KERNELS
from weft_bench.timing import fresh
from weft_bench.work import Work

PRESETS: tuple[Preset, ...] = ("S", "M", "L", "paper")
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)

# Written before it is read: what comes in with these does not count.
NOT_READ = {"triangular_solve": "X", "jacobi_1d": "B", "jacobi_2d": "B", "heat_3d": "B", "nussinov": "table"}
# Arrays of which one triangle is never looked at: how many numbers of a square of n that is, and how often it was
# counted (twice for an array that is read and written).
UNSEEN = {
    "cholesky": ("A", -1, 2),
    "library_cholesky": ("A", -1, 1),
    "triangular_solve": ("L", -1, 1),
    "triangular_product": ("A", 1, 1),
    "symmetric_product": ("A", -1, 1),
    "symmetric_rank_k": ("C", -1, 2),
    "symmetric_rank_2k": ("C", -1, 2),
    "nussinov": ("table", 1, 1),
}
# What depends on the data, and is counted in the mean: the share by which it may differ at S.
ON_AVERAGE = {"sparse_product": 0.02}


def count(kernel: Kernel, sizes: Sizes | Preset, dtype: str | None = None) -> Work:
    assert kernel.work is not None
    return kernel.work(kernel.presets[sizes] if isinstance(sizes, str) else sizes, np.dtype(dtype or kernel.dtypes[-1]))


def size_bytes(value: Any) -> int:
    if isinstance(value, tuple):
        return sum(size_bytes(item) for item in value)
    return value.nbytes if isinstance(value, np.ndarray) else 0


def moved_bytes(kernel: Kernel, sizes: Sizes | Preset, dtype: str | None = None) -> int:
    """Real arrays: what goes in and what comes out, less what the two tables say."""
    inputs = kernel.inputs(sizes, dtype)
    outputs = kernel.collect(kernel.function(**(given := fresh(inputs))), given)
    total = sum(size_bytes(value) for name, value in inputs.items() if name != NOT_READ.get(kernel.name))
    total += sum(size_bytes(value) for value in outputs.values())
    if kernel.name in UNSEEN:
        name, diagonal, times = UNSEEN[kernel.name]
        n = len(inputs[name])
        total -= times * (n * (n + diagonal) // 2) * inputs[name].itemsize
    return total


@each_kernel
def test_the_bytes_at_s_are_those_of_the_arrays(kernel: Kernel) -> None:
    assert count(kernel, "S").bytes == pytest.approx(moved_bytes(kernel, "S"), rel=ON_AVERAGE.get(kernel.name, 0.0))


@pytest.mark.parametrize(
    ("kernel", "dtype"), [pytest.param(k, d, id=f"{k.name}-{d}") for k in KERNELS for d in k.dtypes]
)
def test_the_bytes_follow_the_dtype(kernel: Kernel, dtype: str) -> None:
    sizes = USUAL[kernel.name]

    assert count(kernel, sizes, dtype).bytes == pytest.approx(
        moved_bytes(kernel, sizes, dtype), rel=0.5 if kernel.name in ON_AVERAGE else 0.0
    )


# How the flops grow where every extent and number of turns is doubled: the power of two.
ORDER = {
    "alternating_directions": 3, "azimuthal_histogram": 1, "azimuthal_masks": 1, "biconjugate_products": 2,
    "cavity_flow": 4, "channel_flow": 4, "cholesky": 3, "clipping": 2, "contour_integral": 4, "convolution": 5,
    "correlation": 3, "covariance": 3, "covariance_product": 3, "crc16": 1, "deriche": 2, "durbin": 2,
    "fdtd_2d": 3, "floyd_warshall": 3, "gram_schmidt": 3, "great_circle": 1, "heat_3d": 4,
    "horizontal_diffusion": 3, "jacobi_1d": 2, "jacobi_2d": 3, "lenet": 5, "library_cholesky": 3, "lu": 3,
    "lu_solve": 3, "mandelbrot_masks": 3, "mandelbrot_shrinking": 3, "matrix_product": 3, "mode_product": 4,
    "nbody": 3, "normal_product": 2, "nussinov": 3, "perceptron": 3, "rank_two_update": 2, "residual_block": 5,
    "seidel_2d": 3, "self_energies": 9, "softmax": 4, "sparse_product": 2, "stockham_fft": 2,
    "summed_products": 2, "symmetric_product": 3, "symmetric_rank_2k": 3, "symmetric_rank_k": 3,
    "three_products": 3, "trace_shift": 2, "transposed_products": 2, "triangular_product": 3,
    "triangular_solve": 3, "two_products": 3, "vertical_advection": 3,
}  # fmt: skip
KEPT = ("size", "terms", "radix", "rings")  # extents that stay in the doubling: the window of a filter, the powers of z


@each_kernel
def test_flops_grow_with_the_power_of_the_extents(kernel: Kernel) -> None:
    sizes = {key: value if key in KEPT else 64 * value for key, value in kernel.presets["S"].items()}
    doubled = {key: value if key in KEPT else 2 * value for key, value in sizes.items()}
    if kernel.name == "stockham_fft":  # the next power of four
        doubled = {"points": 4 * sizes["points"]}
    growth = log2(count(kernel, doubled).flops / count(kernel, sizes).flops)

    assert growth == pytest.approx(ORDER[kernel.name], abs=0.3)


@each_kernel
def test_larger_presets_are_more_work(kernel: Kernel) -> None:
    small, middle, large = (count(kernel, preset) for preset in ("S", "M", "L"))

    assert small.flops < middle.flops < large.flops
    assert small.bytes <= middle.bytes <= large.bytes


@each_kernel
def test_every_kernel_has_the_sizes_of_the_paper(kernel: Kernel) -> None:
    assert tuple(kernel.presets) == PRESETS
    names = set(kernel.presets["S"])
    assert all(set(sizes) == names for sizes in kernel.presets.values())
    assert count(kernel, "paper").flops > count(kernel, "S").flops
    assert count(kernel, "paper").bytes < 5e9  # what a machine of ordinary size can hold


@pytest.mark.parametrize(
    ("name", "turns"), [("mandelbrot_masks", "M"), ("mandelbrot_shrinking", "S"), ("channel_flow", "M")]
)
def test_what_is_counted_on_average_is_near_the_truth(name: str, turns: Preset) -> None:
    kernel, steps = BY_NAME[name], dict(BY_NAME[name].presets[turns])
    result = kernel.function(**kernel.inputs(turns))
    if name == "channel_flow":
        per_step = count(kernel, {**steps, "steps": 10}).flops / 8  # of ten steps eight are taken
        assert count(kernel, turns).flops == pytest.approx(per_step * result, rel=0.1)
    else:
        each = 11 if name == "mandelbrot_masks" else 10
        taken = np.where(result[0] == 0, steps["turns"], result[0]).sum()
        assert count(kernel, turns).flops == pytest.approx(each * taken, rel=0.03)


def test_what_a_product_costs_is_known() -> None:
    work = count(BY_NAME["matrix_product"], {"rows": 10, "inner": 100, "columns": 20}, "float32")

    assert work == Work(bytes=4 * (1000 + 2000 + 2 * 200), flops=200 * 202)
    assert RETURN not in BY_NAME["matrix_product"].outputs
