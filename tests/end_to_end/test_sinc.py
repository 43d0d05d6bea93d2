"""np.sinc: NumPy's values, types and warnings, fused with what stands around it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft


def filtered(x, y):
    return y * np.sinc(x)


def alone(x):
    return np.sinc(x)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "b1"])
def test_values_are_numpys(dtype: str) -> None:
    program: Any = weft.program(filtered, fallback="error")
    x = (np.arange(-300, 300).reshape(20, 30) / (1 if dtype in ("i4", "b1") else 7)).astype(dtype)
    for given in (x, x.T[::-2], x[:0]):
        got, want = program(given, given), filtered(given, given)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == "f4" else 1e-13, atol=1e-13)
    assert (program.stats.numpy_calls, program.stats.resumes) == (0, 0)


@pytest.mark.parametrize("x", [0.0, -0.0, 0, 0.5, 2, True, np.float32(0), np.float32(1.5), np.int8(3), np.nan])
def test_numbers(x: Any) -> None:
    program: Any = weft.program(alone, fallback="error")
    got, want = program(x), alone(x)
    assert type(got) is type(want)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_warnings_are_numpys() -> None:
    program: Any = weft.program(alone, fallback="error")
    for function in (alone, program):
        with pytest.warns(RuntimeWarning, match="invalid value encountered in sin"):
            assert np.isnan(function(np.array([1.0, np.inf]))[1])
        with pytest.warns(RuntimeWarning) as caught:
            function(np.array([1e308]))
        assert sorted(str(w.message) for w in caught) == [
            "invalid value encountered in sin", "overflow encountered in multiply",
        ]  # fmt: skip
