"""Loops that threads run together: who does what, where they meet, and that they need no more and no fewer meetings.

The interpreter runs a team's threads one after the other between two meetings, and reports what two of them touch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.loops import assert_agrees, body_text, matrix, through
from weft.driver.compiler import generate
from weft.driver.kernels import slot_objects
from weft.interp import ConflictError, interpret
from weft.ir.nodes import Loop, Map, Node, Program
from weft.ir.traverse import all_nodes
from weft.passes.base import rewrite_nodes
from weft.passes.team_loops import TeamLoops


def relax(steps, A, B):
    for _ in range(steps):
        B[1:-1, 1:-1] = A[1:-1, 1:-1] + A[2:, 1:-1] - A[:-2, 1:-1] + A[1:-1, 2:]
        A[1:-1, 1:-1] = B[1:-1, 1:-1] - 3.0


def borders(steps, A, B):
    for _ in range(steps):
        B[1:-1, 1:-1] = A[2:, 1:-1] - A[:-2, 1:-1]
        A[1:-1, 1:-1] = B[1:-1, 1:-1]
        A[:, -1] = A[:, -2]
        A[0] = A[1]
        A[:, 0] = A[:, 1]
        A[-1] = 0.0


def border_from_afar(steps, A, B):
    for _ in range(steps):
        A[1:-1] = A[1:-1] + B[1:-1]
        A[0] = A[-2]
        B[:] = B + A[0]


def in_place_shift(steps, A, B):
    for _ in range(steps):
        A[1:] = A[:-1] + B[1:]
        B[:] = B - 1.0


def sweeps_in_steps(steps, A, B):
    for _ in range(steps):
        B[:] = A * 2.0
        for _ in range(3):
            A[1:-1] = A[1:-1] + B[2:]
            B[:] = A - B
        A[0] = B[0]


def with_numbers(steps, A, B):
    for k in range(steps):
        B[0, 0] = float(k)
        scale = B[0, 0] + A[-1, -1]
        A[:] = A + scale
        B[:] = B - A


def shortest_ways(steps, A, B):
    for k in range(min(steps, A.shape[0], A.shape[1])):
        A[:] = np.minimum(A, A[:, k, None] + A[k, :])


def triangle(steps, A, B):
    for i in range(min(A.shape) - 1):
        B[i, i:] = A[i, i:] - B[i, i:]
        A[i + 1 :, i] = A[i + 1 :, i] + B[i, i]
        A[i + 1 :, i + 1 :] -= A[i + 1 :, i, None] * 1.0


def on_a_condition(steps, A, B):
    for k in range(steps):
        B[:] = A[::-1]
        if k % 2 == 0:
            A[:] = B + 1.0
        else:
            A[:] = A - B


def sums_of_columns(steps, A, B):
    for _ in range(steps):
        B[0, :] = np.sum(A, axis=0)
        A[:] = A - B[0]


def a_sum(steps, A, B):
    for _ in range(steps):
        s = np.sum(A[0])
        A[:] = A + s
        B[:] = B - A


def line_by_line(steps, A, B):
    for _ in range(steps):
        for i in range(1, B.shape[0]):
            B[i, 0] = B[i - 1, 0] + 1.0
        A[:] = A + B[:, :1]


def on_the_stack(steps, A, B):
    for _ in range(steps):
        w = np.zeros(4)
        w[:] = A[-2, :4] * 0.5
        A[:] = A - B * w[1]
        B[:] = B + A[::-1]


PROGRAMS = [
    relax, borders, border_from_afar, in_place_shift, sweeps_in_steps, with_numbers, shortest_ways, triangle,
    on_a_condition, sums_of_columns, a_sum, line_by_line, on_the_stack,
]  # fmt: skip


def arguments(n: int = 9, m: int = 6, steps: int = 3) -> list[Any]:
    return [steps, matrix(n, m), matrix(n, m, seed=1)]


def final(function: Callable[..., Any], n: int = 9, m: int = 6) -> Program:
    return generate(function, arguments(n, m)).stages[-1].program


def teams(program: Program) -> list[Loop]:
    return [node for node in all_nodes(program.body) if isinstance(node, Loop) and node.team is not None]


@pytest.mark.parametrize("function", PROGRAMS)
def test_the_threads_do_not_get_in_each_others_way(function: Callable[..., Any]) -> None:
    program = final(function)
    assert teams(program), body_text(program)
    for n in (2, 3, 4, 5, 8, 13):
        assert_agrees(function, program, lambda n=n: arguments(n, 6))


def without_a_meeting(program: Program) -> Iterator[Program]:
    """The program with one meeting less, for every meeting."""
    for loop in teams(program):
        assert loop.team is not None
        for place in loop.team.meets:
            left = tuple(other for other in loop.team.meets if other != place)

            def rule(node: Node, loop: Loop = loop, left: tuple[int, ...] = left) -> tuple[Node, ...] | None:
                if not isinstance(node, Loop) or node.team is None or node.id != loop.id:
                    return None
                return (replace(node, team=replace(node.team, meets=left)),)

            yield replace(program, body=rewrite_nodes(program.body, rule))


# Meetings that the core cannot prove to be for nothing.
SPARED = {with_numbers: 1, triangle: 1}


@pytest.mark.parametrize("function", PROGRAMS)
def test_no_meeting_is_for_nothing(function: Callable[..., Any]) -> None:
    """Each one that is left out lets two threads meet on an element, in some order and with some cut."""
    spared = 0
    for program in without_a_meeting(final(function)):
        spared += not any(_conflicts(function, program, seed) for seed in range(12))
    assert spared == SPARED.get(function, 0)


def _conflicts(function: Any, program: Program, seed: int) -> bool:
    slots = slot_objects(function, program.slots, arguments(12, 9, 4))
    assert slots is not None
    try:
        interpret(program, slots, seed=seed)
    except ConflictError:
        return True
    return False


@pytest.mark.parametrize("function", [relax, on_the_stack])
def test_a_team_that_never_meets(function: Callable[..., Any]) -> None:
    """What goes wrong before some threads have begun ends them, too."""

    def rule(node: Node) -> tuple[Node, ...] | None:
        if not isinstance(node, Loop) or node.team is None:
            return None
        return (replace(node, team=replace(node.team, meets=())),)

    program = final(function)
    never = replace(program, body=rewrite_nodes(program.body, rule))
    assert all(_conflicts(function, never, seed) for seed in range(6))


def test_borders_need_no_meetings_of_their_own() -> None:
    (loop,) = teams(final(borders))
    assert loop.team is not None
    assert len(loop.team.meets) == 2


def refused_for_a_function(steps, A, B):
    for _ in range(steps):
        B[1:] = np.exp(A[:-1])
        A[:] = B


def refused_for_what_leaves(steps, A, B):
    for _ in range(steps):
        if A[0, 0] > 100.0:
            break
        B[1:] = A[:-1]
        A[:] = B + 1.0


def refused_for_a_carried_value(steps, A, B):
    s = 0.0
    for _ in range(steps):
        B[1:] = A[:-1] + s
        A[:] = B
        s = s + 0.5
    return s


@pytest.mark.parametrize("function", [refused_for_a_function, refused_for_what_leaves, refused_for_a_carried_value])
def test_no_team(function: Callable[..., Any]) -> None:
    program = final(function)
    assert not teams(program)
    assert not any(isinstance(node, Map) and node.owner is not None for node in all_nodes(program.body))


def test_before_and_after(golden: Golden) -> None:
    before = generate(borders, arguments(), without=("team-loops",)).stages[-1].program
    made, session = through(before, TeamLoops())
    assert "threads run all turns together and meet 2 times in each" in [record.text for record in session.records]
    assert f"{body_text(before)}\n-- after --\n{body_text(made)}" == golden


# ---- compiled -------------------------------------------------------------------------------------------------------


def large(n: int, m: int, dtype: Any = np.float64) -> list[Any]:
    rng = np.random.default_rng(n + m)
    return [60, *(rng.uniform(-1.0, 1.0, (n, m)).astype(dtype) * 1e-3 for _ in range(2))]


@PLAINLY
@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("threads", [2, 3])
def test_compiled(function: Callable[..., Any], threads: int) -> None:
    """The same bits from a team, from regions, and from one thread: the first runs are tried in turn."""
    one, several = weft.program(function, threads=1), weft.program(function, threads=threads)
    for shape in ((64, 70), (65, 64), (33, 130), (16, 300)):
        expected = large(*shape)
        one(*expected)
        numpy_ = large(*shape)
        function(*numpy_)
        for _ in range(4):
            given = large(*shape)
            several(*given)
            for ours, theirs, python in zip(given, expected, numpy_, strict=True):
                np.testing.assert_array_equal(ours, theirs)
                np.testing.assert_allclose(ours, python, rtol=1e-9, atol=1e-300)


@PLAINLY
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128])
def test_compiled_element_types(dtype: Any) -> None:
    for function in (relax, borders, in_place_shift):
        one, two = weft.program(function, threads=1), weft.program(function, threads=2)
        for step in (1, -2):
            expected, given = ([60, *(x[::step, ::-1] for x in large(140, 70, dtype)[1:])] for _ in range(2))
            one(*expected)
            two(*given)
            for ours, theirs in zip(given, expected, strict=True):
                np.testing.assert_array_equal(ours, theirs)


@PLAINLY
@pytest.mark.parametrize("place", [(1, 1), (40, 3), (62, 68)])
def test_warnings_of_every_thread(place: tuple[int, int]) -> None:
    program = weft.program(relax, threads=2)
    for _ in range(3):
        found = []
        for call in (program, relax):
            arrays = large(64, 70)
            arrays[1][place] = 1.7e308
            arrays[1][place[0] + 1, place[1]] = 1.7e308
            with pytest.warns(RuntimeWarning) as caught:
                call(*arrays)
            found.append(({str(entry.message) for entry in caught}, arrays))
        assert found[0][0] == found[1][0]
        np.testing.assert_array_equal(found[0][1][1], found[1][1][1])
