"""Arrays that loops carry: in place where a point needs nothing but itself, two of them otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.test_guards_of_kernels import lower
from weft.driver.compiler import run_steps
from weft.driver.pipelines import cpu_pipeline
from weft.ir.nodes import Loop, Program
from weft.ir.printer import print_program
from weft.ir.traverse import all_nodes
from weft.passes.base import Session


def newton(a: Any) -> Any:
    x = a / 2 + 1
    for _ in range(5):
        x = 0.5 * (x + a / x)
    return x


def two_at_once(a: Any) -> Any:
    x, y = a * 1.0, a * 2.0
    for _ in range(4):
        t = x - 0.1 * y
        y = y + 0.1 * x
        x = t
    return x, y


def counted(a: Any) -> Any:
    z, n = a * 1.0, np.zeros(a.shape, np.int64)
    for _ in range(30):
        small = np.abs(z) < 2.0
        z = np.where(small, z * z + a, z)
        n += small
    return z, n


def nested(a: Any) -> Any:
    total = np.zeros_like(a)
    for k in range(3):
        x = a + k
        for _ in range(4):
            x = x * 0.5 + 1.0
        total += x
    return total


IN_PLACE = [newton, two_at_once, counted, nested]


def from_the_neighbour(a: Any) -> Any:
    x = a * 1.0
    for _ in range(3):
        x = x + np.roll(x, 1)
    return x


def shifted(a: Any) -> Any:
    x = a * 1.0
    for _ in range(2):
        x = np.concatenate([x[1:], x[:1]]) + x[::-1]
    return x


def exchanged(a: Any) -> Any:
    x, y = a * 1.0, a * 2.0
    for _ in range(3):
        x, y = y + 1.0, x * 2.0
    return x, y


def start_is_kept(a: Any) -> Any:
    first = a * 1.0
    x = first
    for _ in range(3):
        x = x * 2.0
    return first, x


def start_is_read(a: Any) -> Any:
    first = a * 1.0
    x = first
    for _ in range(3):
        x = x * 2.0 + first
    return x


def the_argument(a: Any) -> Any:
    x = a
    for _ in range(3):
        x = x * 2.0
    return x


def grows(a: Any) -> Any:
    x = a[:1] * 1.0
    for _ in range(2):
        x = x + a
    return x


def other_type(a: Any) -> Any:
    x = np.zeros(a.shape, np.int64)
    for _ in range(2):
        x = x + a
    return x


def old_ones(a: Any) -> Any:
    x = a * 1.0
    old = x
    for _ in range(3):
        old = x
        x = x * 2.0
    return old, x


def a_sum_of_it(a: Any) -> Any:
    x = a * 1.0
    for _ in range(3):
        x = x / x.sum() + 1.0
    return x


def not_at_all(a: Any) -> Any:
    x = a * 1.0
    for _ in range(0):
        x = x * 2.0
    return x


def under_a_condition(a: Any) -> Any:
    x = a * 1.0
    for k in range(6):
        x = x * 2.0 if k % 2 else x + 1.0
    return x


def out_of_bounds(a: Any) -> Any:
    x = a * 1.0
    for k in range(9):
        x = x * 2.0
        x = x + a[k]
    return x


OTHERS = [
    from_the_neighbour, shifted, exchanged, start_is_kept, start_is_read, the_argument, grows, other_type, old_ones,
    a_sum_of_it, not_at_all, under_a_condition,
]  # fmt: skip


def optimized(function: Callable[..., Any]) -> Program:
    stages = run_steps(lower(function, (np.linspace(0.5, 1.5, 7),)).program, cpu_pipeline(), Session())
    return stages[-1].program


def refs_in_loops(given: Program) -> int:
    loops = [node for node in all_nodes(given.body) if isinstance(node, Loop)]
    return sum(isinstance(carry.target, str) for loop in loops for carry in loop.carries)


@pytest.mark.parametrize("function", IN_PLACE)
def test_in_place(function: Callable[..., Any]) -> None:
    assert refs_in_loops(optimized(function)) == 0


@pytest.mark.parametrize("function", [from_the_neighbour, exchanged, start_is_kept, start_is_read, the_argument])
def test_two_arrays(function: Callable[..., Any]) -> None:
    assert refs_in_loops(optimized(function)) > 0


@PLAINLY
@pytest.mark.parametrize("size", [0, 1, 7, 700])
@pytest.mark.parametrize("function", [*IN_PLACE, *OTHERS])
def test_agrees(function: Callable[..., Any], size: int) -> None:
    a = np.linspace(-1.5, 1.5, size) + 0.01
    mine = a.copy()
    got, expected = weft.program(function)(mine), function(a)
    if not isinstance(expected, tuple):
        got, expected = (got,), (expected,)
    for x, y in zip(got, expected, strict=True):
        np.testing.assert_array_equal(x, y)
        assert x.dtype == y.dtype
    np.testing.assert_array_equal(mine, a)


def test_the_argument_comes_back_where_nothing_turns() -> None:
    def turned(x: Any, n: int) -> Any:
        for _ in range(n):
            x = x * 2.0
        return x

    compiled, a = weft.program(turned), np.ones(5)
    assert compiled(a, 0) is a
    assert compiled(a, 1) is not a
    np.testing.assert_array_equal(a, 1.0)


def test_errors_leave_what_python_would() -> None:
    a = np.arange(4.0)
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        weft.program(out_of_bounds)(a)
    np.testing.assert_array_equal(a, np.arange(4.0))


def test_before_and_after(golden: Golden) -> None:
    text = print_program(optimized(newton))
    assert text[text.index("\n{") :] == golden
