"""Loops whose turns have temporaries of their own, and those that must stay in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.end_to_end.outcome import assert_same_outcome, run
from tests.passes.loops import assert_agrees, body_text, matrix, reasons, through, unguarded, vector
from weft.ir.nodes import Program
from weft.passes.inline_producers import InlineProducers
from weft.passes.loop_reductions import LoopReductions
from weft.passes.loop_to_map import LoopToMap
from weft.passes.private_arrays import PrivateArrays
from weft.passes.schedule_maps import ScheduleMaps
from weft.passes.stack_arrays import StackArrays

BEFORE = (InlineProducers(), StackArrays(most_bytes=16), LoopReductions(), LoopToMap())


def paths(A):
    out = np.empty(A.shape[0])
    for i in range(A.shape[0]):
        path = np.zeros(A.shape[1] + 1)
        for t in range(A.shape[1]):
            path[t + 1] = path[t] * 0.5 + A[i, t]
        out[i] = path.sum() - path[0]
    return out


def small(A):
    out = np.zeros((A.shape[0], 3))
    for i in range(A.shape[0]):
        t = np.zeros(3)
        for j in range(A.shape[1]):
            t[j % 3] += A[i, j]
        out[i] = t * 2
    return out


def downwards_in_steps(A):
    out = np.zeros(A.shape[0])
    for i in range(A.shape[0] - 1, -1, -2):
        row = np.cumsum(A[i])
        out[i] = row.max() + row.sum() if row.shape[0] > 0 else 1.0
    return out


def two_loops(A):
    out = np.zeros(A.shape)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            t = np.zeros(A.shape[1] + 2)
            t[0] = A[i, j]
            for k in range(A.shape[1]):
                t[k + 1] = t[k] - A[i, k]
            out[i, j] = t[A.shape[1]]
    return out


def growing(A):
    out = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        t = np.zeros(i + 1)
        for k in range(i):
            t[k + 1] = t[k] + A[k, 0] * A[i, 0]
        out[i] = t[i]
    return out


def products(A):
    out = np.zeros((A.shape[0], A.shape[1], A.shape[1]))
    for i in range(A.shape[0]):
        outer = A[i][:, None] * A[i][None, :]
        out[i] += outer @ outer
    return out


def in_time(A):
    B = A.copy()
    for _ in range(3):
        for i in range(A.shape[0]):
            t = np.zeros(A.shape[1] + 1)
            for k in range(A.shape[1]):
                t[k + 1] = t[k] + B[i, k]
            B[i, :] = t[1:] * 0.5
    return B


def a_known_number_of_turns(A):
    out = np.zeros((100, A.shape[1]))
    for i in range(100):
        t = np.zeros(A.shape[1] + 1)
        for k in range(A.shape[1]):
            t[k + 1] = t[k] + A.shape[0] - i
        out[i] = t[1:]
    return out


PARTS = [a_known_number_of_turns, paths, small, downwards_in_steps, two_loops, growing, products, in_time]


def the_row_before(A):
    out = np.zeros(A.shape[0])
    for i in range(1, A.shape[0]):
        t = np.zeros(A.shape[1] + 1)
        for k in range(A.shape[1]):
            t[k + 1] = t[k] + A[i, k]
        out[i] = out[i - 1] + t[A.shape[1]]
    return out


def one_array_for_all(A):
    out = np.zeros(A.shape[0])
    t = np.zeros(A.shape[1] + 1)
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            t[k + 1] = t[k] + A[i, k]
        out[i] = t[A.shape[1]]
    return out


def kept_for_later(A):
    out = np.zeros(A.shape[0])
    t = np.zeros(A.shape[1] + 1)
    for i in range(A.shape[0]):
        s = np.zeros(A.shape[1] + 1)
        for k in range(A.shape[1]):
            s[k + 1] = s[k] + t[k] + A[i, k]
        t = s
        out[i] = s[A.shape[1]]
    return out


KEPT = [the_row_before, one_array_for_all, kept_for_later]


def prepared(function: Callable[..., Any], arguments: Sequence[Any]) -> Program:
    return through(unguarded(function, arguments), *BEFORE)[0]


def test_turns_run_in_parts(golden: Golden) -> None:
    made, session = through(prepared(paths, [matrix(4, 3)]), PrivateArrays())
    assert reasons(session, done=True) == ["the loop over i runs in parts, each with its own x"]
    assert body_text(made) == golden


def test_small_arrays_are_on_the_stack(golden: Golden) -> None:
    made, _ = through(prepared(small, [matrix(4, 3)]), PrivateArrays())
    assert body_text(made) == golden


@pytest.mark.parametrize("function", PARTS)
def test_parts_mean_the_same(function: Callable[..., Any]) -> None:
    made, session = through(prepared(function, [matrix(4, 3)]), PrivateArrays(), ScheduleMaps())
    assert any("runs in parts" in text for text in reasons(session, done=True))
    for shape in ((0, 3), (1, 2), (9, 4), (70, 3)):
        assert_agrees(function, made, lambda shape=shape: [matrix(*shape)])


@pytest.mark.parametrize("function", KEPT)
def test_turns_that_meet_stay(function: Callable[..., Any]) -> None:
    before = prepared(function, [matrix(4, 3)])
    assert PrivateArrays().run(before, session := through(before)[1]) is before
    assert not reasons(session, done=True)


def test_large_temporaries_are_left_alone() -> None:
    """Memory is not taken many times where their own loops are parallel."""
    program = weft.program(paths, threads=2, fallback="error")
    program(np.ones((8, 100000)))
    assert program.stats.peak_bytes < 2 * 100001 * 8


SHAPES = ((0, 5), (1, 4), (7, 0), (8, 40), (257, 33))
LAYOUTS = (np.ascontiguousarray, np.asfortranarray, lambda A: np.repeat(A, 2, axis=1)[:, ::2], lambda A: A[::-1, ::-1])


CASES: list[tuple[Callable[..., Any], Any]] = [(function, np.float64) for function in (*PARTS, *KEPT)]
CASES += [(paths, np.float32), (small, np.int64), (products, np.complex128)]


@PLAINLY
@pytest.mark.parametrize(("function", "dtype"), CASES)
def test_programs_agree(function: Callable[..., Any], dtype: Any) -> None:
    program = weft.program(function, threads=2, fallback="error")
    for shape in SHAPES:
        for layout in LAYOUTS if function is two_loops else LAYOUTS[:1]:

            def make(shape: tuple[int, int] = shape, layout: Callable[[Any], Any] = layout) -> list[Any]:
                return [layout(np.random.default_rng(3).integers(-4, 5, shape).astype(dtype))]

            assert_same_outcome(run(program, make()), run(function, make()), ulps=64.0, where=f"{shape}")


@pytest.mark.parametrize("function", [paths, two_loops, products, small])
def test_warnings_come_as_in_python(function: Callable[..., Any]) -> None:
    program = weft.program(function, threads=2, fallback="error")
    for odd in (np.nan, np.inf, -np.inf, 1.7e308):

        def make(odd: float = odd) -> list[Any]:
            A = np.full((300, 40), 0.5)
            A[123, 7] = A[200, 0] = odd
            return [A]

        assert_same_outcome(run(program, make()), run(function, make()), ulps=64.0, where=f"{odd}")


def test_the_same_bits_on_one_and_two_threads() -> None:
    A = np.random.default_rng(1).uniform(-1, 1, (500, 300))
    for function in (paths, products, two_loops):
        results = [weft.program(function, threads=threads, fallback="error")(A[:60, :50]) for threads in (1, 2)]
        assert results[0].tobytes() == results[1].tobytes()


def test_it_can_be_left_out() -> None:
    A = vector(60).reshape(12, 5)
    np.testing.assert_array_equal(
        weft.program(paths, without=("private-arrays",))(A), weft.program(paths, fallback="error")(A)
    )


def test_a_wish_comes_true() -> None:
    def wished(A):
        out = np.empty(A.shape[0])
        for i in weft.prange(A.shape[0]):
            path = np.zeros(A.shape[1] + 1)
            for t in range(A.shape[1]):
                path[t + 1] = path[t] * 0.5 + A[i, t]
            out[i] = path.sum() - path[0]
        return out

    program = weft.program(wished, fallback="error")
    outcome = run(program, [matrix(9, 4)])
    assert not outcome.own_warnings
    assert "stays a loop: each iteration allocates" not in str(program.explain())
