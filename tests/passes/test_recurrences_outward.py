"""Triangles that are made column by column, and those that must stay as they are."""

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
from weft.passes.recurrences_outward import RecurrencesOutward
from weft.passes.stack_arrays import StackArrays

BEFORE = (InnerProducts(), InlineProducers(), StackArrays(most_bytes=16), LoopReductions())


def rows_of_sums(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[j, :j]
        A[i, i] -= A[i, :i] @ A[i, :i]


def with_a_loop_inside(A):
    for i in range(A.shape[0]):
        for j in range(i):
            rest = A[i, j]
            for k in range(j):
                rest -= A[i, k] * A[k, j]
            A[i, j] = rest
        for j in range(i, A.shape[0]):
            A[i, j] -= np.sum(A[i, :i] * A[:i, j])


def without_an_end(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] += A[i, :j] @ A[j, :j]


def from_the_last_row(A):
    n = A.shape[0]
    for i in range(n - 1, -1, -1):
        for j in range(n - 1, i, -1):
            A[i, j] -= A[i, j + 1 :] @ A[j, j + 1 :]
        A[i, i] += A[i, i + 1 :] @ A[i, i + 1 :]


def from_a_later_row(A):
    for i in range(2, A.shape[0]):
        for j in range(2, i):
            A[i, j] += A[i, :j] @ A[j, :j]
        A[i, 0] += A[i, i]


def greatest_so_far(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] += np.max(A[i, : j + 1] - A[j, : j + 1])
        A[i, i] = np.max(A[i, : i + 1])


TURNED = [
    rows_of_sums,
    with_a_loop_inside,
    without_an_end,
    from_the_last_row,
    from_a_later_row,
    greatest_so_far,
]


def needs_the_next_column_of_the_row_before(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] += A[i, :j] @ A[j, :j] + A[i - 1, j + 1]


def needs_the_end_of_a_row_below(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] += A[i, :j] @ A[j, :j] + A[j + 1, j + 1]
        A[i, i] *= 0.5


def ends_change_the_first_column(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] += A[i, :j] @ A[j, :j]
        A[:, 0] += A[i, i]


def something_before_a_row(A):
    for i in range(A.shape[0]):
        A[i, 0] *= 0.5
        for j in range(i):
            A[i, j] += A[i, :j] @ A[j, :j]


def a_count_of_elements(A):
    count = 0
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] += A[i, :j] @ A[j, :j]
            count += 1
    return count


def rows_on_their_own(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] += A[i, :j] @ A[i, :j]


def one_vector(A):
    # Slices of A may clip here, which nothing excludes.
    x = A.sum(axis=1)
    for i in range(A.shape[0]):
        for j in range(i):
            x[i] -= A[i, :j] @ x[:j]
    return x


def no_sums(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] += A[i, j - 1] * A[j, j]


def with_the_diagonal(A):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            A[i, j] += A[i, :j] @ A[j, :j]


KEPT = [
    needs_the_next_column_of_the_row_before, needs_the_end_of_a_row_below, ends_change_the_first_column,
    something_before_a_row, a_count_of_elements, rows_on_their_own, one_vector, no_sums, with_the_diagonal,
]  # fmt: skip


def prepared(function: Callable[..., Any], n: int = 4) -> Program:
    """A program up to where the pass stands in the pipeline."""
    return through(unguarded(function, [matrix(n, n)]), *BEFORE)[0]


def test_a_recurrence_along_rows_is_made_by_columns(golden: Golden) -> None:
    made, session = through(prepared(rows_of_sums), RecurrencesOutward())
    assert [record.text for record in session.records] == ["the loop over j goes around that over i"]
    assert body_text(made) == golden


@pytest.mark.parametrize("function", TURNED)
def test_turned(function: Callable[..., Any]) -> None:
    before = prepared(function)
    made, _ = through(before, RecurrencesOutward())
    assert made is not before
    assert RecurrencesOutward().run(made, Session()) is made
    for n in SIZES:
        assert_agrees(function, through(made, LoopToMap())[0], lambda n=n: [matrix(n, n)])


@pytest.mark.parametrize("function", KEPT)
def test_kept(function: Callable[..., Any]) -> None:
    before = prepared(function)
    assert RecurrencesOutward().run(before, Session()) is before


CASES: list[tuple[Callable[..., Any], Any]] = [(function, np.float64) for function in (*TURNED, *KEPT)]
CASES += [(function, dtype) for function in TURNED[:-1] for dtype in (np.float32, np.complex128, np.int64)]


@PLAINLY
@pytest.mark.parametrize(("function", "dtype"), CASES)
def test_programs_agree(function: Callable[..., Any], dtype: Any) -> None:
    program = weft.program(function)
    eps = 0.0 if np.dtype(dtype).kind == "i" else float(np.finfo(dtype).eps)
    layouts = (np.ascontiguousarray, np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2])
    for n in (0, 3, 17):
        for layout in layouts if dtype is np.float64 else layouts[:1]:
            A = (np.random.default_rng(n).uniform(-1, 1, (n, n)) * 3 / (n + 1)).astype(dtype)
            wanted, ours = layout(A.copy()), layout(A.copy())
            result, expected = program(ours), function(wanted)
            tolerance = 256 * (n + 1) * eps
            np.testing.assert_allclose(ours, wanted, rtol=tolerance, atol=tolerance)
            if expected is not None:
                np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


def cholesky(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[j, :j]) / A[j, j]
        A[i, i] = np.sqrt(A[i, i] - A[i, :i] @ A[i, :i])


def told(function: Callable[..., Any], A: Any) -> set[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(A)
    return {str(item.message) for item in caught}


@pytest.mark.parametrize("odd", [np.nan, np.inf, -4.0, 0.0, 1e300])
@pytest.mark.parametrize("place", [(0, 0), (3, 1), (4, 4)])
def test_odd_numbers_spread_and_warn_as_in_python(odd: float, place: tuple[int, int]) -> None:
    A = np.eye(6) * 9 + 1
    A[place] = odd
    wanted, ours = A.copy(), A.copy()
    assert told(weft.program(cholesky), ours) == told(cholesky, wanted)
    np.testing.assert_allclose(ours, wanted, rtol=1e-13)


def test_the_same_bits_on_one_and_two_threads() -> None:
    n = 400
    A = np.random.default_rng(1).uniform(0, 1, (n, n)) + n * np.eye(n)
    results = [A.copy() for _ in range(2)]
    for threads, result in enumerate(results, 1):
        weft.program(cholesky, threads=threads)(result)
    assert results[0].tobytes() == results[1].tobytes()
    L = np.tril(results[0])
    np.testing.assert_allclose(np.tril(L @ L.T), np.tril(A), rtol=1e-12, atol=1e-12)
