"""Linear algebra of several turns at once, and what stays in its turn."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.end_to_end.outcome import assert_same, assert_same_outcome, run
from tests.passes.loops import assert_agrees, body_text, reasons, through
from weft.driver.compiler import lower
from weft.driver.kernels import slot_objects
from weft.driver.pipelines import cpu_pipeline
from weft.interp import Returned, interpret
from weft.interp.outcome import Left
from weft.ir.nodes import NumpyCall, Program
from weft.ir.parser import parse_program
from weft.ir.printer import print_program
from weft.ir.traverse import all_nodes
from weft.passes.block_calls import BlockCalls


def resolvent(A, B, out):
    for i in range(out.shape[0]):
        M = (B[i, 0] + 2.0) * np.eye(A.shape[0]) - A
        G = np.linalg.inv(M)
        out[i] = G[0]


def of_a_stack(A, B, out):
    S = np.stack((A, A + 1.0, A * 2.0, A.T, A - np.eye(A.shape[0]), A))
    for i in range(S.shape[0]):
        out[i] = np.linalg.solve(S[i], B[i])


def the_same_matrix(A, B, out):
    for i in range(1, out.shape[0]):
        out[i - 1] = np.linalg.solve(A, B[i])


def summed(A, B, out):
    total, most = 0.0, 0
    for i in range(out.shape[0]):
        d = np.linalg.det(A * B[i])
        total = total + d * B[i, 0]
        most = max(most, i)
    return total, most


def also_behind(A, B, out):
    for i in range(out.shape[0]):
        H = A * B[i, 0] + (A * B[i, 0]).T
        w, v = np.linalg.eigh(H)
        out[i] = H @ v[:, 0] - w[0] * v[:, 0] + np.abs(v[0])


def backwards_in_place(A, B, out):
    for i in range(out.shape[0] - 1):
        out[i] = np.linalg.solve(A + out[i + 1, 0] * np.eye(A.shape[0]), B[i])


def with_warnings(A, B, out):
    for i in range(out.shape[0]):
        M = A / B[i]
        out[i] = np.linalg.eigvalsh(M) * B[i, 1]


def sign_and_logarithm(A, B, out):
    for i in range(out.shape[0]):
        sign, size = np.linalg.slogdet(A + B[i, 0])
        out[i, 0] = sign * size


BLOCKED = [resolvent, of_a_stack, the_same_matrix, summed, also_behind, backwards_in_place, with_warnings,
           sign_and_logarithm]  # fmt: skip


def from_the_turn_before(A, B, out):
    for i in range(1, out.shape[0]):
        out[i] = np.linalg.solve(A + out[i - 1, 0] * np.eye(A.shape[0]), B[i])


def carried(A, B, out):
    x = B[0, 0]
    for i in range(out.shape[0]):
        x = np.linalg.det(A * (0.5 + 0.1 * x / (1.0 + abs(x)))) * 1e-3
        out[i, 0] = x
    return x


def an_argument_that_changes(A, B, out):
    for i in range(out.shape[0]):
        out[i] = np.linalg.solve(A, B[i])
        A[0, 0] += 0.25


def until_it_is_small(A, B, out):
    for i in range(out.shape[0]):
        w = np.linalg.eigvalsh(A * B[i, 0])
        if w[0] < -0.5:
            break
        out[i] = w


def larger_and_larger(A, B, out):
    for i in range(1, A.shape[0]):
        out[0, i] = np.linalg.det(A[:i, :i])


def written_before(A, B, out):
    for i in range(out.shape[0]):
        A[0, 0] += 0.5
        out[i] = np.linalg.solve(A + np.eye(A.shape[0]), B[i])


def two_in_a_turn(A, B, out):
    for i in range(out.shape[0]):
        out[i] = np.linalg.solve(A, np.linalg.solve(A, B[i]))


KEPT = {
    from_the_turn_before: "what stands before the call needs what turns before do behind theirs",
    carried: "what one turn carries to the next is needed before the call",
    an_argument_that_changes: "A is an argument of the call, and written",
    until_it_is_small: "each iteration checks for `index out of bounds`",
    larger_and_larger: "arguments of the calls are no stack",
    written_before: "A is written before the call",
    two_in_a_turn: "",
}


def given(n: int = 5, turns: int = 6, seed: int = 0) -> list[Any]:
    """A matrix that is well conditioned, right-hand sides and room for results."""
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(-1.0, 1.0, (n, n))
    return [matrix @ matrix.T + n * np.eye(n), rng.uniform(0.5, 1.5, (turns, n)), np.zeros((turns, n))]


def before_it(function: Callable[..., Any]) -> Program:
    """The program as the pass gets it first."""
    assert isinstance(function, FunctionType)
    steps = takewhile(lambda step: step.name != BlockCalls.name, cpu_pipeline())
    return through(lower(function, tuple(given())).program, *steps)[0]


@pytest.mark.parametrize("function", BLOCKED)
def test_blocked(function: Callable[..., Any]) -> None:
    made, session = through(before_it(function), BlockCalls())
    assert reasons(session, done=True) == ["calls of several turns over i are made at once"]
    assert sum(isinstance(node, NumpyCall) and node.tried for node in all_nodes(made.body)) == 1
    for turns in (0, 1, 2, 6, 200):
        if function is not of_a_stack or turns == 6:
            assert_agrees(function, made, lambda turns=turns: given(turns=turns))
    assert print_program(parse_program(print_program(made))) == print_program(made)


@pytest.mark.parametrize("function", [resolvent, of_a_stack, the_same_matrix, backwards_in_place])
def test_what_raises_is_done_as_it_was(function: Callable[..., Any]) -> None:
    """The program leaves at the turn whose matrix is singular, with what was stored before it."""
    made, _ = through(before_it(function), BlockCalls())
    for turns in (1, 6):
        a, b, out = given(n=1, turns=6 if function is of_a_stack else turns)
        a[0] = 0.5 if function is of_a_stack else 0.0
        b[2:] = -2.0
        arguments = [a.copy(), b.copy(), out.copy()]
        expected = run(function, [a, b, out])
        assert isinstance(function, FunctionType)
        slots = slot_objects(function, made.slots, arguments)
        assert slots is not None
        outcome = interpret(made, slots)
        assert isinstance(outcome, Left if expected.error else Returned)
        assert_same(tuple(arguments), expected.arguments)


@pytest.mark.parametrize("function", KEPT)
def test_kept(function: Callable[..., Any]) -> None:
    before = before_it(function)
    made, session = through(before, BlockCalls())
    assert made is before
    told = [text for text in reasons(session, done=False) if text.startswith("calls over i")]
    assert told == ([f"calls over i are made turn by turn: {KEPT[function]}"] if KEPT[function] else [])


@pytest.mark.parametrize("function", [resolvent, summed])
def test_before_and_after(function: Callable[..., Any], golden: Golden) -> None:
    before = before_it(function)
    assert body_text(before) + "\n" + body_text(through(before, BlockCalls())[0]) == golden


# ---- as users compile -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [*BLOCKED, *KEPT])
@pytest.mark.parametrize("threads", [1, 2])
def test_what_numpy_gives(function: Callable[..., Any], threads: int) -> None:
    program = weft.program(function, threads=threads, fallback="error")
    for n, turns in ((1, 6), (5, 6), (12, 6), (40, 6)):
        assert_same_outcome(run(program, given(n, turns)), run(function, given(n, turns)), ulps=200.0)
    if function is not of_a_stack:
        for turns in (0, 1, 3, 64, 65, 300):
            assert_same_outcome(run(program, given(9, turns)), run(function, given(9, turns)), ulps=200.0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", BLOCKED)
@pytest.mark.parametrize("place", [0, 2, 5])
@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, 1e308, -2.0])
def test_errors_and_warnings_are_those_of_numpy(function: Callable[..., Any], place: int, value: float) -> None:
    """At the turn that raises, with what was stored before it; nothing that later turns would warn of."""
    program = weft.program(function, fallback="error")
    for also in (5, place):
        a, b, out = given(3)
        b[place], b[also, 1] = value, 0.0
        ours, theirs = (run(f, [a.copy(), b.copy(), out.copy()]) for f in (program, function))
        assert_same_outcome(ours, theirs, ulps=200.0)


def a_singular_one_before_a_warning(A, B, out):
    for i in range(out.shape[0]):
        M = A * B[i, 0] / B[i, 1]
        out[i] = np.linalg.solve(M, B[i])


def test_what_comes_after_an_exception_does_not_warn() -> None:
    a, b, out = given(4, 40)
    b[3, 0] = 0.0  # raises
    b[20, 1] = 0.0  # would warn, but is never reached
    program = weft.program(a_singular_one_before_a_warning)
    program(*given(4, 40))
    ours, theirs = (run(f, [a.copy(), b.copy(), out.copy()]) for f in (program, a_singular_one_before_a_warning))
    assert theirs.warnings == frozenset()
    assert isinstance(theirs.error, np.linalg.LinAlgError)
    assert_same_outcome(ours, theirs, ulps=200.0)
    b[2, 1] = 0.0  # does warn
    ours, theirs = (run(f, [a.copy(), b.copy(), out.copy()]) for f in (program, a_singular_one_before_a_warning))
    assert theirs.warnings
    assert_same_outcome(ours, theirs, ulps=200.0)


def test_bits_do_not_depend_on_threads() -> None:
    results = [run(weft.program(also_behind, threads=threads), given(60, 200)) for threads in (1, 2, 3)]
    for other in results[1:]:
        assert_same_outcome(other, results[0])


def test_large_matrices_stay_alone() -> None:
    """Two of them are more than a block may be."""
    program = weft.program(the_same_matrix, fallback="error")
    a, b, out = given(8, 6)
    program(a, b, out)
    wide = weft.program(resolvent, fallback="error")
    arguments = given(420, 5)
    assert_same_outcome(run(wide, [x.copy() for x in arguments]), run(resolvent, arguments), ulps=2e4)


def test_the_listing_says_so() -> None:
    program = weft.program(resolvent)
    program(*given())
    assert "calls of several turns over i are made at once" in str(program.explain())
    assert "calls for some turns at once, on threads, numpy.linalg.inv" in str(program.explain())
