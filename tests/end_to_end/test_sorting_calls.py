"""A few numbers are sorted without Python where only one answer is right, and as in Python where it is not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from weft.driver import compiler


def in_order(x):
    return np.sort(x)


def in_stable_order(x):
    return np.sort(x, kind="stable")


def places(x):
    return np.argsort(x)


def stable_places(x):
    return np.argsort(x, kind="stable"), x.argsort(kind="mergesort")


def middle(x):
    return np.median(x)


def filtered(x):
    result = np.zeros(len(x))
    for k in range(len(x)):
        window = x[max(k - 2, 0) : k + 3]
        result[k] = np.median(window) + np.sort(window)[0] + np.argsort(-window)[0]
    return result


FUNCTIONS = [in_order, in_stable_order, places, stable_places, middle, filtered]


def told(function: Callable[..., Any], *given: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*given)
    messages = {str(item.message) for item in caught if item.category is RuntimeWarning}
    return result if isinstance(result, tuple) else (result,), messages


def assert_same(program: Callable[..., Any], function: Callable[..., Any], *given: Any) -> None:
    """Bit for bit, the signs of zeros too."""
    (ours, warned), (theirs, expected) = told(program, *given), told(function, *given)
    assert warned == expected
    for mine, other in zip(ours, theirs, strict=True):
        assert type(mine) is type(other)
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(mine, other)
        np.testing.assert_array_equal(np.signbit(mine), np.signbit(other))


@PLAINLY
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.float32, np.int8])
def test_numbers(function: Callable[..., Any], dtype: Any) -> None:
    program = weft.program(function)
    random = np.random.default_rng(1)
    for n in (1, 2, 3, 4, 9, 16, 17, 63, 64, 65, 200):
        for width in (3, 100):
            assert_same(program, function, random.integers(-width, width, n).astype(dtype))
        assert_same(program, function, random.permutation(n).astype(dtype) - n // 2)
        assert_same(program, function, random.integers(-9, 9, 2 * n).astype(dtype)[::-2])


@PLAINLY
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_leaves_the_order_open(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    for items in (
        [0.0, -0.0, 0.0], [-0.0, 1.0, 0.0, -1.0], [np.nan, 1.0, 0.5], [np.nan, 1.0, np.nan, 2.0],
        [np.inf, -np.inf, 0.0], [np.inf, -np.inf], [np.inf], [-np.nan, 3.0], [1e308, 1.7e308],
        [5e-324, -5e-324, 1e-310], [1e308, -1e308],
    ):  # fmt: skip
        assert_same(program, function, np.array(items))
    if function is not middle:
        assert_same(program, function, np.zeros(0))


@PLAINLY
def test_integers_at_the_ends() -> None:
    info = np.iinfo(np.int64)
    for function in (in_order, stable_places, middle):
        assert_same(weft.program(function), function, np.array([info.max, info.min, 0, -1, info.max - 1, 5]))


@PLAINLY
def test_an_empty_median() -> None:
    program = weft.program(middle)
    assert_same(program, middle, np.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(program(np.zeros(0)))
        assert np.isnan(program(np.zeros((3, 0))))


@PLAINLY
def test_windows_of_two_axes() -> None:
    program = weft.program(middle)
    image = np.random.default_rng(2).random((9, 12))
    for window in (image[2:5, 3:6], image[::2, ::-3], image.T[1:3], image[:1, :1], image, image[:0]):
        if window.size:
            assert_same(program, middle, window)


def test_python_is_called_second() -> None:
    text = compiler.generate(places, (np.ones(3),)).source
    assert "weft_sorting_call(ctx, out, 1, 'a', 1, 1)" in text
    assert "call_python" in text.partition("!weft_sorting_call(")[2]
