"""np.interp: NumPy's lines to the last bit, with its ends, its points and its NaNs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft


def lines(x, xp, fp):
    return np.interp(x, xp, fp)


def with_ends(x, xp, fp):
    return np.interp(x, xp, fp, left=-1, right=0.25)


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def assert_same(got: Any, want: Any) -> None:
    assert type(got) is type(want)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def numbers(dtype: str, xp: Any, count: int) -> Any:
    """Some before, between and after the points, some on them, and what is none."""
    x = (rng().random(count) * 60 - 5).astype(dtype)
    x[: count // 2] = xp[rng().integers(0, len(xp), count // 2)].astype(dtype)
    if dtype[0] == "f" and count > 3:
        x[:3] = [np.nan, np.inf, -np.inf]
    return x


@pytest.mark.parametrize("function", [lines, with_ends])
@pytest.mark.parametrize(("dtype", "at", "of"), [("f8", "f8", "f8"), ("f4", "i4", "f4"), ("i8", "f4", "u1")])
def test_values_are_numpys(function: Any, dtype: str, at: str, of: str) -> None:
    program: Any = weft.program(function, fallback="error")
    for size in (1, 2, 3, 4, 5, 9, 10, 11, 30, 9000):
        xp, fp = np.sort(rng().random(size) * 50).astype(at), (rng().random(size) * 50).astype(of)
        for count in (0, 1, 500):
            x = numbers(dtype, xp, count)
            assert_same(program(x, xp, fp), function(x, xp, fp))
        for number in x[:12]:
            assert_same(program(number, xp, fp), function(number, xp, fp))
    assert (program.stats.numpy_calls, program.stats.resumes) == (0, 0)


def test_values_that_are_no_numbers() -> None:
    program: Any = weft.program(lines, fallback="error")
    xp = np.array([-np.inf, 0, 1, 1, 2, 3, 4, 5, 6, np.inf])
    fp = np.array([1, 1, np.inf, -np.inf, np.nan, 3, np.inf, np.inf, 2, 2])
    x = np.array([[-np.inf, -1, 0, 0.5, 1], [1.5, 2, 2.5, 3, 3.5], [4, 4.5, 5.5, 7, np.nan]])
    assert_same(program(x, xp, fp), lines(x, xp, fp))
    assert_same(program(x.T[::-1], xp[::2], fp[::-2]), lines(x.T[::-1], xp[::2], fp[::-2]))
    for number in x.ravel():
        assert_same(program(number, xp, fp), lines(number, xp, fp))


@pytest.mark.parametrize("size", [3, 4, 7, 12, 40])
def test_what_does_not_rise_is_numpys(size: int) -> None:
    program: Any = weft.program(lines, fallback="error")
    xp, fp, x = rng().random(size), rng().random(size), rng().random(50)
    assert_same(program(x, xp, fp), lines(x, xp, fp))
    for number in x:
        assert_same(program(number, xp, fp), lines(number, xp, fp))


@pytest.mark.parametrize("holes", [0, 3000])
@pytest.mark.parametrize("count", [1, 7, 200])
def test_long_tables_that_do_not_rise_are_numpys(holes: int, count: int) -> None:
    program: Any = weft.program(lines, fallback="error")
    for size in (4200, 9000):
        xp, fp, x = rng().random(size), rng().random(size), rng().random(count) * 1.2 - 0.1
        xp[rng().integers(1, size - 1, holes)] = np.nan
        x[1::5] = np.nan
        xp[:1000].sort()
        assert_same(program(x, xp, fp), lines(x, xp, fp))
        assert_same(program(np.sort(x)[::-1], xp, fp), lines(np.sort(x)[::-1], xp, fp))
    assert (program.stats.numpy_calls, program.stats.resumes) == (0, 0) or count == 200


@pytest.mark.parametrize("size", [3, 4, 5, 6, 11, 30])
def test_tables_with_nans_are_numpys(size: int) -> None:
    program: Any = weft.program(lines, fallback="error")
    for hole in range(size):
        xp, fp = np.arange(float(size)), rng().random(size)
        xp[hole] = np.nan
        for number in np.linspace(-1.0, size, 40):
            assert_same(program(number, xp, fp), lines(number, xp, fp))


def test_what_numpy_refuses() -> None:
    program: Any = weft.program(lines, fallback="error")
    for xp, fp in ((np.empty(0), np.empty(0)), (np.arange(2.0), np.arange(3.0))):
        with pytest.raises(ValueError, match=r"array of sample points is empty|not of the same length"):
            program(1.0, xp, fp)
