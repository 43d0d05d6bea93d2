"""Programs that Python runs for some types: these are not looked at on every call, and others are still compiled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from weft.driver import compiler

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


def mixed_up(seed: int, steps: int) -> Any:
    mask = (1 << 64) - 1
    out = np.empty(steps)
    for i in range(steps):
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = seed
        z = (z ^ (z >> 30)) * 5 & mask
        z = (z ^ (z >> 27)) * 3 & mask
        out[i] = z / mask
    return out


def halved(number: int, steps: int) -> int:
    for _ in range(steps):
        number = number // 2 + 1
    return number


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions that are looked at."""
    found: list[Any] = []
    lower = compiler.lower_program

    def counting(function: Any, *rest: Any, **options: Any) -> Any:
        found.append(function)
        return lower(function, *rest, **options)

    monkeypatch.setattr(compiler, "lower_program", counting)
    return found


def test_pieces_that_get_ints_beyond_64_bits_are_not_looked_at_for_ever(lowered: list[Any]) -> None:
    program = weft.program(mixed_up)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for steps in (500, 501, 502):
            np.testing.assert_array_equal(program(7, steps), mixed_up(7, steps))
        lowered.clear()
        program(7, 5000)
    assert len(lowered) <= 1


def test_ints_beyond_64_bits_do_not_speak_for_others(lowered: list[Any]) -> None:
    program = weft.program(halved)
    for _ in range(100):
        assert program(2**80, 3) == halved(2**80, 3)
    assert len(lowered) < 50
    assert program.stats.variants == 0
    assert program(80, 3) == halved(80, 3)
    assert program.stats.variants == 1


def summed(numbers: list[int], by: int) -> int:
    total = 0
    for number in numbers:
        total += number * by
    return total


def test_lists_of_ints_beyond_64_bits_do_not_speak_for_others(lowered: list[Any]) -> None:
    program = weft.program(summed)
    for _ in range(100):
        assert program([2**80, 3], 2) == summed([2**80, 3], 2)
    assert len(lowered) < 50
    assert program([80, 3], 2) == summed([80, 3], 2)
    assert program.stats.variants == 1
