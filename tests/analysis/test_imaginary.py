"""Which complex numbers are known to be imaginary, and that their exponentials are NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft


def turned(t):
    return np.exp(1j * t)


def the_other_way_round(t):
    return np.exp(t * -2.5j)


def product_and_quotient(t):
    return np.exp(-2j * np.pi * t / 3)


def negative_sum(t):
    return np.exp(-(1j * t + 2j))


def matrix(t):
    return np.exp(-2j * np.pi * t[:, None] * t / len(t))


def number_first(t):
    return np.exp(-2j * np.pi / len(t) * t)


def stored(t):
    z = 1j * t
    return np.exp(z), z


def summed(t):
    return np.sum(np.exp(1j * t))


IMAGINARY = (
    turned, the_other_way_round, product_and_quotient, negative_sum, matrix, number_first, stored, summed,
)  # fmt: skip


def shifted(t):
    return np.exp(1j * t + 0.5)


def squared(t):
    return np.exp((1j * t) * (2j * t))


def real_number_first(t):
    return np.exp(complex(len(t), 0) / 1e5 * t)


def damped(t):
    return np.exp((-0.1 + 1j) * t)


def changed_in_part(t):
    z = 1j * t
    z[1:3] += 1
    return np.exp(z)


def changed_by_another_name(t):
    z = 1j * t
    y = z.reshape(2, -1)
    y += 1
    return np.exp(z)


def changed_by_numpy(t):
    z = 1j * t
    z[:] = np.fft.fft(z)
    return np.exp(z)


NOT_IMAGINARY = (
    shifted, squared, damped, real_number_first, changed_in_part, changed_by_another_name, changed_by_numpy,
)  # fmt: skip

ANGLES = np.array([0.0, -0.0, 1.0, -2.5, 3e5, 1e-310, 7.0, -0.1])


def check(function: Callable[..., Any], t: Any, *, imaginary: bool) -> None:
    program = weft.program(function)
    found, expected = program(t), function(t)
    for left, right in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, expected)), strict=True):
        assert left.dtype == right.dtype
        precision = np.finfo(right.dtype).eps
        np.testing.assert_allclose(left.real, right.real, rtol=4 * precision, atol=8 * precision)
        np.testing.assert_allclose(left.imag, right.imag, rtol=4 * precision, atol=8 * precision)
    assert ("weft_exp_imaginary" in program.inspect_source()) == imaginary


@pytest.mark.parametrize("function", IMAGINARY)
def test_a_cosine_and_a_sine_will_do(function: Callable[..., Any]) -> None:
    check(function, ANGLES, imaginary=True)


@pytest.mark.parametrize("function", NOT_IMAGINARY)
def test_other_numbers_have_an_exponential(function: Callable[..., Any]) -> None:
    check(function, ANGLES, imaginary=False)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_of_other_types(dtype: Any) -> None:
    with np.errstate(all="ignore"):
        check(turned, ANGLES[[0, 2, 3, 6]].astype(dtype), imaginary=True)


def test_strict_programs_ask_numpy() -> None:
    program = weft.program(turned, strict=True)
    np.testing.assert_array_equal(program(ANGLES), turned(ANGLES))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e308])
def test_angles_that_are_none(value: float) -> None:
    t = ANGLES.copy()
    t[3] = value
    for function in (turned, the_other_way_round, product_and_quotient, number_first):
        outcomes: list[tuple[Any, set[str]]] = []
        for run in (weft.program(function, fallback="error"), function):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                outcomes.append((run(t), {str(warning.message) for warning in caught}))
        np.testing.assert_allclose(outcomes[0][0], outcomes[1][0], rtol=1e-15)
        assert outcomes[0][1] == outcomes[1][1]


def test_a_sine_and_a_cosine_of_one_angle_are_vectorized() -> None:
    def polar(r, t):
        return r * np.cos(t), r * np.sin(t)

    program = weft.program(polar)
    program(ANGLES, ANGLES)
    assert "sincos" not in program.inspect_asm()
