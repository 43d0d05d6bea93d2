"""Loops that are cut between statements, and those whose order matters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.loops import SIZES, assert_agrees, body_text, matrix, through, unguarded, vector
from weft.ir.nodes import Loop
from weft.ir.traverse import all_nodes
from weft.passes.distribute_loops import DistributeLoops
from weft.passes.expand_elementwise import ExpandElementwise


def two_products(A, x, y, u, v):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            x[i] += A[i, j] * y[j]
            u[j] += A[i, j] * v[i]


def with_a_name(A, x, y, u, v):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            a = A[i, j]
            b = a * 2.0
            x[i] += b * y[j]
            u[j] += a * v[i] + b


def a_recurrence_of_what_is_computed(A, x, y, u, v):
    for i in range(1, len(x)):
        v[i] = x[i] * x[i] + 1.0
        x[i] = 0.5 * x[i - 1] + v[i]


def the_recurrence_first(A, x, y, u, v):
    for i in range(1, len(x)):
        x[i] = 0.5 * x[i - 1] + v[i]
        v[i] = x[i] * 2.0


def three_parts(A, x, y, u, v):
    for i in range(1, len(x)):
        A[i, 0] = v[i] + 1.0
        x[i] = x[i - 1] * 0.5 + A[i, 0]
        v[i] = x[i] + A[i, 0]


def what_was_there_before(A, x, y, u, v):
    for i in range(len(x) - 1):
        v[i] = 2.0 * x[i + 1]
        x[i + 1] = x[i] * 0.5 + v[i]


def downwards(A, x, y, u, v):
    for i in range(len(x) - 2, -1, -1):
        x[i] = x[i + 1] * 0.5 + v[i]
        v[i] = x[i] + 1.0


def a_sum_beside_rows(A, x, y, u, v):
    for i in range(A.shape[0]):
        x[i] = np.sum(A[i] * y)
        u += v[i] * A[i]


CUT = [
    (two_products, 4), (with_a_name, 4), (a_recurrence_of_what_is_computed, 2), (the_recurrence_first, 2),
    (three_parts, 3), (what_was_there_before, 2), (downwards, 2),
]  # fmt: skip


def needed_in_the_next_turn(A, x, y, u, v):
    for i in range(1, len(x)):
        x[i] = 0.5 * x[i - 1] + v[i - 1]
        v[i] = 2.0 * x[i]


def changed_for_the_next_turn(A, x, y, u, v):
    for i in range(len(x) - 1):
        x[i + 1] = x[i] + v[i]
        v[i + 1] = 2.0 * v[i + 1]


def both_in_order(A, x, y, u, v):
    for i in range(1, len(x)):
        x[i] += x[i - 1]
        v[i] -= v[i - 1]


def a_sum_for_rows(A, x, y, u, v):
    for i in range(A.shape[0]):
        total = np.sum(A[i] * y)
        u += total * A[i]
        x[i] = total


def a_sum_stored_behind_rows(A, x, y, u, v):
    for i in range(A.shape[0]):
        total = np.sum(A[i] * y)
        u += v[i] * A[i]
        x[i] = total


def independent_as_it_is(A, x, y, u, v):
    for i in range(len(x)):
        x[i] = 2.0 * v[i]
        v[i] = 3.0


def read_where_it_is_written(A, x, y, u, v):
    for i in range(1, len(x)):
        t = v[i - 1]
        x[i] = x[i - 1] + t
        v[i] = t + 1.0


SUMS = [
    (a_sum_beside_rows, 2),
    (a_sum_stored_behind_rows, 2),
    (a_sum_for_rows, 1),
]  # which get memory on the stack by passes before
KEPT = [
    needed_in_the_next_turn, changed_for_the_next_turn, both_in_order, independent_as_it_is, read_where_it_is_written,
]  # fmt: skip


def arguments(m: int, n: int) -> list[Any]:
    kinds = (m, n, n, m)
    return [matrix(m, n), *(vector(size, np.float64, seed) for seed, size in enumerate(kinds, 1))]


def distributed(function: Callable[..., Any]) -> Any:
    made, _ = through(unguarded(function, arguments(4, 3)), ExpandElementwise(), DistributeLoops())
    return made


def loops(program: Any) -> int:
    return sum(isinstance(node, Loop) for node in all_nodes(program.body))


@pytest.mark.parametrize(("function", "count"), CUT)
def test_cut(function: Callable[..., Any], count: int) -> None:
    made = distributed(function)
    assert loops(made) == count
    assert through(made, DistributeLoops())[0] is made
    for m in SIZES:
        if m:
            assert_agrees(function, made, lambda m=m: arguments(m, 3))


@pytest.mark.parametrize("function", KEPT)
def test_kept(function: Callable[..., Any]) -> None:
    made = distributed(function)
    assert loops(made) == 1
    assert_agrees(function, made, lambda: arguments(5, 3))


def test_before_and_after(golden: Golden) -> None:
    before, _ = through(unguarded(with_a_name, arguments(4, 3)), ExpandElementwise())
    made, session = through(before, DistributeLoops())
    assert "the loop over j becomes 2, some of them independent" in [record.text for record in session.records]
    assert f"{body_text(before)}\n-- after --\n{body_text(made)}" == golden


@PLAINLY
@pytest.mark.parametrize("function", [*(function for function, _ in (*CUT, *SUMS)), *KEPT])
def test_compiled(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    for m, n in ((1, 1), (2, 5), (40, 33)):
        ours, theirs = arguments(m, n), arguments(m, n)
        program(*ours)
        function(*theirs)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@PLAINLY
@pytest.mark.parametrize(("function", "count"), SUMS)
def test_the_total_of_a_sum_is_no_obstacle(function: Callable[..., Any], count: int) -> None:
    program = weft.program(function)
    program(*arguments(6, 5))
    assert program.inspect_graph("distribute-loops").count("  for %") == count


@PLAINLY
def test_arguments_that_share_memory() -> None:
    program = weft.program(two_products)
    for shared in range(3):
        results = []
        for call in (program, two_products):
            A, x, y, u, v = arguments(6, 6)
            given = ((A, x, y, x, v), (A, A[0], y, u, v), (A, x, y, A[:, 1], v))[shared]
            call(*given)
            results.append([A, x, y, u, v])
        for one, other in zip(*results, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
