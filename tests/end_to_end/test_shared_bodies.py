"""Loops that differ in the names of their variables alone are one function in C; each call has its own arguments."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

import weft


def gate(x, y):
    return 1.0 / (1.0 + np.exp(-x)) * np.tanh(y)


def gates(a, b, c, d):
    first = gate(a, b) @ d.T
    second = gate(first, first) @ c
    third = gate(second, a) @ d.T
    return first, second, third, gate(a[:, ::2], c[:, ::2])


def quotients(a, b, c, d):
    first = a / b + np.log(a)
    second = c / d + np.log(c)
    third = b / a + np.log(b)
    return first, second, third


def sums(a, b, c, d):
    return np.sum(a * b, axis=0), np.sum(c * d, axis=0), np.sum(np.sqrt(a), axis=1), np.sum(np.sqrt(d), axis=1)


def arrays(seed: int) -> list[Any]:
    return list(np.random.default_rng(seed).random((4, 7, 10)) + 0.5)


def bodies(program: Any) -> int:
    return len(set(re.findall(r"\bweft_kernel_\w+_body_\d+\b", program.inspect_source())))


def told(function: Any, arguments: list[Any]) -> tuple[Any, list[tuple[str, int]]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*arguments)
    return result, sorted((str(warning.message), warning.lineno) for warning in caught)


def test_calls_of_a_helper_share_what_is_alike() -> None:
    program = weft.program(gates, fallback="error")
    for got, want in zip(program(*arrays(1)), gates(*arrays(1)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)
    # The maps over seven rows of ten, over seven of seven and with strides, each with its second run.
    assert bodies(program) == 6


def test_warnings_are_told_at_the_lines_of_their_own_calls() -> None:
    program = weft.program(quotients, fallback="error")
    program(*arrays(2))
    for argument, number in ((0, -1.0), (1, 0.0), (2, -2.0), (3, 0.0)):
        arguments = arrays(3)
        arguments[argument][2, 3] = number
        (got, ours), (want, theirs) = told(program, arguments), told(quotients, arguments)
        for left, right in zip(got, want, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-13)
        assert theirs
        assert ours == theirs


def test_sums_share_what_is_alike() -> None:
    program = weft.program(sums, fallback="error")
    for got, want in zip(program(*arrays(4)), sums(*arrays(4)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)
    arguments = arrays(5)
    arguments[3][1, 1] = -1.0
    (got, ours), (want, theirs) = told(program, arguments), told(sums, arguments)
    assert ours == theirs
    np.testing.assert_allclose(got[3], want[3], rtol=1e-13)
