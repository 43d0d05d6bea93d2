"""np.convolve and np.correlate in every mode: NumPy's numbers, also where the ends meet what is not finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft


def full(x: Any, v: Any) -> Any:
    return np.convolve(x, v)


def same(x: Any, v: Any) -> Any:
    return np.convolve(x, v, "same")


def valid(x: Any, v: Any) -> Any:
    return np.convolve(x, v, mode="valid")


def correlated(x: Any, v: Any) -> Any:
    return np.correlate(x, v)


def correlated_full(x: Any, v: Any) -> Any:
    return np.correlate(x, v, "full")


def smoothed(x: Any, v: Any) -> Any:
    return np.convolve(x, np.ones(5) / 5.0, "same")[: x.shape[0]] - x


FUNCTIONS = [full, same, valid, correlated, correlated_full]


@pytest.mark.parametrize("function", [*FUNCTIONS, smoothed])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
def test_modes(function: Any, dtype: str) -> None:
    compiled: Any = weft.program(function)
    random = np.random.default_rng(5)
    for length, width in [(1, 1), (5, 5), (9, 2), (9, 4), (3, 7), (200, 31), (20_000, 3), (3000, 2900)]:
        x, v = ((10 * random.standard_normal(2 * n)).astype(dtype) for n in (length, width))
        for array in (x[:length].copy(), x[::2], x[length - 1 :: -1]):
            got, expected = compiled(array, v[:width]), function(array, v[:width])
            assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
            tolerance = 1e-1 if dtype == "f4" else 1e-9
            np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_not_finite(function: Any) -> None:
    compiled: Any = weft.program(function)
    x, v = np.arange(1.0, 9.0), np.array([1.0, 0.5, 2.0])
    for array, place, number in ((x, 3, np.inf), (x, 0, np.nan), (v, 1, np.inf), (v, 2, np.nan)):
        given = [x.copy(), v.copy()]
        given[array is v][place] = number
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(compiled(*given), function(*given))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nothing_to_slide(function: Any) -> None:
    compiled: Any = weft.program(function)
    for given in ((np.zeros(0), np.ones(2)), (np.ones(2), np.zeros(0))):
        with pytest.raises(ValueError, match="cannot be empty"):
            compiled(*given)


def test_no_warning_where_numpy_has_none() -> None:
    np.testing.assert_array_equal(
        weft.program(full)(np.array([1e308, 2.0]), np.array([10.0, 3.0])), [np.inf, np.inf, 6.0]
    )
