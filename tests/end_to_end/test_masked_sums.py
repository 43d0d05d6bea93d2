"""Sums and extremes of what truth values in memory choose: lanes are as wide as vectors of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same_outcome, run

SIZES = (0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 200, 1023, 1025, 5000)
DTYPES = ("f8", "f4", "i8", "i4", "c16")


def total(x, m):
    return x[m].sum()


def filled(x, m):
    return np.where(m, x, 0.5).sum()


def mean(x, m):
    values = x[m]
    return values.mean()


def times(x, m):
    return (x * m).sum(), np.count_nonzero(m)


def largest(x, m):
    return np.where(m, x, 0).max(initial=-1), np.where(m, x, 1).min(initial=9)


def in_loops(x, m):
    s, c = x.dtype.type(0), 0
    for i in range(len(x)):
        if m[i]:
            s += x[i]
            c += 1
    return s, c


def squares(x, m):
    s = 0.0
    for i in range(len(x)):
        if m[i]:
            s += x[i] ** 2
    return s


def rows(x, m):
    a, b = np.where(m, x, 0.0), x.reshape(-1, 1)
    return a.sum(), np.where(m, b, 0.0).sum(axis=0)[:3] if len(x) < 300 else 0


FUNCTIONS = [total, filled, mean, times, largest, in_loops, squares, rows]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_masks_choose_is_added_up(function: Callable[..., Any]) -> None:
    program, other = weft.program(function, fallback="error"), weft.program(function, threads=3)
    rng = np.random.default_rng(0)
    for dtype in DTYPES:
        if dtype == "c16" and function is largest:
            continue
        for size in SIZES:
            x = (rng.random(size) * 8 - 4).astype(dtype)
            for m in (rng.random(size) < 0.5, np.zeros(size, bool), np.ones(size, bool)):
                expected, found = run(function, [x, m]), run(program, [x, m])
                assert_same_outcome(found, expected, ulps=64 + size / 8, where=f"{dtype}, {size}")
                assert_same_outcome(run(other, [x, m]), found, where=f"{dtype}, {size}, threads")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [total, filled, mean, in_loops, squares], ids=lambda f: f.__name__)
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200, -0.0])
def test_what_masks_leave_out_does_not_matter(function: Callable[..., Any], value: float) -> None:
    program = weft.program(function, fallback="error")
    for size in (5, 40, 200):
        for place in range(0, size, 3):
            x, m = np.ones(size), np.arange(size) % 2 == 0
            x[place] = value
            expected = run(function, [x, m])
            assert_same_outcome(run(program, [x, m]), expected, ulps=16.0, where=f"{size}, {place}")


def test_a_mask_and_what_it_chooses_need_no_memory() -> None:
    program = weft.program(rings)
    program(np.ones(100), np.arange(100.0), 4)
    assert "alloc mask" in program.inspect_graph("gather-guards")
    graph = program.inspect_graph("inline-producers")
    assert "alloc mask" not in graph
    assert "alloc values" not in graph


def rings(data, radius, count):
    largest = radius.max()
    found = np.zeros(count)
    for i in range(count):
        inner = largest * i / count
        outer = largest * (i + 1) / count
        mask = np.logical_and(inner <= radius, radius < outer)
        values = data[mask]
        found[i] = values.mean()
    return found
