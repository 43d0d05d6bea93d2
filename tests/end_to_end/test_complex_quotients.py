"""Quotients of complex numbers warn as NumPy does, for every kind of operand."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest

import weft

PARTS = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e300, 1e-300)


def quotient(a: Any, b: Any) -> Any:
    return a / b


def reciprocal(a: Any) -> Any:
    return np.reciprocal(a)


def numbers(dtype: type[np.complexfloating[Any, Any]]) -> list[Any]:
    """Arrays of three equal numbers, one per pair of parts."""
    made: list[Any] = []
    with np.errstate(all="ignore"):
        for real, imag in product(PARTS, PARTS):
            value = np.empty(3, dtype)
            value.real, value.imag = real, imag
            made.append(value)
    return made


def warned(function: Any, *args: Any) -> set[str]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        function(*args)
    return {str(item.message) for item in told}


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_quotients_warn_as_in_numpy(dtype: Any) -> None:
    divide, invert = weft.program(quotient, fallback="error"), weft.program(reciprocal, fallback="error")
    values = numbers(dtype)
    for b in values:
        assert warned(invert, b) == warned(reciprocal, b), b[0]
        for a in values[::4]:
            assert warned(divide, a, b) == warned(quotient, a, b), (a[0], b[0])
