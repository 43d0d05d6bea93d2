"""Programs that Python runs for some types: these are not looked at on every call, and others are still compiled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import weft
from tests.compiling import PLAINLY

pytestmark = PLAINLY


def total(items: Any) -> Any:
    result = 0.0
    for item in items:
        result = result + item
    return result


def test_classes_that_were_refused_are_looked_at_again() -> None:
    program = weft.program(total)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(100):
            assert program({1.5, 2.5}) == 4.0
        assert program.stats.variants == 0
        assert program(np.ones(3)) == 3.0  # of another class: at once
        assert program.stats.variants == 1
        mixed = [2.0 + 0j, 1.5, *[1] * 200]
        for _ in range(100):
            assert program(mixed) == total(mixed)
        plain = [0.5] * 200
        for _ in range(300):
            assert program(plain) == total(plain)
    assert program.stats.variants == 2
    assert program.stats.fallback_calls + program.stats.cut_calls >= 200


def counted(rows: Any) -> Any:
    if len(rows) < 2:
        return 1
    return 1 + again(rows[1:])


again = weft.program(counted)


def test_a_function_that_calls_itself() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            assert again([[k, 1] for k in range(50)]) == 50
            assert again(np.ones(50)) == 50


def test_a_refusal_that_is_an_error_stays_one() -> None:
    program = weft.program(total, fallback="error")
    for _ in range(50):
        try:
            program({1.5, 2.5})
        except weft.CompileError:
            continue
        raise AssertionError("no error")
