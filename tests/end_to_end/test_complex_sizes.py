"""Absolute values of complex numbers that are too large: infinite, and NumPy says nothing of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.end_to_end.outcome import check


def sizes(z: Any) -> Any:
    return abs(z), np.abs(z[0]), np.absolute(z[1:]) < np.inf, abs(z).max()


def sizes_in_a_loop(z: Any) -> Any:
    largest = np.zeros(len(z), z.real.dtype)
    for i in range(len(z)):
        largest[i] = abs(z[i] / 2)
        if np.abs(z[i]) == np.inf:
            largest[i] = -1
    return largest


def sizes_of_products(z: Any) -> Any:
    return abs(z * z), np.hypot(z.real, z.imag)


@pytest.mark.parametrize("function", [sizes, sizes_in_a_loop, sizes_of_products], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_sizes_that_are_too_large(function: Any, dtype: Any) -> None:
    most = np.finfo(dtype).max

    def large() -> tuple[Any]:
        return (np.array([1 + 1j, complex(most, most), 3, complex(-most, most)] * 9, dtype),)

    def small() -> tuple[Any]:
        return (np.linspace(-1, 1, 9).astype(dtype) * (1 + 2j),)

    check(function, large, small, ulps=4)
