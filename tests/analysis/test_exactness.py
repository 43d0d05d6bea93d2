"""Which outputs of a program have NumPy's bits, and which some freedom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft.analysis.exactness import Exactness, Rules, find_exactness
from weft.codegen.strict_functions import is_strict
from weft.driver.comparison import RESULT, Place
from weft.driver.compiler import lower
from weft.driver.output_places import find_targets, last_writer
from weft.ir.nodes import Program

A, B, N = Place("argument", "a"), Place("argument", "b"), np.arange(4.0) + 1.0


def analysed(function: Callable[..., Any], *args: Any, rules: Rules | None = None) -> tuple[Program, Exactness]:
    program = lower(function, args).program
    return program, find_exactness(program, rules or Rules())


def free(function: Callable[..., Any], place: Place = RESULT, *args: Any, rules: Rules | None = None) -> bool:
    program, exactness = analysed(function, *(args or (N.copy(),)), rules=rules)
    targets = find_targets(program, function, place)
    assert targets
    return any(exactness.is_free(target) for target in targets)


def arithmetic(a):
    return np.sqrt(np.abs(a * a - 1.0) / 3.0) + np.floor(a) + (a > 2.0) + np.cumsum(a) + a.max()


def integers(a):
    b = a.astype(np.int64)
    return b.sum() + (b @ b) + b**2


def function(a):
    return 2.0 * np.exp(a)


def total(a):
    return a.sum()


def product(a):
    return a @ a


def read_back(a):
    a[1] = np.log(a[0])
    return a[2]


def branch(a):
    b = np.zeros(3)
    if np.exp(a[0]) > 2.0:
        b[0] = 1.0
    return b


def turns(a):
    s = 0
    while a[0] > 0.5:
        a[0] = a[0] - np.sin(a[0])
        s += 1
    return s


def untouched(a):
    b = np.exp(a)
    c = b.sum()
    return a + 1.0, b, c


@pytest.mark.parametrize("exact", [arithmetic, integers], ids=lambda f: f.__name__)
def test_arithmetic_has_one_answer(exact: Callable[..., Any]) -> None:
    assert not free(exact)


@pytest.mark.parametrize("loose", [function, total, product, read_back, branch, turns], ids=lambda f: f.__name__)
def test_functions_and_sums_are_free_and_what_follows_from_them(loose: Callable[..., Any]) -> None:
    assert free(loose)


def test_outputs_are_told_apart() -> None:
    assert [free(untouched, RESULT.inside(f"[{k}]")) for k in range(3)] == [False, True, True]


def test_loops_carry_freedom_on() -> None:
    def f(a, n):
        b, c = a, a * 2.0
        for _ in range(n):
            b, c = c, np.tanh(b)
        return b, n + 1

    assert free(f, RESULT.inside("[0]"), N.copy(), 3)
    assert not free(f, RESULT.inside("[1]"), N.copy(), 3)


def test_complex_quotients_are_free() -> None:
    def divide(a):
        return a / 3.0

    def total(a):
        return a + 3.0

    assert free(divide, RESULT, N + 1j)
    assert not free(total, RESULT, N + 1j)


def test_strict_functions_are_exact_and_fast_arithmetic_is_not() -> None:
    assert not free(function, rules=Rules(is_strict))
    assert free(total, rules=Rules(is_strict))
    assert free(arithmetic, rules=Rules(fast=True))
    assert not free(integers, rules=Rules(fast=True))


def test_zeros_have_signs_without_min_and_max() -> None:
    assert analysed(function, N)[1].signed_zeros
    assert not analysed(arithmetic, N)[1].signed_zeros
    assert not analysed(lambda a: np.minimum(a, 0.0), N)[1].signed_zeros


def test_the_last_writer_is_found() -> None:
    def f(a, b, pair):
        a[0] = 1.0
        b[:] = a
        c = a + b
        c[0] = 2.0
        n = a.sum()
        pair[1][0] = n
        a[1] = 2.0
        return (c, n), b

    first = f.__code__.co_firstlineno
    program = analysed(f, N.copy(), N.copy(), (1, N.copy()))[0]

    def line(place: Place) -> int | None:
        span = last_writer(program, find_targets(program, f, place))
        return span.line - first if span else None

    result = RESULT.inside("[0]")
    assert line(A) == 7
    assert line(B) == 2
    assert line(Place("argument", "pair").inside("[1]")) == 6
    assert line(result.inside("[0]")) == 4
    assert line(result.inside("[1]")) == 5
    assert line(RESULT.inside("[1]")) == 2
