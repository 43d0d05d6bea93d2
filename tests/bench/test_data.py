"""No data hides a fault: at S no array is constant, symmetric, its own mirror image or equal to another."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from weft_bench.kernel import Kernel
from weft_bench.kernels import KERNELS

EMPTY = ("nussinov", "table")  # filled by the kernel; its rule wants zeros
SYMMETRIC = ("library_cholesky", "A")  # LAPACK reads one triangle, but the mathematics wants a symmetric matrix
SIDES = ("rows", "columns", "width", "height", "length", "depth")


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_data_hides_nothing(kernel: Kernel) -> None:
    arrays = {name: value for name, value in kernel.inputs("S").items() if isinstance(value, np.ndarray)}
    for name, array in arrays.items():
        if (kernel.name, name) == EMPTY:
            continue
        for axis in (axis for axis, extent in enumerate(array.shape) if extent > 1):
            ends = array.take(0, axis), array.take(-1, axis)
            assert not np.array_equal(*ends), f"{name} is constant along axis {axis}"
            assert not np.array_equal(array, np.flip(array, axis)), f"{name} is its own mirror image, axis {axis}"
        if array.ndim > 1 and (kernel.name, name) != SYMMETRIC:
            assert not np.array_equal(array, np.swapaxes(array, -1, -2)), f"{name} is symmetric"
    for (name, array), (other, second) in combinations(arrays.items(), 2):
        assert not np.array_equal(array, second), f"{name} is {other}"


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_no_rectangle_is_a_square(kernel: Kernel) -> None:
    for sizes in (kernel.presets["S"], kernel.presets["M"], kernel.presets["L"]):
        extents = [sizes[side] for side in SIDES if side in sizes]
        assert len(extents) == len(set(extents))
