"""Loops that run in parallel give the same bits, warnings, errors and contents on one thread and on several."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same_outcome, run


def newton(a, tolerance):
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        x = a[i]
        while abs(x * x - a[i]) > tolerance:
            x = 0.5 * (x + a[i] / x)
        out[i] = x
    return out


def newton_in_place(a, tolerance):
    for i in range(a.shape[0]):
        x = a[i]
        turns = 0
        while turns < 40 and abs(x * x - a[i]) > tolerance:
            x = 0.5 * (x + a[i] / x)
            turns += 1
        a[i] = x


def escape(a, tolerance):
    out = np.zeros((len(a) // 50, 50), np.int64)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            x, y, k = 0.0, 0.0, 0
            while x * x + y * y <= 4.0 and k < 40:
                x, y = x * x - y * y + a[i] - 1.5, 2 * x * y + a[50 * i + j] - 0.5
                k += 1
            out[i, j] = k
    return out


def peaks_in_a_while(a, tolerance):
    out = np.zeros(len(a) // 64)
    for i in range(len(out)):
        low, total = 0, 0.0
        while low < 64:
            total = total + a[64 * i + low : 64 * i + low + 8].max()
            low += 8
        out[i] = total
    return out


PARALLEL = [newton, newton_in_place, escape]


def numbers(count: int, dtype: Any = np.float64) -> Any:
    return (np.random.default_rng(1).random(count) + 0.5).astype(dtype)


def warned(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, list[tuple[str, int]]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*arguments)
    return result, [(str(one.message), one.lineno) for one in caught]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [*PARALLEL, peaks_in_a_while], ids=lambda f: f.__name__)
def test_a_while_at_every_point(function: Callable[..., Any], dtype: Any) -> None:
    made = numbers(20000, dtype)
    for a in (made, made[::-2], made[:0], made[:1]):
        expected = run(function, (a.copy(), 1e-4))
        for threads in (1, 2):
            program = weft.program(function, threads=threads, fallback="error")
            assert_same_outcome(
                run(program, (a.copy(), 1e-4)), expected, where=f"{function.__name__}, {threads} threads"
            )
            if threads > 1 and len(a) == len(made) and function in PARALLEL:
                assert program.stats.parallel_regions >= 1


# ---- running windows ------------------------------------------------------------------------------------------------


def means(x, h):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = np.mean(x[max(0, i - h) : min(len(x), i + h + 1)])
    return out


def sums_of_a_loop(x, h):
    n = len(x)
    out = np.zeros(n)
    for i in range(n):
        low = max(0, i - h)
        high = min(n, i + h + 1)
        total = 0.0
        for j in range(low, high):
            total += x[j]
        out[i] = total / (high - low)
    return out


def largest(x, h):
    out = np.zeros(len(x))
    for i in range(len(x)):
        m = x[i]
        for j in range(max(0, i - h), min(len(x), i + h + 1)):
            if x[j] > m:  # noqa: PLR1730
                m = x[j]
        out[i] = m
    return out


def inner_sums(x, h):
    n = len(x)
    out = np.zeros(n)
    for i in range(h, n - h):
        total = 0.0
        for j in range(-h, h + 1):
            total += x[i + j]
        out[i] = total / (2 * h + 1)
    return out


def inner_means(x, h):
    out = np.zeros(len(x))
    for i in range(h, len(x) - h):
        out[i] = x[i - h : i + h + 1].mean()
    return out


def differences(x, h):
    out = np.zeros(len(x))
    for i in range(h, len(x)):
        out[i] = x[i] - x[i - h]
    return out


def around_the_end(x, h):
    out = np.zeros(len(x))
    for i in range(-h, h):
        out[i] = 2 * x[i]
    return out


WINDOWS = [means, sums_of_a_loop, largest, inner_sums, inner_means, differences]
WIDTHS = (-9, -2, -1, 0, 1, 3, 8, 40, 2**62, 2**63 - 1, -(2**63), 2**63)


@pytest.mark.parametrize("function", WINDOWS, ids=lambda f: f.__name__)
def test_windows_run_in_parallel(function: Callable[..., Any]) -> None:
    x = np.random.default_rng(2).integers(-99, 99, 40000).astype(np.float64)
    expected = run(function, (x, 4))
    for threads in (1, 2):
        program = weft.program(function, threads=threads, fallback="error")
        assert_same_outcome(run(program, (x, 4)), expected, where=f"{threads} threads")
        assert program.stats.resumes == 0
    assert "stays a loop: each iteration" not in str(program.explain())
    assert program.stats.parallel_regions >= 1


@pytest.mark.parametrize("function", [*WINDOWS, around_the_end], ids=lambda f: f.__name__)
def test_windows_of_any_width(function: Callable[..., Any]) -> None:
    program = weft.program(function, threads=2)
    for n in (0, 1, 2, 9):
        x = np.random.default_rng(n).integers(-99, 99, n).astype(np.float64)
        for h in WIDTHS:
            if abs(h) < 100 or function not in (inner_sums, around_the_end):  # Python would take years
                assert_same_outcome(run(program, (x, h)), run(function, (x, h)), where=f"{n} numbers, {h}")


def test_warnings_from_a_while() -> None:
    a = numbers(20000)
    a[[5, 19990]] = 0.0, -1.0

    def division(a, out):
        for i in range(len(a)):
            x, k = a[i], 0
            while k < 3:
                x = 1.0 / x
                k += 1
            out[i] = np.sqrt(x)

    python = warned(division, (a, np.empty(20000)))[1]
    seen = [warned(weft.program(division, threads=threads), (a, np.empty(20000)))[1] for threads in (1, 2)]
    assert seen[0] == seen[1]
    assert {text.split(" in ")[0] for text, _ in seen[0]} == {text.split(" in ")[0] for text, _ in python}


def test_an_error_in_a_while_leaves_what_python_leaves() -> None:
    def chase(next_of, out):
        for i in range(len(out)):
            k, turns = i, 0
            while next_of[k] != k and turns < 10:
                k = next_of[k]
                turns += 1
            out[i] = k

    chain = np.minimum(np.arange(20000) + 1, 19999)
    chain[15000] = 20001
    for threads in (1, 2):
        expected, found = np.zeros(20000, np.int64), np.zeros(20000, np.int64)
        with pytest.raises(IndexError) as python:
            chase(chain, expected)
        with pytest.raises(IndexError) as native:
            weft.program(chase, threads=threads)(chain, found)
        assert str(native.value) == str(python.value)
        assert (found == expected).all()


@pytest.mark.parametrize("place", [0, 19999])
def test_a_while_without_end_can_be_interrupted(place: int) -> None:
    @weft.program(threads=2)
    def waits(a, out):
        for i in range(len(a)):
            x = a[i]
            while x > 0.25:
                x = max(x * 0.5, a[i] - 1.0)
            out[i] = x

    a, out = numbers(20000), np.zeros(20000)
    waits(a * 0.5, out)
    a[place] = 3.0
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        waits(a, out)
    assert time.perf_counter() - start < 5.0
