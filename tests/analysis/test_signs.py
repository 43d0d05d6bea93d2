"""Floats that are never negative, by how they are computed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same_outcome, run
from tests.passes.loops import through
from weft.analysis.signs import is_never_negative
from weft.driver.compiler import lower
from weft.ir.dtypes import PY_FLOAT, PY_INT
from weft.ir.exprs import Expr, Value, const, op
from weft.ir.nodes import Guard
from weft.ir.traverse import all_nodes
from weft.passes.simplify import Simplify


def value(number: int) -> Value:
    return Value(number, "x", PY_FLOAT)


def f(name: str, *args: Expr) -> Expr:
    return op(name, args, PY_FLOAT)


def c(number: float) -> Expr:
    return const(number, PY_FLOAT)


X, Y, D, E = map(value, range(4))
LETS: dict[Value, Expr] = {D: f("subtract", X, Y), E: D}
TWO = f("multiply", D, D)

NEVER = [
    TWO, f("multiply", D, E), f("add", TWO, f("square", Y)), f("sqrt", X), f("add", f("absolute", X), c(0.5)),
    f("maximum", X, c(0.0)), f("minimum", TWO, f("exp", X)), f("power", X, c(2.0)), f("power", TWO, c(1.5)),
    f("divide", TWO, c(3.0)), f("multiply", TWO, f("multiply", X, X)), f("select", X, TWO, c(0.0)),
    f("cast", Value(9, "n", PY_INT, low=0)),
]  # fmt: skip
PERHAPS = [
    X, D, f("multiply", X, Y), f("add", TWO, X), f("subtract", TWO, c(1.0)), c(-1.0), f("minimum", TWO, X),
    f("power", X, c(3.0)), f("power", TWO, c(-1.0)), f("divide", TWO, TWO), f("divide", TWO, c(-0.0)),
    f("negative", TWO), f("select", X, TWO, Y), f("log", TWO), f("cast", Value(9, "n", PY_INT)),
]  # fmt: skip


@pytest.mark.parametrize("expr", NEVER, ids=range(len(NEVER)))
def test_never_negative(expr: Expr) -> None:
    assert is_never_negative(expr, LETS)


@pytest.mark.parametrize("expr", PERHAPS, ids=range(len(PERHAPS)))
def test_perhaps_negative(expr: Expr) -> None:
    assert not is_never_negative(expr, LETS)


def test_an_expression_that_doubles_is_given_up() -> None:
    expr = TWO
    for _ in range(40):
        expr = f("add", expr, expr)
    assert not is_never_negative(expr, LETS)


def distances(x, y, out):
    for i in range(len(x)):
        dx = x[i] - y[i]
        out[i] = math.sqrt(dx * dx + 0.25)


def differences(x, y, out):
    for i in range(len(x)):
        out[i] = math.sqrt(x[i] - y[i])


def waves(x, y, out):
    for i in range(len(x)):
        out[i] = math.sin(x[i]) + math.log(y[i] * y[i] + 1.0) + math.acos(x[i] / 4.0)


@pytest.mark.parametrize(("function", "guards"), [(distances, 0), (differences, 1)])
def test_roots_of_sums_of_squares_need_no_check(function: Any, guards: int) -> None:
    arrays = tuple(np.ones(4) for _ in range(3))
    made, _ = through(lower(function, arrays).program, Simplify(loop_sites=True))
    found = [node for node in all_nodes(made.body) if isinstance(node, Guard) and "domain" in node.reason]
    assert len(found) == guards


@pytest.mark.parametrize("function", [distances, differences, waves])
@pytest.mark.parametrize("x", [1.0, 0.0, -0.0, -1.0, 3.0, 4.0, -4.5, 1e200, -1e200, np.inf, -np.inf, np.nan])
def test_programs_agree(function: Any, x: float) -> None:
    """Where Python raises, it does so at the same element."""
    program = weft.program(function)
    for y in (0.0, 2.0, np.inf, np.nan):

        def make(y: float = y) -> list[Any]:
            first, second = np.ones(20), np.full(20, 0.5)
            first[13], second[13] = x, y
            return [first, second, np.zeros(20)]

        assert_same_outcome(run(program, make()), run(function, make()), ulps=8.0, where=f"{y}")
