"""Branches at the points of maps that store on one side or on both, and those that must stay."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.loops import SIZES, assert_agrees, body_text, reasons, through, vector
from weft.driver.compiler import lower
from weft.ir.nodes import Branch, Map, Tasklet
from weft.ir.traverse import all_nodes
from weft.passes.base import Session
from weft.passes.choose_stores import ChooseStores
from weft.passes.collapse_maps import CollapseMaps
from weft.passes.expand_elementwise import ExpandElementwise
from weft.passes.gather_guards import GatherGuards
from weft.passes.guards_ahead import GuardsAhead
from weft.passes.hoist_guards import HoistGuards
from weft.passes.loop_to_map import LoopToMap
from weft.passes.simplify import Simplify
from weft.passes.structure_continues import StructureContinues


def both_sides(a, y, z):
    for i in range(len(a)):
        if a[i] > 0:
            y[i] = np.sqrt(a[i])
        else:
            y[i] = a[i] / 2


def one_side(a, y, z):
    for i in range(len(a)):
        if a[i] > 0:
            y[i] = a[i] / z[i]


def other_arrays(a, y, z):
    for i in range(len(a)):
        if a[i] > 0:
            y[i] = a[i] * 2
        else:
            z[i] = a[i] * 3


def a_chain(a, y, z):
    for i in range(len(a)):
        x = a[i]
        if x < -3:
            y[i] = 0
        elif x < 0:
            y[i] = 1 / x
        elif x < 4:
            y[i] = x * x
            z[i] = y[i] + 1
        else:
            y[i] = 7
            z[i] = np.log(x)


def written_twice(a, y, z):
    for i in range(len(a)):
        if a[i] > 0:
            y[i] = a[i]
            y[i] = y[i] * z[i]
            if z[i] > 2:
                y[i] -= z[i]
        z[i] = y[i] + 1


def passed_over(a, y, z):
    for i in range(len(a)):
        if a[i] < 0:
            continue
        y[i] += np.exp(a[i] / 4)


CHOSEN = [both_sides, one_side, other_arrays, a_chain, written_twice, passed_over]


def read_elsewhere(a, y, z):
    n = len(a) // 2
    for i in range(n):
        if i < n - 1:
            y[i] = y[n + i] + a[i]
        if a[i] > 0:
            z[i] = a[n - 1 - i]


def beyond_the_end(a, y, z):
    for i in range(len(a)):
        if i + 1 < len(a):
            y[i] = a[i + 1] / 2
        else:
            y[i] = a[i]


def where_data_says(a, y, z):
    for i in range(len(a)):
        k = int(abs(a[i]))
        if k < len(a):
            y[i] = a[k] / z[i]


OTHERS = [read_elsewhere, beyond_the_end, where_data_says]


def arguments(n: int, dtype: Any = np.float64) -> list[Any]:
    return [vector(n, dtype), vector(n, dtype, 1), vector(n, dtype, 2)]


def as_maps(function: Callable[..., Any]) -> Any:
    assert isinstance(function, FunctionType)
    before = lower(function, tuple(arguments(9))).program
    first = (Simplify(loop_sites=True), StructureContinues(), HoistGuards(), GatherGuards(), GuardsAhead())
    return through(before, *first, ExpandElementwise(), LoopToMap(), CollapseMaps())[0]


def stores_under_conditions(program: Any) -> int:
    """In the map with the fewest."""
    maps = [node for node in all_nodes(program.body) if isinstance(node, Map)]
    return min(sum(map(_accesses, all_nodes(node.body))) for node in maps)


def _accesses(node: Any) -> int:
    inside = (*node.then.nodes, *node.orelse.nodes) if isinstance(node, Branch) else ()
    return sum(isinstance(inner, Tasklet) and bool(inner.writes or inner.reads) for inner in inside)


@pytest.mark.parametrize("function", CHOSEN)
def test_chosen(function: Callable[..., Any]) -> None:
    before = as_maps(function)
    made, session = through(before, ChooseStores())
    assert stores_under_conditions(before) > 0
    assert stores_under_conditions(made) == 0
    assert any("is chosen" in text for text in reasons(session, done=True))
    assert ChooseStores().run(made, Session()) is made
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size in SIZES:
            assert_agrees(function, made, lambda size=size: arguments(size))


@pytest.mark.parametrize("function", OTHERS)
def test_what_may_not_exist_stays_under_its_condition(function: Callable[..., Any]) -> None:
    before = as_maps(function)
    made, _ = through(before, ChooseStores())
    assert any(isinstance(node, Map) for node in all_nodes(made.body))
    assert stores_under_conditions(made) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size in SIZES:
            assert_agrees(function, made, lambda size=size: arguments(size))


def test_before_and_after(golden: Golden) -> None:
    before = as_maps(a_chain)
    made, _ = through(before, ChooseStores())
    assert f"{body_text(before)}\n-- after --\n{body_text(made)}" == golden


def call(function: Callable[..., Any], given: list[Any]) -> tuple[str, set[str]]:
    error = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(*given)
        except IndexError as problem:
            error = str(problem)
    return error, {str(warning.message) for warning in caught}


def shortened(n: int, dtype: Any = np.float64) -> list[Any]:
    """The second array ends where the condition is not true any more, or one before."""
    a, y, z = arguments(n, dtype)
    a[n // 2 :] = -1
    return [a, y[: n // 2 + 1], z[: n // 2]]


@PLAINLY
@pytest.mark.parametrize("function", [*CHOSEN, *OTHERS])
def test_compiled(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    for dtype in (np.float32, np.float64):
        for make in (arguments, shortened):
            for size in (0, 1, 7, 300):
                ours, theirs = make(size, dtype), make(size, dtype)
                assert call(program, ours) == call(function, theirs)
                for one, other in zip(ours, theirs, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-5)


@PLAINLY
@pytest.mark.parametrize("function", CHOSEN)
def test_warnings_are_numpys(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    for place in range(3):
        for special in (np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324, -0.0, 1e4):
            ours, theirs = arguments(40), arguments(40)
            for given in (ours, theirs):
                given[place][3:30:9] = special
            assert call(program, ours) == call(function, theirs), (place, special)
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-13)


@PLAINLY
def test_other_layouts_and_one_array_twice() -> None:
    for order in (lambda a: a[::-1], lambda a: np.repeat(a, 2)[::2]):
        for function in CHOSEN:
            ours, theirs = ([order(x) for x in arguments(20)] for _ in range(2))
            assert call(weft.program(function), ours) == call(function, theirs)
            np.testing.assert_allclose(ours[1], theirs[1])
    for function in CHOSEN:
        ours, theirs = ([x[0], x[0], x[1]] for x in (arguments(20), arguments(20)))
        assert call(weft.program(function), ours) == call(function, theirs)
        np.testing.assert_allclose(ours[0], theirs[0])
        np.testing.assert_allclose(ours[2], theirs[2])
