"""% and // of floats to NumPy's bits, by the short way and by the library's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft

SPECIAL = [0.0, -0.0, 1.0, -1.0, 3.0, 0.1, 7.0, 1e-30, 1e30, np.inf, -np.inf, np.nan, 2.0**23, 2.0**24 + 2.0, 2.0**53]


@weft.program
def both(a: Any, b: Any) -> Any:
    return a % b, a // b


def operands(dtype: Any) -> Any:
    """Pairs of all magnitudes, multiples and their neighbours, and every pair of special values."""
    rng = np.random.default_rng(11)
    scale = 10.0 ** rng.integers(-15, 15, 4000)
    b = (rng.standard_normal(4000) * scale).astype(dtype)
    far = (rng.standard_normal(4000) * 10.0 ** rng.integers(-15, 15, 4000)).astype(dtype)
    multiple = (b * rng.integers(-(10**6), 10**6, 4000)).astype(dtype)
    near = np.nextafter(multiple, rng.choice([-np.inf, np.inf], 4000).astype(dtype), dtype=dtype)
    first, second = (grid.ravel().astype(dtype) for grid in np.meshgrid(SPECIAL, SPECIAL))
    return np.concatenate([far, multiple, near, first]), np.concatenate([b, b, b, second])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bits(dtype: Any) -> None:
    a, b = operands(dtype)
    whole = np.dtype(f"i{np.dtype(dtype).itemsize}")
    for got, expected in zip(both(a, b), both.py_func(a, b), strict=True):
        same = (got.view(whole) == expected.view(whole)) | (np.isnan(got) & np.isnan(expected))
        assert same.all(), (a[~same][:3], b[~same][:3], got[~same][:3], expected[~same][:3])


def test_python_numbers() -> None:
    @weft.program
    def rest(x: float, y: float) -> Any:
        return x % y, x // y

    for x in (7.5, -7.5, 0.0, -0.0, 1e300, 1e-300, 2.0**60 + 512.0):
        for y in (2.0, -2.0, 0.3, 1e-5, np.inf, -np.inf):
            assert str(rest(x, y)) == str((x % y, x // y))
