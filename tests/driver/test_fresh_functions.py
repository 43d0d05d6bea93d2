"""Programs that are given a function made anew for every call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from tests.compiling import PLAINLY

pytestmark = PLAINLY


def integral(f: Callable[[Any], Any], n: int) -> Any:
    total = 0.0
    for k in range(n):
        total += f(k / n)
    return total / n


def test_a_lambda_per_call_never_uses_up_the_variants() -> None:
    program = weft.program(integral, fallback="error")
    scale = 0.0

    def make() -> Callable[[Any], Any]:
        return lambda x: x * scale

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(40):
            scale = float(number)
            assert program(make(), 8) == integral(make(), 8)
    assert program.stats.compiles <= 1
    assert program.stats.native_calls == 40
    assert program.stats.variants <= 5


def test_other_types_still_use_them_up() -> None:
    program = weft.program(integral)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for power in range(20):
            scale = np.ones((1,) * power) if power % 2 else np.float32(power)
            program(lambda x, scale=scale: float(np.sum(x * scale)), 3)
    assert program.stats.compiles <= 17
