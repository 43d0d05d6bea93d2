"""Loops that collect by one condition, and those that stay apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.conftest import Golden
from tests.passes.loops import SIZES, assert_agrees, body_text, count, through, unguarded, vector
from weft.driver.compiler import lower
from weft.ir.nodes import Guard, Loop, Program
from weft.passes.base import Session
from weft.passes.expand_elementwise import ExpandElementwise
from weft.passes.inline_producers import InlineProducers
from weft.passes.join_collections import JoinCollections
from weft.passes.simplify import Simplify

BEFORE = (Simplify(), InlineProducers())


def two_arrays(x, y):
    keep = x > 0
    return x[keep], y[keep]


def with_something_between(x, y):
    keep = x > 0
    a = x[keep]
    b = y * 2.0
    return a, b, y[keep]


def the_other_side_too(x, y):
    keep = x > 0
    lost = ~keep
    return x[keep], x[lost], y[keep], y[lost]


def positions_and_elements(x, y):
    keep = x > 0
    return np.nonzero(keep)[0], y[keep]


JOINED = [(two_arrays, 1), (with_something_between, 1), (the_other_side_too, 2), (positions_and_elements, 1)]


def other_masks(x, y):
    return x[x > 0], y[y > 0]


def a_mask_that_changes(x, y):
    keep = x > 0
    a = x[keep]
    keep[0] = True
    return a, y[keep]


def elements_that_change(x, y):
    keep = x > 0
    a = x[keep]
    y[: len(a)] = a
    return a, y[keep]


def one_after_the_other(x, y):
    keep = x > 0
    a = x[keep]
    y[0] = a.sum()
    return a, y[keep]


def a_way_out_between(x, y):
    keep = x > 0
    a = x[keep]
    if len(y) != len(x):
        return a, None
    return a, y[keep]


APART = [other_masks, a_mask_that_changes, elements_that_change, one_after_the_other, a_way_out_between]


def joined(function: Callable[..., Any], *arguments: Any) -> Program:
    program, _ = through(unguarded(function, arguments), *BEFORE, JoinCollections(), Simplify())
    return program


def arguments(size: int) -> list[Any]:
    x = vector(size)
    x[:1] = 1.0  # there is something to collect
    return [x, vector(size, seed=9)]


def test_two_arrays_are_collected_in_one_loop(golden: Golden) -> None:
    assert body_text(joined(two_arrays, *arguments(4))) == golden


@pytest.mark.parametrize(("function", "loops"), JOINED, ids=lambda x: getattr(x, "__name__", ""))
def test_one_loop_for_each_condition(function: Callable[..., Any], loops: int) -> None:
    program = joined(function, *arguments(4))
    assert count(program, Loop) == loops
    for size in SIZES:
        assert_agrees(function, program, lambda size=size: arguments(size))


@pytest.mark.parametrize("function", APART, ids=lambda f: f.__name__)
def test_loops_that_must_or_should_not_meet_stay_apart(function: Callable[..., Any]) -> None:
    program = joined(function, *arguments(4))
    assert count(program, Loop) == 2
    for size in SIZES[1:]:
        assert_agrees(function, program, lambda size=size: arguments(size))


def test_what_only_a_guard_between_them_makes_sure_is_not_read_above_it() -> None:
    x, y = arguments(5)
    program, _ = through(
        ExpandElementwise().run(lower(two_statements, (x, y)).program, Session()), *BEFORE, JoinCollections()
    )
    kinds = [type(node) for node in program.body.nodes if isinstance(node, Loop | Guard)]
    assert kinds == [Loop, Guard, Guard, Loop]  # x has an element 0, y is as long as the mask


def two_statements(x, y):
    keep = x > 0
    a = x[keep]
    x[0] = 5.0
    return a, y[keep]


def test_nothing_to_join_is_nothing_done() -> None:
    before, _ = through(unguarded(other_masks, arguments(4)), *BEFORE)
    assert through(before, JoinCollections())[0] is before
