"""Loops whose turns add to the sums of later turns, and those whose sums stay as they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.loops import SIZES, assert_agrees, body_text, matrix, through, unguarded
from weft.ir.nodes import Program
from weft.passes.base import Session
from weft.passes.inline_producers import InlineProducers
from weft.passes.inner_products import InnerProducts
from weft.passes.loop_reductions import LoopReductions
from weft.passes.loop_to_map import LoopToMap
from weft.passes.stack_arrays import StackArrays
from weft.passes.sums_forward import SumsForward

BEFORE = (InnerProducts(), InlineProducers(), StackArrays(most_bytes=16), LoopReductions())


def through_columns(A):
    x = A.sum(axis=1)
    for j in range(A.shape[0]):
        x[j] -= x[:j] @ A[:j, j]
    return x


def with_a_loop_inside(A):
    x = A.sum(axis=1)
    for j in range(A.shape[0]):
        rest = x[j]
        for k in range(j):
            rest -= A[k, j] * x[k]
        x[j] = rest
    return x


def back_through_columns(A):
    n = A.shape[0]
    x = A.sum(axis=1)
    for j in range(n - 1, -1, -1):
        x[j] = x[j] + np.sum(A[j + 1 :, j] * x[j + 1 :])
    return x


def from_the_last_term(A):
    x = A.sum(axis=1)
    for j in range(A.shape[0]):
        for k in range(j - 1, -1, -1):
            x[j] += A[k, j] * x[k]
    return x


def from_a_later_turn(A):
    x = A.sum(axis=1)
    for j in range(2, A.shape[0]):
        x[j] -= x[2:j] @ A[2:j, j]
    return x


def dearest_way(A):
    n = A.shape[0]
    cost = A.sum(axis=1)
    for j in range(n):
        most = cost[j]
        for k in range(j):
            most = np.maximum(most, cost[k] + A[k, j])
        cost[j] = most
    return cost


def in_rows_of_a_table(A):
    n = A.shape[0]
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            most = A[i + 1, j]
            for k in range(i + 1, j):
                most = np.minimum(most, A[i, k] + A[k + 1, j])
            A[i, j] = most
    return A


PUSHED = [
    through_columns, with_a_loop_inside, back_through_columns, from_the_last_term, from_a_later_turn, dearest_way,
]  # fmt: skip


def through_rows(A):
    x = A.sum(axis=1)
    for j in range(A.shape[0]):
        x[j] -= x[:j] @ A[j, :j]
    return x


def a_first_term_of_its_own(A):
    x = A.sum(axis=1)
    for j in range(1, A.shape[0]):
        x[j] -= x[:j] @ A[:j, j]
    return x


def without_the_last_term(A):
    x = A.sum(axis=1)
    for j in range(1, A.shape[0]):
        x[j] -= x[: j - 1] @ A[: j - 1, j]
    return x


def factors_that_change(A):
    x = A.sum(axis=1)
    for j in range(A.shape[0]):
        x[j] -= x[:j] @ A[:j, j]
        A[0, :] += 0.5
    return x


def numbers_that_change_later(A):
    x = A.sum(axis=1)
    for j in range(A.shape[0]):
        x[j] -= x[:j] @ A[:j, j]
        x[0] += 0.5
    return x


def a_number_written_now_and_then(A):
    x = A.sum(axis=1)
    for j in range(A.shape[0]):
        t = x[:j] @ A[:j, j]
        if t > 0:
            x[j] = t
    return x


def a_factor_of_the_turn(A):
    x = A.sum(axis=1)
    for j in range(A.shape[0]):
        f = x[j] * 0.5
        for k in range(j):
            x[j] += f * x[k] * A[k, j]
    return x


def rows_on_their_own(A):
    X = A * 0.5
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            X[i, j] -= X[i, :j] @ A[:j, j]
    return X


KEPT = [
    through_rows, a_first_term_of_its_own, without_the_last_term, factors_that_change, numbers_that_change_later,
    a_number_written_now_and_then, a_factor_of_the_turn, rows_on_their_own,
]  # fmt: skip


def prepared(function: Callable[..., Any], n: int = 4) -> Program:
    """A program up to where the pass stands in the pipeline."""
    return through(unguarded(function, [matrix(n, n)]), *BEFORE)[0]


def test_terms_go_forward(golden: Golden) -> None:
    made, session = through(prepared(through_columns), SumsForward())
    assert [record.text for record in session.records] == ["each turn over j adds to the sums of later ones"]
    assert body_text(made) == golden


@pytest.mark.parametrize("function", PUSHED)
def test_pushed(function: Callable[..., Any]) -> None:
    before = prepared(function)
    made, _ = through(before, SumsForward())
    assert made is not before
    assert SumsForward().run(made, Session()) is made
    for n in SIZES:
        assert_agrees(function, through(made, LoopToMap())[0], lambda n=n: [matrix(n, n)])


@pytest.mark.parametrize("function", KEPT)
def test_kept(function: Callable[..., Any]) -> None:
    before = prepared(function)
    assert SumsForward().run(before, Session()) is before


def test_sums_of_rows_have_one_array() -> None:
    """A loop around that has a way back in front of it: the array is as long as the longest row."""
    program = weft.program(in_rows_of_a_table)
    program(matrix(6, 6))
    assert program.stats.allocations == 1
    assert "sums" in program.inspect_source()


CASES: list[tuple[Callable[..., Any], Any]] = [
    (function, np.float64) for function in (*PUSHED, in_rows_of_a_table, *KEPT)
]
CASES += [(function, dtype) for function in (*PUSHED, in_rows_of_a_table) for dtype in (np.float32, np.int64)]
CASES += [(function, np.complex128) for function in PUSHED[:5]]


@PLAINLY
@pytest.mark.parametrize(("function", "dtype"), CASES)
def test_programs_agree(function: Callable[..., Any], dtype: Any) -> None:
    program = weft.program(function)
    eps = 0.0 if np.dtype(dtype).kind == "i" else float(np.finfo(dtype).eps)
    layouts = (np.ascontiguousarray, np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2])
    for n in (0, 3, 17):
        for layout in layouts if dtype is np.float64 else layouts[:1]:
            scale = 9 if dtype is np.int64 else 3 / (n + 1)
            A = (np.random.default_rng(n).uniform(-1, 1, (n, n)) * scale).astype(dtype)
            wanted, ours = layout(A.copy()), layout(A.copy())
            result, expected = program(ours), function(wanted)
            tolerance = 256 * (n + 1) * eps
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(ours, wanted, rtol=tolerance, atol=tolerance)
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


def told(function: Callable[..., Any], A: Any) -> tuple[set[str], Any]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(A)
    return {str(item.message) for item in caught}, result


@pytest.mark.parametrize("function", [through_columns, with_a_loop_inside, dearest_way])
@pytest.mark.parametrize("odd", [np.nan, np.inf, 1.7e308, -0.0])
@pytest.mark.parametrize("place", [(0, 0), (1, 3), (3, 3), (0, 4)])
def test_odd_numbers_spread_and_warn_as_in_python(
    function: Callable[..., Any], odd: float, place: tuple[int, int]
) -> None:
    A = np.full((5, 5), 0.25)
    A[place] = odd
    ours, result = told(weft.program(function), A.copy())
    wanted, expected = told(function, A.copy())
    assert ours == wanted
    np.testing.assert_allclose(result, expected, rtol=1e-13)


def test_an_empty_sum_keeps_its_sign() -> None:
    """The first number has no terms: -0.0 less nothing is -0.0."""
    A = np.full((3, 3), -0.0)
    np.testing.assert_array_equal(np.signbit(weft.program(with_a_loop_inside)(A)), np.signbit(with_a_loop_inside(A)))


def test_the_same_bits_on_one_and_two_threads() -> None:
    A = np.random.default_rng(1).uniform(-1, 1, (300, 300)) / 300
    results = [weft.program(through_columns, threads=threads)(A) for threads in (1, 2)]
    assert results[0].tobytes() == results[1].tobytes()
