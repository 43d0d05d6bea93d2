"""Elements that are computed and then written again: what NumPy warns of is told all the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.end_to_end.outcome import check


def quotients_mended(a: Any, b: Any) -> Any:
    ratio = a / b
    ratio[b == 0] = 1
    return ratio


def quotients_mended_in_place(a: Any, b: Any) -> Any:
    out = np.empty_like(a)
    for _ in range(3):
        out[:] = a / b
        out[b == 0] = 3
    return out


def quotients_chosen_from(a: Any, b: Any) -> Any:
    out = np.empty_like(a)
    ratio = a / b
    out[:] = ratio
    out[:] = np.where(b != 0, ratio, 0.0)
    return out


def elements_mended(a: Any, b: Any) -> Any:
    out = np.empty_like(a)
    for i in range(len(a)):
        out[i] = a[i] / b[i]
        if b[i] == 0:
            out[i] = 1.0
    return out


def elements_on_both_sides(a: Any, b: Any) -> Any:
    out = np.empty_like(a)
    for i in range(len(a)):
        if a[i] > 0:
            out[i] = a[i] / b[i]
        else:
            out[i] = np.sqrt(a[i])
        if b[i] == 0:
            out[i] = 1.0
    return out


def through_a_view(a: Any, b: Any) -> Any:
    out = np.zeros_like(a)
    inner = out[1:-1]
    inner[:] = a[1:-1] / b[1:-1]
    out[b == 0] = 0
    return out


@pytest.mark.parametrize("count", [5, 64, 3001])
@pytest.mark.parametrize(
    "function",
    [
        quotients_mended,
        quotients_mended_in_place,
        quotients_chosen_from,
        elements_mended,
        elements_on_both_sides,
        through_a_view,
    ],
    ids=lambda function: function.__name__,
)
def test_what_is_mended_afterwards_has_warned(function: Any, count: int) -> None:
    def with_zeros() -> tuple[Any, ...]:
        divisors = np.ones(count)
        divisors[[1, count // 2]] = 0
        return np.linspace(0.5, 1, count), divisors

    def without() -> tuple[Any, ...]:
        return np.linspace(0.5, 1, count), np.full(count, 2.0)

    check(function, with_zeros, without)
