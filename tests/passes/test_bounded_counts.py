"""Counters need no check for overflow, other sums do."""

# ruff: noqa: B007

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Golden
from tests.passes.loops import body_text, through, vector
from weft.driver.compiler import lower
from weft.ir.nodes import Guard
from weft.ir.traverse import all_nodes
from weft.passes.base import Session
from weft.passes.bounded_counts import BoundedCounts


def positive(a, k):
    c = 0
    for i in range(len(a)):
        if a[i] > 0:
            c += 1
    return c


def up_and_down(a, k):
    c, d = 5, 0
    for i in range(len(a) - 1, -1, -2):
        if a[i] > 0:
            c += 3
        else:
            c -= 1
        d = d + 2
        if a[i] > 5:
            d += 1
    return c - d


def turns_of_a_while(a, k):
    c, x = 0, a[0]
    while x > 1:
        x = x / 2
        if x > 3:
            c += 1
        c += 2
    return c


def of_two_arrays(a, k):
    c = 0
    for x, y in zip(a, a[k:], strict=False):
        if x < y:
            c += 1
    return c


def in_a_nest(a, k):
    c, d = 0, 0
    for i in range(len(a)):
        for j in range(len(a)):
            if a[j] > a[i]:
                c += 1
            elif a[j] < 0:
                c += 2
        if a[i] > 0:
            d += 1
        for j in range(i):
            if a[j] > 1:
                d -= 1
    return c - d


def turns_of_a_nest(a, k):
    c = 0
    for i in range(len(a)):
        for j in range(len(a)):
            c += 1
    return c


def what_no_turn_looks_at(a, k):
    c = 0
    for i in range(len(a)):
        x = a[i]
        for j in range(len(a)):
            if x > 0:
                c += 1
    return c


def fast_in_a_nest(a, k):
    c = 0
    for i in range(len(a)):
        for j in range(len(a)):
            if a[j] > 0:
                c += 5
    return c


def doubled_in_a_nest(a, k):
    c = 1
    for i in range(len(a)):
        for j in range(len(a)):
            if a[j] > 0:
                c += c
    return c


def left_in_a_nest(a, k):
    c = 0
    for i in range(len(a)):
        for j in range(len(a)):
            if a[j] > 0:
                c += 1
            if a[j] < 0:
                c = k
                break
    return c


def by_what_is_read(a, k):
    c = 0
    for i in range(len(a)):
        c += int(a[i])
    return c


def by_the_variable(a, k):
    c = 0
    for i in range(len(a)):
        c += i
    return c


def from_an_argument(a, k):
    for i in range(len(a)):
        k += 1
    return k


def from_an_argument_in_a_while(a, k):
    x = a[0]
    while x > 1:
        x = x / 2
        k += 1
    return k


def fast_in_a_while(a, k):
    c, x = 0, a[0]
    while x > 1:
        x = x / 2
        c += 5
    return c


def doubled(a, k):
    c = 1
    for i in range(len(a)):
        c = c + c
    return c


def started_anew(a, k):
    c = 0
    for i in range(len(a)):
        if a[i] > 0:
            c = k
        c += 1
    return c


def skipping(a, k):
    c = 0
    for i in range(len(a)):
        if a[i] > 0:
            c = 1 << 62
            continue
        c += 1
    return c


def overflow_checks(program: Any) -> int:
    return sum("int too large" in node.reason for node in all_nodes(program.body) if isinstance(node, Guard))


COUNTERS = [positive, up_and_down, turns_of_a_while, of_two_arrays, in_a_nest]


@pytest.mark.parametrize("function", COUNTERS, ids=lambda f: f.__name__)
def test_a_counter_is_not_checked(function: Callable[..., Any]) -> None:
    before = lower(function, (vector(9), 3)).program
    made, _ = through(before, BoundedCounts())
    assert overflow_checks(before) > overflow_checks(made)
    assert overflow_checks(made) == (function in (up_and_down, in_a_nest))  # of the difference after the loop


STAYS = [by_what_is_read, by_the_variable, from_an_argument, doubled, started_anew, skipping]
STAYS += [from_an_argument_in_a_while, fast_in_a_while]
STAYS += [turns_of_a_nest, what_no_turn_looks_at, fast_in_a_nest, doubled_in_a_nest, left_in_a_nest]


@pytest.mark.parametrize("function", STAYS, ids=lambda f: f.__name__)
def test_what_may_overflow_is_checked(function: Callable[..., Any]) -> None:
    before = lower(function, (vector(9), 3)).program
    assert overflow_checks(before) > 0
    assert BoundedCounts().run(before, Session()) is before


def test_the_guard_is_gone(golden: Golden) -> None:
    made, _ = through(lower(positive, (vector(9), 3)).program, BoundedCounts())
    assert body_text(made) == golden
