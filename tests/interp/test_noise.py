"""The interpreter with noise: free operations move by as much as they may, others not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft.analysis.exactness import Rules
from weft.driver.compiler import lower
from weft.interp import Noise, Returned, TooSlow, interpret

EPS = 2.0**-52


def movement(function: Callable[..., Any], *args: Any, runs: int = 20) -> Any:
    """How far the result moves at most."""
    lowered = lower(function, args)

    def value(noise: Noise | None) -> Any:
        outcome = interpret(lowered.program, lowered.objects, noise=noise)
        assert isinstance(outcome, Returned)
        return np.asarray(outcome.value)

    center = value(None)
    with np.errstate(invalid="ignore"):
        return np.max([np.abs(value(Noise(Rules().is_free, seed)) - center) for seed in range(runs)], axis=0)


def test_arithmetic_does_not_move() -> None:
    a = np.random.default_rng(0).standard_normal(50)

    assert movement(lambda a: (np.sqrt(a * a) - 1.0) / 3.0 + a.max(), a).max() == 0.0


def test_functions_move_by_eight_ulp() -> None:
    a = np.linspace(-20.0, 20.0, 41)
    moved = movement(lambda a: 1.0 * np.exp(a), a) / (np.exp(a) * EPS)

    assert (moved > 4.0).all()
    assert (moved < 9.0).all()


def test_sums_move_relative_to_what_is_added() -> None:
    a = np.tile([1e6, -1e6], 50)

    assert 10 * 1e8 * EPS < movement(lambda a: a.sum(), a) < 100 * 1e8 * EPS
    assert 10 * 1e14 * EPS < movement(lambda a: a @ a[::-1], a) < 200 * 1e14 * EPS


def test_infinities_stay() -> None:
    a = np.array([np.inf, 1.0, -np.inf])
    moved = movement(lambda a: np.exp(a) - 1.0, a)

    assert np.isnan(moved[0])  # the same infinity every time
    assert moved[2] == 0.0


def test_a_limit_of_time_is_kept() -> None:
    def f(n):
        s = 0
        for i in range(n):
            s += i
        return s

    lowered = lower(f, (10_000_000,))
    with pytest.raises(TooSlow):
        interpret(lowered.program, lowered.objects, limit_s=0.05)
