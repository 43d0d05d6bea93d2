"""The row "warnings": RuntimeWarnings as NumPy gives them, under every np.errstate and every filter."""

# The programs are written as users write them.
# ruff: noqa: PLR0912, C901

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same_outcome, run, stats_of
from tests.semantics.cases import agree, choices

MODES = ("ignore", "warn", "print", "log", "call", "raise")


def troubled(k, a, b, i, j):
    """Each case stores before and after the operation that warns."""
    a[0] = 5.0
    if k == 0:
        c = a / b
    elif k == 1:
        c = np.sqrt(a)
    elif k == 2:
        c = a * 1e308
    elif k == 3:
        c = np.exp(a * 1000)
    elif k == 4:
        c = np.log(b)
    elif k == 5:
        c = (i // j) * 1.0
    elif k == 6:
        c = (i % j) * 1.0
    elif k == 7:
        c = a % b
    elif k == 8:
        c = (a * 1e-300) * 1e-300
    elif k == 9:
        c = (a.astype(np.float32) * np.float32(3e38)).astype(np.float64)
    elif k == 10:
        c = a + (a * 1e300).sum() * 1e10
    elif k == 11:
        c = a + a[1] / b[0]
    elif k == 12:
        c = np.where(b != 0, a / b, 0)
    elif k == 13:
        c = b / b
        c = c + 1
    elif k == 14:
        c = (a * 1e300).astype(np.int32) * 1.0
    elif k == 15:
        c = a + np.float32(a[1] * 1e60)
    else:
        c = a + b
    a[1] = 7.0
    return c


def make() -> tuple[Any, ...]:
    return np.array([-1.0, 2.0, 0.5]), np.array([0.0, 1.0, -0.0]), np.array([1, 2, 3]), np.array([0, 1, -1])


def quiet() -> tuple[Any, ...]:
    return np.array([1.0, 2.0, 0.5]), np.array([3.0, 1.0, 2.0]), np.array([1, 2, 3]), np.array([3, 1, -1])


def test_what_warns_and_what_does_not() -> None:
    agree(troubled, *choices(17, make, quiet), ulps=4)


class Log:
    """Where np.errstate(call=...) puts what it has to say."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, line: str) -> None:
        self.lines.append(line)

    def __call__(self, kind: str, flag: int) -> None:
        self.lines.append(f"{kind} {flag}")


def under(mode: Any, function: Callable[..., Any], k: int) -> tuple[Any, list[str], str]:
    """The outcome of a call under a mode, with what was written and printed."""
    log, printed = Log(), io.StringIO()
    with np.errstate(all=mode, call=log), redirect_stdout(printed):
        outcome = run(function, (k, *make()))
    return outcome, log.lines, printed.getvalue()


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_of_errstate(mode: str) -> None:
    program = weft.program(troubled, fallback="error")
    for k in range(17):
        expected = under(mode, troubled, k)
        actual = under(mode, program, k)
        assert_same_outcome(actual[0], expected[0], 4, f"{mode}, case {k}:")
        assert actual[1:] == expected[1:], (mode, k)
    assert stats_of(program)["fallback_calls"] == 0


@pytest.mark.parametrize("single", ["divide", "over", "under", "invalid"])
def test_modes_of_one_kind(single: str) -> None:
    program = weft.program(troubled, fallback="error")
    others = {"divide": "ignore", "over": "warn", "under": "ignore", "invalid": "warn"} | {single: "warn"}
    for k in range(17):
        with np.errstate(**others):  # type: ignore[arg-type]
            assert_same_outcome(run(program, (k, *make())), run(troubled, (k, *make())), 4, f"{single}, case {k}:")
    with np.errstate(**{single: "raise"}):  # type: ignore[arg-type]
        for k in (0, 2, 5, 8):
            assert_same_outcome(run(program, (k, *make())), run(troubled, (k, *make())), 4, f"{single}, case {k}:")


def test_filters_that_raise() -> None:
    """A warning that is an exception stops the program where it stands."""
    program = weft.program(troubled, fallback="error")
    every: tuple[Any, ...] = (("error",), ("error", RuntimeWarning), ("ignore",), ("error", ArithmeticError), ("once",))
    for filters in every:
        for k in range(0, 17, 2):
            results = []
            for function in (troubled, program):
                arguments, result, error = make(), None, None
                with warnings.catch_warnings(record=True):
                    warnings.simplefilter("ignore", weft.PerformanceWarning)
                    if filters[-1] is not ArithmeticError:
                        warnings.simplefilter(*filters)
                    else:
                        warnings.filterwarnings("error", "divide by zero")
                        warnings.filterwarnings("ignore", "(overflow|invalid|underflow)")
                    try:
                        result = function(k, *arguments)
                    except RuntimeWarning as raised:
                        error = str(raised)
                results.append((repr(result), error, repr(arguments)))
            assert results[0][1:] == results[1][1:], (filters, k)


def test_filters_are_looked_at_again() -> None:
    program = weft.program(troubled, fallback="error")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program(0, *make())
        native = stats_of(program)["native_calls"]
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            program(0, *make())
        assert stats_of(program)["native_calls"] == native
        warnings.simplefilter("ignore")
        program(0, *make())
        warnings.resetwarnings()
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        program(0, *make())
        assert stats_of(program)["native_calls"] == native + 2


def in_a_loop(a, b, n):
    """A warning in a loop, in a reduction, in a parallel map."""
    total = 0.0
    for i in range(n):
        total += a[i] / b[i]
    c = a[:n] / b[:n]
    return total, c, (a / b).sum(), np.sqrt(c).max()


def test_warnings_of_loops() -> None:
    def large(at: int):
        a, b = np.ones(100_000), np.ones(100_000)
        b[at] = 0.0
        return a, b, 90_000

    agree(in_a_loop, lambda: large(95_000), lambda: large(50_000), lambda: large(0))


def discarded(a, b, flag):
    """What is computed and thrown away warns all the same; what is not computed does not."""
    a / b  # type: ignore[reportUnusedExpression]
    if flag:
        np.sqrt(b - 1)
    return a * 2 if flag or (a / b).any() else None


def test_results_nobody_uses() -> None:
    agree(discarded, lambda: (*make()[:2], True), lambda: (*make()[:2], False), lambda: (*quiet()[:2], True))
