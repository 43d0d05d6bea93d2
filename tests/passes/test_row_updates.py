"""Maps that compute the rows of a matrix in the sweep that multiplies it, and those that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.loops import SIZES, assert_agrees, body_text, matrix, through, unguarded, vector
from tests.passes.test_sweep_matrices import LARGE, numbers, told
from weft.analysis.memory import Memory
from weft.analysis.sweeps import row_updates
from weft.driver import compiler
from weft.ir.nodes import Program
from weft.ir.traverse import all_nodes, inner_regions
from weft.passes.expand_elementwise import ExpandElementwise
from weft.passes.sweep_matrices import SweepMatrices


def outer(A, x, z):
    A += np.outer(z, x)
    return z @ A


def with_more_behind(A, x, z):
    A[:] = A + z[:, None] * x
    y = 0.5 * (A.T @ z) + x
    return y, A @ y


def a_new_matrix(A, x, z):
    B = 2.0 * A + z[:, None]
    return B @ x, B


def some_of_the_rows(A, x, z):
    A[1:-1] = 0.5 * A[1:-1] + 1.0
    return A @ x


def a_part_of_it(A, x, z):
    A *= 0.5
    return A[2:] @ x


def both_products(A, x, z):
    B = np.sqrt(np.abs(A)) + 0.1
    y = B @ x
    return y, y @ B


def two_results(A, x, z):
    B, C = A + 1.0, A - 1.0
    return B @ x, B, C


def in_a_loop(A, x, z):
    for _ in range(3):
        A *= 0.5
        x = z @ A
        z = z + 0.25
    return x


def by_loops(A, x, z):
    # No site above, to which the guard of the product could go.
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] * 2.0 + j
    return A @ x


def halved(A, x, z):
    A *= 0.5
    return z @ A


SWEPT = [
    halved, outer, with_more_behind, a_new_matrix, some_of_the_rows, a_part_of_it, both_products, two_results,
    in_a_loop,
]  # fmt: skip


def every_other_row(A, x, z):
    A *= 2.0
    return A[::2] @ x


def a_row_further_down(A, x, z):
    B = np.zeros_like(A)
    for i in range(A.shape[0]):
        B[A.shape[0] - 1 - i] = A[i] * 2.0
    return B @ x


def numbers_that_change(A, x, z):
    A[:] = A + np.outer(z, x)
    A[0] = 1.0
    return z @ A


def into_what_the_map_reads(A, x, z):
    B = A * x
    x[:] = z @ B
    return B


KEPT = [by_loops, into_what_the_map_reads, every_other_row, a_row_further_down, numbers_that_change]


def updates(program: Program) -> int:
    """How many maps run in the sweep behind them."""
    inner = (region for node in all_nodes(program.body) for region in inner_regions(node))
    return sum(len(row_updates(region, Memory(program.containers))) for region in (program.body, *inner))


def arguments(m: int, n: int) -> list[Any]:
    return [matrix(m, n), vector(n, np.float64, 1), vector(m, np.float64, 2)]


@pytest.mark.parametrize("function", [*SWEPT, *KEPT])
def test_swept_or_not(function: Callable[..., Any]) -> None:
    last = compiler.generate(function, arguments(3, 4)).stages[-1].program
    assert updates(last) == (function in SWEPT)


@pytest.mark.parametrize("function", [*SWEPT, *KEPT])
def test_agrees(function: Callable[..., Any]) -> None:
    made, _ = through(unguarded(function, arguments(3, 4)), ExpandElementwise(), SweepMatrices())
    for m in SIZES:
        if m > 1 or function not in (a_part_of_it, numbers_that_change):
            assert_agrees(function, made, lambda m=m: arguments(m, 3))


def test_before_and_after(golden: Golden) -> None:
    before, _ = through(unguarded(with_more_behind, arguments(3, 4)), ExpandElementwise())
    made, session = through(before, SweepMatrices())
    assert "a sweep through the matrix computes its rows and multiplies them" in [x.text for x in session.records]
    assert f"{body_text(before)}\n-- after --\n{body_text(made)}" == golden


@PLAINLY
@pytest.mark.parametrize("function", [*SWEPT, *KEPT])
def test_large_ones_agree(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    for form in "CF":
        given = numbers(*LARGE, form=form)
        ours, theirs = ([x.copy(order="K") for x in given] for _ in range(2))
        assert_near(program, function, ours, theirs)
    assert program.stats.native_calls == 2


def assert_near(program: Callable[..., Any], function: Callable[..., Any], ours: list[Any], theirs: list[Any]) -> None:
    """Sums within rounding; what the maps compute, bit for bit."""
    got, expected = program(*ours), function(*theirs)
    for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (got, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(ours[0], theirs[0])


@PLAINLY
@pytest.mark.parametrize("function", [with_more_behind, a_new_matrix, both_products])
@pytest.mark.parametrize("odd", [np.nan, -np.inf, 1e308])
@pytest.mark.parametrize("where", ["matrix", "x", "z"])
def test_odd_numbers_warn_where_they_do_in_python(function: Callable[..., Any], odd: float, where: str) -> None:
    A, x, z = numbers(*LARGE)
    {"matrix": A[500], "x": x, "z": z}[where][7] = odd
    A[600, 3] = 1.5e308
    ours, result = told(weft.program(function), [A.copy(), x, z])
    wanted, expected = told(function, [A.copy(), x, z])
    assert ours == wanted
    for got, right in zip(result, expected, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-9)


@PLAINLY
def test_what_fails_behind_the_update_finds_it_done() -> None:
    A, x, z = numbers(*LARGE)
    ours, theirs = A.copy(), A.copy()
    for call, given in ((weft.program(halved), ours), (halved, theirs)):
        with pytest.raises(ValueError, match="matmul"):
            call(given, x, z[:-1])
    np.testing.assert_array_equal(ours, theirs)


@PLAINLY
def test_a_vector_that_is_a_row_of_the_matrix() -> None:
    A, x, _ = numbers(900, 900)
    ours, theirs = A.copy(), A.copy()
    program = weft.program(outer)
    for _ in range(2):
        np.testing.assert_allclose(program(ours, x, ours[5]), outer(theirs, x, theirs[5]), rtol=1e-9)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@PLAINLY
def test_the_same_bits_on_any_number_of_threads() -> None:
    A, x, z = numbers(*LARGE)
    results = [weft.program(both_products, threads=count)(A, x, z) for count in (1, 2, 3)]
    for result in results[1:]:
        for one, other in zip(result, results[0], strict=True):
            np.testing.assert_array_equal(one, other)
