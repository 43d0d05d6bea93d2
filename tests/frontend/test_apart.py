"""Calls of the user's functions in statements that Python runs."""

from __future__ import annotations

import ast
import textwrap
from types import FunctionType

import numpy as np
import pytest

import weft
from weft.frontend.apart import with_calls_apart
from weft.frontend.cutting import place_of
from weft.frontend.liveness import statements
from weft.frontend.source import read_function


def energy(x):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * x[k]
    return total


def logs(x, log):
    log.append(energy(x))
    print(np.mean(x), len(x), f"{energy(x + 1):.1f}")
    kept = energy(x)
    return [kept, log.pop(), max(kept, 1)]


def apart(function: FunctionType, *lines: int) -> str:
    tree = read_function(function).tree
    assert isinstance(tree, ast.FunctionDef)
    first = tree.lineno
    marked = frozenset(place_of(stmt) for _, stmt in statements(tree) if stmt.lineno - first in lines)
    new = with_calls_apart(tree, marked, function)
    return "\n".join(ast.unparse(stmt) for stmt in new.body)


def test_calls_of_the_users_functions_stand_in_front_in_pythons_order() -> None:
    assert apart(logs, 1, 2, 3, 4) == textwrap.dedent("""\
        __weft_t0 = energy(x)
        log.append(__weft_t0)
        __weft_t1 = np.mean(x)
        __weft_t2 = len(x)
        __weft_t3 = energy(x + 1)
        print(__weft_t1, __weft_t2, f'{__weft_t3:.1f}')
        kept = energy(x)
        return [kept, log.pop(), max(kept, 1)]""")


def test_statements_that_are_compiled_stay_as_they_are() -> None:
    assert apart(logs) == apart(logs, 3)


def tree_sum(x):
    if len(x) < 2:
        return x.sum()
    return max(tree_sum(x[::2]) + tree_sum(x[1::2]), 0.0)


def test_a_function_that_calls_itself_stays_as_it_is() -> None:
    assert apart(tree_sum, 3) == apart(tree_sum)


class Simulation:
    def __init__(self, n: int) -> None:
        self.x = np.linspace(0.0, 1.0, n)
        self.log: list[float] = []

    def energy(self) -> float:
        total = 0.0
        for k in range(len(self.x)):
            total += self.x[k] * self.x[k]
        return total

    def replace(self) -> float:
        self.log = []
        return 1.0

    def run(self, steps: int) -> list[float]:
        for step in range(steps):
            self.x *= 0.5
            if step % 2 == 0:
                self.log.append(self.energy())
            self.log.append(self.replace())
        return self.log


def test_what_is_logged_is_computed_by_compiled_code() -> None:
    expected, found = Simulation(50), Simulation(50)
    first = expected.log, found.log
    program = weft.program(Simulation.run)

    with pytest.warns(weft.FallbackWarning, match="list or dict of the caller's"):
        result = program(found, 6)

    assert result == expected.run(6)
    assert found.log == expected.log
    assert first[0] == first[1]
    np.testing.assert_array_equal(found.x, expected.x)
