"""Loops in loops: what they carry settles in a few trials, however many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft.driver.compiler import lower
from weft.frontend import loops
from weft.interp import Returned, interpret
from weft.support.errors import CompileError


def six(a, n):
    total, last = 0.0, 0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                for m in range(n):
                    for p in range(n):
                        q = 0
                        while q < n:
                            total += a[i] * j + k * m + p
                            last = q
                            q += 1
    return total, last


def arrays(a, n):
    x, y = a, a + 1.0
    for _ in range(n):
        for _ in range(n):
            for _ in range(n):
                x, y = y, x * 0.5
            x = x + y
    return x, y


def kinds(a, n):
    total = 0
    for _ in range(n):
        for _ in range(n):
            for x in a:
                total += x
    return total


def helped(a, n):
    def one(start):
        found = start
        for i in range(n):
            for j in range(n):
                found = found + a[i] * j
        return found

    total = 0.0
    for _ in range(n):
        for k in (0, 1, 2):
            total += one(total) + one(k)
    return total


PROGRAMS = (six, arrays, kinds, helped)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_loops_mean_what_they_mean_in_python(function: Callable[..., Any]) -> None:
    for n in (0, 1, 3):
        arguments = (np.array([1.5, -2.0, 0.25]), n)
        outcome = interpret(lower(function, arguments).program, arguments)
        assert isinstance(outcome, Returned)
        np.testing.assert_equal(outcome.value, function(*arguments))


def test_the_trials_of_loops_in_loops_do_not_multiply(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = 0
    real = loops.lower_carried

    def counted(*args: Any) -> Any:
        nonlocal begun
        begun += 1
        return real(*args)

    monkeypatch.setattr(loops, "lower_carried", counted)
    lower(six, (np.ones(3), 3))
    assert begun <= 6 * 7 / 2 + 6  # each loop once more than the one around it; 63 if every trial begins anew


def test_an_inner_loop_leaves_a_choice_alone_that_it_does_not_touch() -> None:
    def logged(a, n):
        log = []
        for s in range(n):
            total = 0.0
            for x in a:
                total += x
            log.append({"step": s, "total": total})
        return log

    with pytest.raises(CompileError) as caught:
        lower(logged, (np.ones(3), 2))
    assert caught.value.place is not None
    assert caught.value.place[0] == logged.__code__.co_firstlineno + 2  # the loop in which the list changes
