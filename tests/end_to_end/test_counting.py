"""np.bincount: NumPy's counts and sums of weights, and its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft


def counted(x, n):
    return np.bincount(x, minlength=n)


def weighed(x, w):
    return np.bincount(x, weights=w)


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def assert_same(got: Any, want: Any) -> None:
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["u1", "i4", "i8"])
def test_counts_are_numpys(dtype: str) -> None:
    program: Any = weft.program(counted, fallback="error")
    for size in (1, 10, 3000, 70_000):
        x = rng().integers(0, 100, size).astype(dtype)
        for least in (0, 7, 200):
            assert_same(program(x, least), counted(x, least))
    assert_same(program(x[::-3], 5), counted(x[::-3], 5))
    assert (program.stats.numpy_calls, program.stats.resumes) == (0, 0)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "b1"])
def test_sums_of_weights_are_numpys(dtype: str) -> None:
    program: Any = weft.program(weighed, fallback="error")
    for size in (1, 3000):
        x, w = rng().integers(0, 100, size), (rng().random(size) * 9).astype(dtype)
        assert_same(program(x, w), weighed(x, w))
    assert (program.stats.numpy_calls, program.stats.resumes) == (0, 0)


@pytest.mark.parametrize(
    ("x", "w"),
    [
        (np.array([1, -1]), np.ones(2)), (np.array([1, 2]), np.ones(3)), (np.array([], int), np.ones(0)),
        (np.array([[1, 2]]), np.ones(2)), (np.array([1.0, 2.0]), np.ones(2)), (np.array([1, 2], "u8"), np.ones(2)),
        (np.array([1, 2]), np.ones(2, complex)), (np.array([True, False]), np.ones(2)),
    ],
)  # fmt: skip
def test_what_is_unusual_is_numpys(x: Any, w: Any) -> None:
    program: Any = weft.program(weighed)
    outcomes: list[Any] = []
    for function in (weighed, program):
        try:
            outcomes.append(function(x, w))
        except (ValueError, TypeError) as problem:
            outcomes.append((type(problem), str(problem)))
    if isinstance(outcomes[0], tuple):
        assert outcomes[0] == outcomes[1]
    else:
        assert_same(*outcomes[::-1])


def test_a_length_below_zero_raises() -> None:
    program: Any = weft.program(counted, fallback="error")
    with pytest.raises(ValueError, match="'minlength' must not be negative"):
        program(np.arange(3), -1)
