"""Exponentials of arrays, from where they vanish to where they overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft


@weft.program(fallback="error")
def exponentials(x: Any) -> Any:
    return np.exp(x)


ENDS = {
    np.float64: (-760.0, 709.78, (-708.0, -708.001, -745.1, -745.2, -745.9, -746.0, -746.1, 709.782712893384)),
    np.float32: (-110.0, 88.72, (-87.0, -87.01, -103.9, -104.0, -104.1, 88.72283)),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_exponentials_are_within_four_ulp_wherever_they_are_numbers(dtype: Any) -> None:
    low, high, others = ENDS[dtype]
    x = np.concatenate((np.linspace(low, high, 40_001), others)).astype(dtype)
    found, expected = exponentials(x), np.exp(x.astype(np.longdouble))
    step = np.maximum(np.spacing(np.exp(x)), np.finfo(dtype).smallest_subnormal)
    assert np.max(np.abs(found - expected) / step) <= 4
    np.testing.assert_array_equal(found == 0, np.exp(x) == 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_has_no_exponential_gives_what_numpy_gives(dtype: Any) -> None:
    x = np.array([np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0, -1e30, np.finfo(dtype).smallest_subnormal], dtype)
    np.testing.assert_array_equal(exponentials(x), np.exp(x))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_overflow_is_warned_of(dtype: Any) -> None:
    x = np.linspace(-2000, 0, 300).astype(dtype)
    exponentials(x)
    x[7] = 800
    with pytest.warns(RuntimeWarning, match="overflow encountered in exp"):
        assert np.isinf(exponentials(x)[7])
