"""Products of several turns that become one, and those that stay in their turn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import takewhile
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.passes.loops import assert_agrees, body_text, matrix, reasons, through
from weft.driver.compiler import lower
from weft.driver.pipelines import cpu_pipeline
from weft.ir.nodes import Loop, Map, MatMul, Program
from weft.ir.traverse import all_nodes
from weft.passes.block_products import BlockProducts


def a_matrix_times_rows(A, B, out):
    for i in range(A.shape[0]):
        out[i] = B @ A[i] + 1.0


def columns_times_a_matrix(A, B, out):
    for i in range(B.shape[0]):
        out[i] = A.T[:, i] @ B.T


def a_part_of_the_rows(A, B, out):
    for i in range(2, A.shape[0] - 1):
        out[i - 1] = 2.0 * (A[i + 1] @ B.T)


def seen_as_a_whole(A, B, out):
    for i in range(A.shape[0]):
        h = B @ A[i]
        out[i] = h * h.sum()


def one_after_the_other(A, B, out):
    s = np.zeros(B.shape[0])
    for i in range(A.shape[0]):
        s = s + B @ A[i]
        out[i] = s


def added_in_place(A, B, out):
    for i in range(A.shape[0]):
        out[0] += B @ A[i]


def a_triangle(A, B, out):
    R = np.zeros((A.shape[1], A.shape[1]), A.dtype)
    for i in range(A.shape[1]):
        row = A[:, i] @ A[:, i:]
        R[i, i:] = row
        R[i:, i] = row
    return R


def a_triangle_without_its_diagonal(A, B, out):
    R = np.zeros((A.shape[1], A.shape[1]), A.dtype)
    for i in range(A.shape[1] - 1):
        R[i + 1 :, i] = A[:, i + 1 :].T @ A[:, i]
    return R


def a_triangle_beside_its_diagonal(A, B, out):
    R = np.ones((A.shape[1], A.shape[1]), A.dtype)
    for i in range(A.shape[1] - 1):
        R[i + 1 :, i] = 2.0 * (A[:, i + 1 :].T @ A[:, i])
    return R


BLOCKED = [
    a_matrix_times_rows, a_part_of_the_rows, seen_as_a_whole, added_in_place, a_triangle,
    a_triangle_beside_its_diagonal,
]  # fmt: skip


def to_columns(A, B, out):
    for i in range(1, A.shape[0]):
        out[:, i] = B @ A[i]


def to_rows_of_a_part(A, B, out):
    for i in range(A.shape[0] - 3):
        out[i + 2, 1:] = B[1:] @ A[i + 3]


WHOLE = [columns_times_a_matrix, to_columns, to_rows_of_a_part]


def vectors_that_grow(A, B, out):
    for i in range(A.shape[0]):
        out[i] = B[:, :i] @ A[i, :i]


def rows_of_those_before(A, B, out):
    for i in range(out.shape[0]):
        out[i] = np.sign(B[i] - A[i, :i] @ out[:i])


def rows_of_those_behind(A, B, out):
    n = out.shape[0]
    for i in range(n - 1, -1, -1):
        out[i] = np.sign(B[i] - A[i, i + 1 :] @ out[i + 1 :])


def columns_of_those_before(A, B, out):
    for i in range(1, out.shape[1]):
        out[:, i] = np.sign(B[:, i] + out[:, : i - 1] @ A[: i - 1, i])


def from_the_last_to_the_first(A, B, out):
    for i in range(out.shape[0]):
        out[i] = B[i] - A[i, i - 1 :: -1][:i] @ B[:i]


def rows_and_columns(A, B, out):
    for i in range(A.shape[0]):
        A[i, i:] = np.sign(A[i, i:] - A[i, :i] @ A[:i, i:])
        A[i + 1 :, i] = np.sign(A[i + 1 :, i] - A[i + 1 :, :i] @ A[:i, i] + A[i, i])


def columns_of_a_triangle(A, B, out):
    L = np.zeros_like(A)
    for j in range(A.shape[0]):
        L[j, j] = np.sign(A[j, j] - L[j, :j] @ L[j, :j])
        L[j + 1 :, j] = np.sign(A[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) + L[j, j]
    return L


def upwards_and_later(A, B, out):
    n = A.shape[1]
    for i in range(n - 1, -1, -1):
        A[i, i:] = np.sign(A[i, i:] - B[i, i + 1 : n] @ A[i + 1 : n, i:])


GROWING = [
    rows_of_those_before, rows_of_those_behind, columns_of_those_before, rows_and_columns,
    columns_of_a_triangle, upwards_and_later,
]  # fmt: skip


def with_its_own_row(A, B, out):
    for i in range(out.shape[0]):
        out[i] = np.sign(B[i] - A[i, : i + 1] @ out[: i + 1])


def over_the_first_row(A, B, out):
    for i in range(out.shape[0]):
        out[i] = np.sign(B[i] - A[i, :i] @ out[:i])
        out[0] = out[i]


def factors_that_change_before(A, B, out):
    for i in range(1, out.shape[0]):
        A[i] = np.sign(A[i] + A[i - 1])
        out[i] = np.sign(B[i] - A[i, :i] @ out[:i])


def factors_that_change_after(A, B, out):
    for i in range(out.shape[0] - 1):
        out[i] = np.sign(B[i] - A[i, :i] @ out[:i])
        A[i + 1] = np.sign(A[i + 1] + out[i])


def ends_that_differ(A, B, out):
    for i in range(1, out.shape[0]):
        out[i] = B[i] - A[i, :i] @ B[out.shape[0] - i :]


def two_more_each(A, B, out):
    for i in range(out.shape[0] // 2):
        out[i] = B[i] - A[i, : 2 * i] @ B[: 2 * i]


UNSETTLED = [
    with_its_own_row, over_the_first_row, factors_that_change_before, factors_that_change_after, ends_that_differ,
    two_more_each, from_the_last_to_the_first,
]  # fmt: skip


def a_row_from_the_one_before(A, B, out):
    for i in range(A.shape[0] - 1):
        A[i + 1, : B.shape[0]] = B[:, : A.shape[1]] @ A[i]


def a_matrix_that_changes(A, B, out):
    for i in range(A.shape[0]):
        out[i] = B @ A[i]
        B[0] = out[i, 0]


def until_it_is_large(A, B, out):
    for i in range(A.shape[0]):
        h = B @ A[i]
        if h[0] > 1e4:
            break
        out[i] = h


def now_and_then(A, B, out):
    for i in range(A.shape[0]):
        if i % 3 == 0:
            out[i] = B @ A[i]


def every_other_row(A, B, out):
    for i in range(0, A.shape[0], 2):
        out[i] = B @ A[i]


def the_same_vector(A, B, out):
    for i in range(A.shape[0]):
        out[i] = B @ A[0] + i


KEPT = [
    a_row_from_the_one_before, a_matrix_that_changes, until_it_is_large, now_and_then,
    vectors_that_grow, every_other_row, the_same_vector, a_triangle_without_its_diagonal, *UNSETTLED,
]  # fmt: skip


def arguments(m: int, n: int, k: int) -> list[Any]:
    """Matrices of m by k and n by k numbers, and one of m by n."""
    return [matrix(m, k), matrix(n, k, 1), matrix(m, n, 2)]


def square(n: int) -> list[Any]:
    return arguments(n, n, n)


def before_it(function: Callable[..., Any]) -> Program:
    """The program as the pass gets it."""
    assert isinstance(function, FunctionType)
    steps = takewhile(lambda step: step.name != BlockProducts.name, cpu_pipeline())
    return through(lower(function, tuple(square(3))).program, *steps)[0]


def products(program: Program) -> list[MatMul]:
    return [node for node in all_nodes(program.body) if isinstance(node, MatMul)]


@pytest.mark.parametrize("function", BLOCKED)
def test_blocked(function: Callable[..., Any]) -> None:
    made, session = through(before_it(function), BlockProducts())
    assert reasons(session, done=True) == ["products of several turns over i are made at once"]
    for n in (3, 16, 32, 33, 70):
        assert_agrees(function, made, lambda n=n: square(n))
    assert_agrees(function, made, lambda: arguments(40, 40, 16))


@pytest.mark.parametrize("function", GROWING)
def test_sums_that_grow(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.passes.block_products._TERMS", 16)
    made, session = through(before_it(function), BlockProducts())
    assert len(reasons(session, done=True)) == 1
    assert any(product.adds for product in products(made))
    for n in (3, 17, 32, 33, 34, 70):
        assert_agrees(function, made, lambda n=n: square(n))


@pytest.mark.parametrize("function", WHOLE)
def test_whole(function: Callable[..., Any]) -> None:
    made, session = through(before_it(function), BlockProducts())
    assert reasons(session, done=True) == ["products of all turns over i are one"]
    assert not any(isinstance(node, Map | Loop) for node in all_nodes(made.body))
    for n in (3, 16, 40):
        assert_agrees(function, made, lambda n=n: square(n))


@pytest.mark.parametrize("function", [*KEPT, one_after_the_other])
def test_kept(function: Callable[..., Any]) -> None:
    before = before_it(function)
    assert through(before, BlockProducts())[0] is before


def test_turns_in_order_stay_in_order() -> None:
    made, _ = through(before_it(added_in_place), BlockProducts())
    loops = [node.var.name for node in all_nodes(made.body) if isinstance(node, Loop)]
    assert loops == ["block", "i", "i"]
    made, _ = through(before_it(a_matrix_times_rows), BlockProducts())
    (block, *_) = (node for node in all_nodes(made.body) if isinstance(node, Loop))
    assert [node.params[0].name for node in block.body.nodes if isinstance(node, Map)] == ["i"]


@pytest.mark.parametrize("function", [a_matrix_times_rows, a_triangle, rows_of_those_before, rows_of_those_behind])
def test_before_and_after(function: Callable[..., Any], golden: Golden) -> None:
    before = before_it(function)
    made, _ = through(before, BlockProducts())
    assert len(products(made)) == (2 if function is a_matrix_times_rows else 3)
    assert body_text(before) + "\n" + body_text(made) == golden


# ---- as users compile -----------------------------------------------------------------------------------------------


CASES = [(f, t) for f in (*BLOCKED, *WHOLE, *GROWING) for t in "dfD"] + [(f, "d") for f in (*KEPT, one_after_the_other)]


@pytest.mark.parametrize(("function", "dtype"), CASES)
def test_results_of_numpy(function: Callable[..., Any], dtype: str) -> None:
    program = weft.program(function, fallback="error")
    for n in (3, 40, 97, 300) if function in GROWING else (3, 40, 97):
        given = [(item / 16).astype(dtype) for item in square(n)]  # sums of these are exact
        expected, made = [item.copy() for item in given], [item.copy() for item in given]
        results = function(*expected), program(*made)
        for ours, theirs in zip((results[1], *made), (results[0], *expected), strict=True):
            if theirs is not None:
                np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def told(function: Callable[..., Any], given: list[Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function(*[item.copy() for item in given])
    return [str(warning.message) for warning in found]


@pytest.mark.parametrize("column", [0, 5, 39])
def test_no_product_is_made_that_could_warn_in_vain(column: int) -> None:
    """Of the products of columns 5 and 39 only those are made of which the triangle has one."""
    program = weft.program(a_triangle_beside_its_diagonal, fallback="error")
    given = square(40)
    given[0][:] = 0.0
    given[0][0, column], given[0][1, 39] = 1e200, 1e200
    assert told(program, given) == told(a_triangle_beside_its_diagonal, given) == []
    given[0][0, 39] = 1e200
    assert (
        told(program, given)
        == told(a_triangle_beside_its_diagonal, given)
        == (["overflow encountered in matmul"] if column < 39 else [])
    )


def test_bits_do_not_depend_on_threads() -> None:
    given = [np.random.default_rng(k).random((300, 300)) for k in range(3)]
    one, two = (weft.program(a_triangle, threads=threads)(*given) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("value", [1e200, np.inf, np.nan])
@pytest.mark.parametrize("row", [5, 200, 299])
def test_sums_that_grow_warn_as_numpy_warns(row: int, value: float) -> None:
    """What becomes large in a row is multiplied in the rows behind it."""

    def rows(A, B, out):
        for i in range(out.shape[0]):
            out[i] = B[i] * B[i] - A[i, :i] @ out[:i]

    given = [np.tril(item / 1024) for item in square(300)]
    given[1][row, 2] = value
    assert set(told(weft.program(rows, fallback="error"), given)) == set(told(rows, given))
