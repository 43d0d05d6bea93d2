"""Loops that are cut at a turn that is not like the others, and loops that are not."""

# ruff: noqa: PLR1730

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.end_to_end.outcome import assert_same_outcome, run
from tests.passes.loops import assert_agrees, body_text, count, matrix, reasons, through
from weft.driver.compiler import lower
from weft.ir.nodes import Branch, Elementwise, Loop, Tasklet
from weft.ir.printer import print_expr
from weft.ir.traverse import all_nodes
from weft.passes.base import Session
from weft.passes.expand_elementwise import ExpandElementwise
from weft.passes.gather_guards import GatherGuards
from weft.passes.hoist_guards import HoistGuards
from weft.passes.loop_to_map import LoopToMap
from weft.passes.simplify import Simplify
from weft.passes.split_ranges import SplitRanges
from weft.passes.structure_continues import StructureContinues


def edges(A, B, k):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            if i == 0 or j == 0 or i == n - 1 or j == m - 1:
                B[i, j] = A[i, j]
            else:
                B[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]


def triangle(A, B, k):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if j < i:
                B[i, j] = A[i, j]
            elif j > i + 1:
                B[i, j] = -A[i, j]


def all_but_one(A, B, k):
    for i in range(A.shape[0]):
        if i == k:
            continue
        for j in range(A.shape[1]):
            if not j != k:  # noqa: SIM202
                continue
            B[i, j] = A[i, k] * B[k, j] + B[i, j]


def from_the_other_side(A, B, k):
    for i in range(1, A.shape[0]):
        if k <= i:
            B[i, 0] = A[i, 0] + 1
        else:
            B[i, 0] = A[i - 1, 0]


ASKED = [edges, triangle, all_but_one, from_the_other_side]


def shortest(A, B, k):
    n = len(A)
    for k in range(n):  # noqa: PLR1704
        for i in range(n):
            for j in range(n):
                if A[i, k] + A[k, j] < A[i, j]:
                    A[i, j] = A[i, k] + A[k, j]


def eliminated(A, B, k):
    n = A.shape[1]
    if n > 0:
        for j in range(n):
            A[0, j] = A[0, 0] + 3 * A[0, j]


def the_last_one(A, B, k):
    n = A.shape[1]
    if n > 0:
        for j in range(n):
            A[0, j] = A[0, n - 1] - 2 * A[0, j]


MEETING = [shortest, eliminated, the_last_one]


def neighbours(A, B, k):
    for j in range(1, A.shape[1]):
        A[0, j] = A[0, j - 1] + B[0, j]


def meets_twice(A, B, k):
    for j in range(A.shape[1]):
        A[0, j] = A[0, 0] + A[0, A.shape[1] - 1]


def until(A, B, k):
    for j in range(A.shape[1]):
        if j == k:
            break
        A[0, j] = 0


def summed(A, B, k):
    s = 0.0
    for j in range(A.shape[1]):
        if j != k:
            s += A[0, j]
    return s


def all_around(A, B, k):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            B[i, j] = A[(i - 1) % n, j] + A[(i + 1) % n, j] + A[i, (j - 1) % m] + A[i, (j + 1) % m] - 4 * A[i, j]


def around_in_place(A, B, k):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            A[i, j] = A[i, j] + A[(i + n - 1) % n, j] * A[i, (1 + j) % m]
        for j in range(m):
            B[i, j] = A[i, (j - 2) % m] - A[i, j % m]


def around_from_outside(A, B, k):
    for i in range(-1, A.shape[0] + 1):
        B[i % A.shape[0], 0] = A[i % A.shape[0], 1]
        B[i % A.shape[0], 1] -= i


def around_a_number(A, B, k):
    for i in range(k):
        B[i, 0] = A[(i + 1) % k, 0] + (i - 1) % k


def from_the_end(A, B, k):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            B[i, j] = A[i - 1, j] + A[i + 1 - n, j] + A[i, j - 2] - A[i, j]


def from_the_end_in_place(A, B, k):
    for i in range(A.shape[0]):
        A[i, 0] = A[i - 1, 0] - A[i - 2, 1]


FROM_THE_END = [from_the_end, from_the_end_in_place]
AROUND = [all_around, around_in_place, around_from_outside, around_a_number]


def around_anywhere(A, B, k):
    for i in range(A.shape[0]):
        B[i, 0] = A[(i + k) % A.shape[0], 0] + A[i // 2 % 2, 0] + A[2 * i % A.shape[0], 0]


def many_places(A, B, k):
    for i in range(A.shape[0]):
        if 2 * k < i + 1 or i != k + A.shape[1]:
            if i + 3 * k != 7:
                B[i, 0] = A[i, 0]
            elif 5 * k == i + 1 or i == 7 * k:
                B[i, 0] += 1
            if 11 * k < i or i == 13 * k or i + 17 * k == 5:
                A[i, 0] = 4
            if 19 * k != i and i != 23 * k and i != 29 * k:
                B[i, 0] -= 1


OTHERS = [around_anywhere, neighbours, meets_twice, until, summed, many_places]
SHAPES = [(0, 0), (1, 1), (2, 2), (2, 1), (1, 3), (3, 3), (5, 5), (6, 4)]
BEFORE = (Simplify(loop_sites=True), StructureContinues())


def arguments(n: int = 6, m: int = 6, k: int = 2) -> list[Any]:
    return [matrix(n, m), matrix(n, m, 1), k]


def prepared(function: Callable[..., Any], *steps: Any) -> Any:
    assert isinstance(function, FunctionType)
    return through(lower(function, tuple(arguments())).program, *BEFORE, *steps)[0]


def branches(program: Any) -> int:
    """In the first version of a nest."""
    first = next((node for node in program.body.nodes if isinstance(node, Branch)), None)
    inside = all_nodes(first.then if first is not None else program.body)
    return sum(isinstance(node, Branch) and bool(node.results) for node in inside)


@pytest.mark.parametrize("function", ASKED)
def test_cut_where_a_branch_asks(function: Callable[..., Any]) -> None:
    before = prepared(function)
    made, session = through(before, SplitRanges())
    assert any("is cut where a branch asks" in text for text in reasons(session, done=True))
    assert count(made, Loop) > count(before, Loop)
    assert not branches(made)
    for shape in SHAPES:
        if function is not all_but_one or min(shape) > 2:
            assert_agrees(function, made, lambda shape=shape: arguments(*shape))


def asks(loop: Loop) -> bool:
    lets = (let for node in all_nodes(loop.body) if isinstance(node, Tasklet) for let in node.lets)
    return any(word in print_expr(let.expr) for let in lets for word in ("remainder(", "select("))


def innermost(program: Any) -> list[Loop]:
    loops = [node for node in all_nodes(program.body) if isinstance(node, Loop)]
    return [loop for loop in loops if not any(isinstance(node, Loop) for node in all_nodes(loop.body))]


@pytest.mark.parametrize("function", [*AROUND, *FROM_THE_END])
def test_cut_where_indices_go_around(function: Callable[..., Any]) -> None:
    before = prepared(function, HoistGuards(), GatherGuards())
    assert any(map(asks, innermost(before)))
    made, _ = through(before, SplitRanges())
    assert not all(map(asks, innermost(made)))
    assert count(made, Loop) > count(before, Loop)
    for shape in SHAPES:
        if min(shape) > 2:
            assert_agrees(function, made, lambda shape=shape: arguments(*shape, k=min(shape)))


@pytest.mark.parametrize("function", MEETING)
def test_cut_where_turns_meet(function: Callable[..., Any]) -> None:
    before = prepared(function, HoistGuards(), GatherGuards(), ExpandElementwise())
    made, session = through(before, SplitRanges(meeting=True))
    assert any("is cut where its turns meet" in text for text in reasons(session, done=True))
    mapped, _ = through(made, LoopToMap())
    assert count(mapped, Loop) == (function is shortest)
    for shape in SHAPES:
        if min(shape) and shape[0] <= shape[1]:
            assert_agrees(function, mapped, lambda shape=shape: arguments(*shape))


@pytest.mark.parametrize("function", OTHERS)
def test_not_cut(function: Callable[..., Any]) -> None:
    before = prepared(function, HoistGuards(), GatherGuards(), ExpandElementwise())
    for step in (SplitRanges(), SplitRanges(meeting=True)):
        assert step.run(before, Session()) is before


def test_before_and_after(golden: Golden) -> None:
    made, _ = through(prepared(shortest, HoistGuards(), GatherGuards(), ExpandElementwise()), SplitRanges(meeting=True))
    assert body_text(made) == golden


def test_in_two_versions(golden: Golden) -> None:
    assert body_text(through(prepared(from_the_other_side), SplitRanges())[0]) == golden


@PLAINLY
@pytest.mark.parametrize("function", [*ASKED, *AROUND, *FROM_THE_END, *MEETING, *OTHERS])
def test_programs_agree(function: Callable[..., Any]) -> None:
    program = weft.program(function, threads=2)
    for shape in [(0, 0), (1, 1), (2, 1), (3, 3), (6, 4), (12, 13)]:
        for k in (0, 2, -1, 60):
            for smaller in (False, True):

                def make(shape: Any = shape, k: int = k, smaller: bool = smaller) -> list[Any]:
                    A, B, _ = arguments(*shape)
                    return [np.minimum(A, 3), B[:-1, :-1] if smaller else B, k]

                assert_same_outcome(run(program, make()), run(function, make()), where=f"{shape} {k} {smaller}")


def test_copies_of_operations_have_sites_of_their_own() -> None:
    def turned_round_once(A, B, k):
        for i in range(2, k - 2):
            if i == 2:
                B[...] = B[::-1]
            s = B[i, -i] - abs(A[k - 1 - i, i])  # noqa: F841

    through(prepared(turned_round_once), SplitRanges(), HoistGuards(), GatherGuards(), ExpandElementwise())
    made = prepared(turned_round_once, SplitRanges())
    numbers = [node.id for node in all_nodes(made.body) if isinstance(node, Elementwise)]
    assert len(numbers) == len(set(numbers)) == 2
