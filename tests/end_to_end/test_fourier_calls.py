"""Fourier transforms, without Python where nothing is amiss and as in Python where something is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from weft.driver import compiler


def forward(a, n):
    return np.fft.fft(a)


def backward(a, n):
    return np.fft.ifft(a)


def there_and_back(a, n):
    return np.fft.ifft(np.fft.fft(a) * 2.0)


def half(a, n):
    return np.fft.rfft(a.real)


def whole(a, n):
    return np.fft.irfft(a + 0j)


def padded(a, n):
    return np.fft.fft(a, n), np.fft.rfft(a.real, n=n), np.fft.irfft(a + 0j, n)


def down_the_columns(a, n):
    return np.fft.fft(a, axis=0), np.fft.ifft(a, n, 0), np.fft.fft(a, axis=-1), np.fft.rfft(a.real, axis=-2)


def both_axes(a, n):
    return np.fft.fft2(a), np.fft.ifft2(a), np.fft.ifft2(np.fft.fft2(a) / 2)


def all_axes(a, n):
    return np.fft.fftn(a), np.fft.ifftn(a), np.fft.ifftn(np.fft.fftn(a) / 2), np.fft.fftn(a, axes=(0,))


def in_a_loop(a, n):
    for _ in range(3):
        a = np.fft.ifft(0.5 * np.fft.fft(a))
    return a


def with_norm(a, n):
    return np.fft.fft(a, norm="ortho"), np.fft.ifft(a, norm="forward")


LINES = [forward, backward, there_and_back, half, whole, padded, all_axes, in_a_loop, with_norm]
PLANES = [forward, backward, half, whole, padded, down_the_columns, both_axes, all_axes]
TYPES = [np.float64, np.float32, np.complex128, np.complex64, np.int32]


def numbers(dtype: Any, *shape: int) -> Any:
    random = np.random.default_rng(len(shape))
    made = random.uniform(-9.0, 9.0, shape) + (
        1j * random.uniform(-9.0, 9.0, shape) if np.dtype(dtype).kind == "c" else 0
    )
    return made.astype(dtype)


def told(function: Callable[..., Any], *given: Any) -> Any:
    """The results, or what was raised, with the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*given)
        except ValueError as error:
            result = repr(error)
    messages = {str(item.message) for item in caught if item.category is RuntimeWarning}
    return result if isinstance(result, tuple) else (result,), messages


def assert_same(program: Callable[..., Any], function: Callable[..., Any], *given: Any) -> None:
    """Bit for bit: it is the same library with the same numbers."""
    (ours, warned), (theirs, expected) = told(program, *given), told(function, *given)
    assert warned == expected
    for mine, other in zip(ours, theirs, strict=True):
        assert type(mine) is type(other)
        if isinstance(mine, str):
            assert mine == other
            continue
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
        if mine.dtype.itemsize < 16 and function in (there_and_back, in_a_loop):
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(mine, other)


@PLAINLY
@pytest.mark.parametrize("function", LINES)
def test_lines(function: Callable[..., Any]) -> None:
    for dtype in TYPES:
        program = weft.program(function)
        for n in (1, 2, 3, 8, 15, 97):
            assert_same(program, function, numbers(dtype, n), n + 3)
            assert_same(program, function, numbers(dtype, n), max(n // 2, 1))
        assert program.stats.numpy_calls > 0


@PLAINLY
@pytest.mark.parametrize("function", PLANES)
def test_planes(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    for dtype in TYPES:
        for shape in ((1, 1), (2, 5), (8, 6), (7, 3)):
            assert_same(program, function, numbers(dtype, *shape), 4)


@PLAINLY
@pytest.mark.parametrize("function", PLANES)
def test_views_of_any_strides(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    a = numbers(np.complex128, 8, 6)
    for view in (a.T, a[::-1, ::2], a[1::3], np.asfortranarray(a), np.broadcast_to(a[0], (4, 6)), a.real):
        assert_same(program, function, view, 5)


@PLAINLY
@pytest.mark.parametrize("function", [*LINES, both_axes])
@pytest.mark.parametrize("kind", ["nan", "infinite", "huge", "empty", "no points", "negative"])
@pytest.mark.filterwarnings("ignore")
def test_what_is_amiss_is_told_as_in_python(function: Callable[..., Any], kind: str) -> None:
    if function is padded and kind == "empty":
        pytest.skip("NumPy reads beyond the end of an empty array")
    shape = (6, 4) if function is both_axes else (6,)
    a, n = numbers(np.complex128, *shape), 4
    match kind:
        case "nan":
            a[1] = np.nan
        case "infinite":
            a[1] = np.inf
        case "huge":
            a *= 1e308
        case "empty":
            a = a[:0]
        case "no points":
            n = 0
        case _:
            n = -2
    program = weft.program(function)
    assert_same(program, function, numbers(np.complex128, *shape), 4)
    assert_same(program, function, a, n)
    assert_same(program, function, numbers(np.complex128, *shape), 7)


def test_the_loop_is_called_first() -> None:
    text = compiler.generate(half, (numbers(np.complex128, 8), 2)).source
    assert "weft_fourier_call(ctx, ctx->library + 0, out, 1, 'R', 1, 0, INT64_MIN, 0)" in text
    assert "call_python" in text.partition("weft_fourier_call(ctx, ctx->library")[2]
