"""np.searchsorted and np.digitize: NumPy's places, in arrays that are sorted and in others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft


def left(a, v):
    return np.searchsorted(a, v)


def right(a, v):
    return a.searchsorted(v, side="right")


def bins(a, v):
    return np.digitize(v, a)


def bins_to_the_right(a, v):
    return np.digitize(v, a, right=True)


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def assert_same(got: Any, want: Any) -> None:
    assert type(got) is type(want)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def keys(dtype: str, size: int) -> Any:
    v = (rng().random(size) * 60).astype(dtype)
    if dtype[0] == "f" and size > 3:
        v[:3] = [np.nan, np.inf, -np.inf]
    return v


@pytest.mark.parametrize(
    ("function", "dtype", "keyed"),
    [
        (left, "f8", "f8"), (right, "f8", "f8"), (left, "f4", "i8"), (right, "i8", "f4"), (left, "u1", "u8"),
        (bins, "f8", "f8"), (bins, "u1", "i4"), (bins_to_the_right, "i8", "f4"),
    ],
)  # fmt: skip
def test_places_are_numpys(function: Any, dtype: str, keyed: str) -> None:
    program: Any = weft.program(function, fallback="error")
    for size in (1, 2, 3, 8, 9, 100, 9000):
        a = np.sort((rng().random(size) * 50).astype(dtype))
        for count in (0, 1, 700):
            v = keys(keyed, count)
            assert_same(program(a, v), function(a, v))
        assert_same(program(a, v[5]), function(a, v[5]))
    assert (program.stats.numpy_calls, program.stats.resumes) == (0, 0)


@pytest.mark.parametrize("function", [left, right])
@pytest.mark.parametrize("size", [50, 9000])
def test_what_is_not_sorted_is_numpys(function: Any, size: int) -> None:
    program: Any = weft.program(function, fallback="error")
    a, v = rng().random(size) * 9, rng().integers(0, 9, 60)
    assert_same(program(a, v), function(a, v))
    assert program.stats.resumes == (size < 4096)
    assert_same(program(a, 2.25), function(a, 2.25))


def test_nans_and_axes() -> None:
    program: Any = weft.program(right, fallback="error")
    a = np.array([1.0, 2, 2, 3, np.nan, np.nan])
    v = np.array([[np.nan, 2, 3], [4, np.inf, 2]])
    assert_same(program(a, v), right(a, v))
    assert_same(program(a, v.T[::-1]), right(a, v.T[::-1]))
    assert_same(program(a[::2], np.nan), right(a[::2], np.nan))
    assert_same(program(a[:0], v), right(a[:0], v))


@pytest.mark.parametrize("edges", [[3.0, 2, 1], [1.0, 1, 1], [3.0, 3, 1], []])
def test_other_edges_are_pythons(edges: list[float]) -> None:
    program: Any = weft.program(bins, fallback="error")
    a, v = np.array(edges), rng().random(5) * 4
    assert_same(program(a, v), bins(a, v))


def test_edges_without_order_raise() -> None:
    program: Any = weft.program(bins, fallback="error")
    with pytest.raises(ValueError, match="bins must be monotonically"):
        program(np.array([1.0, 3.0, 2.0]), np.arange(3.0))
