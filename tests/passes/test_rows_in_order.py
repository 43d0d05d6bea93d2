"""Maps around rows of sums that become loops, and those that stay maps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.loops import matrix


def triangle(A, C):
    for i in range(A.shape[1]):
        for j in range(i, A.shape[1]):
            total = 0.0
            for k in range(A.shape[0]):
                total += A[k, i] * A[k, j]
            C[i, j] = total
            C[j, i] = C[i, j]


def solved_side_by_side(A, C):
    for s in range(A.shape[1]):
        for i in range(len(A)):
            total = A[i, s]
            for k in range(i):
                total -= C[i, k] * A[k, s]
            A[i, s] = total / (abs(C[i, i]) + 1.0)


def triangle_with_a_factor(A, C):
    for i in range(A.shape[1]):
        factor = 2.0 * C[i, 0]
        for j in range(i, A.shape[1]):
            C[i, j] = factor * np.sum(A[:, i] * A[:, j])


IN_ORDER = [triangle, solved_side_by_side]


def sums_along_rows(A, C):
    for i in range(min(A.shape)):
        for j in range(i, min(A.shape)):
            total = 0.0
            for k in range(A.shape[1]):
                total += A[i, k] * A[j, k]
            C[i, j] = total


def loops_of_their_own_length(A, C):
    for s in range(min(A.shape)):
        for i in range(s):
            total = 0.0
            for k in range(A.shape[0]):
                total += A[k, s]
            A[i, s] = total


KEPT = [sums_along_rows, loops_of_their_own_length]
ALL = [*IN_ORDER, triangle_with_a_factor, *KEPT]


def arguments(m: int, n: int, dtype: Any = np.float64) -> list[Any]:
    return [matrix(m, n).astype(dtype), matrix(max(m, n), max(m, n), 3).astype(dtype)]


def graph_of(function: Callable[..., Any], stage: str) -> str:
    program = weft.program(function, fallback="error")
    program(*arguments(6, 6))
    text = program.inspect_graph(stage)
    return text[text.index("\n{") + 1 :]


@PLAINLY
@pytest.mark.parametrize("function", IN_ORDER)
def test_in_order(function: Callable[..., Any], golden: Golden) -> None:
    before, after = graph_of(function, "collapse-maps"), graph_of(function, "rows-in-order")
    assert f"{before}\n-- after --\n{after}" == golden


@PLAINLY
@pytest.mark.parametrize("function", KEPT)
def test_kept(function: Callable[..., Any]) -> None:
    assert graph_of(function, "collapse-maps") == graph_of(function, "rows-in-order")


@PLAINLY
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("function", ALL)
def test_compiled(function: Callable[..., Any], dtype: Any) -> None:
    program = weft.program(function)
    for m, n in ((0, 3), (3, 0), (1, 1), (4, 4), (30, 30), (9, 40), (40, 9)):
        ours, theirs = arguments(m, n, dtype), arguments(m, n, dtype)
        with np.errstate(all="ignore"):
            program(*ours)
            function(*theirs)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3 if dtype is np.float32 else 1e-10)


@PLAINLY
@pytest.mark.parametrize("order", [np.asfortranarray, lambda a: a[::-1], lambda a: np.repeat(a, 2, axis=1)[:, ::2]])
@pytest.mark.parametrize("function", ALL)
def test_other_layouts(function: Callable[..., Any], order: Callable[[Any], Any]) -> None:
    ours, theirs = ([order(a) for a in arguments(8, 8)] for _ in range(2))
    weft.program(function)(*ours)
    function(*theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@PLAINLY
@pytest.mark.parametrize("function", ALL)
def test_arguments_that_share_memory(function: Callable[..., Any]) -> None:
    results: list[Any] = []
    program = weft.program(function)
    for call in (program, function):
        A, C = (a / 100.0 for a in arguments(7, 7))
        call(A, A[::-1])
        call(C, C)
        results.append((A, C))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@PLAINLY
@pytest.mark.parametrize("function", IN_ORDER)
def test_warnings_are_numpys(function: Callable[..., Any]) -> None:
    said: list[set[str]] = []
    for call in (weft.program(function), function):
        A, C = arguments(5, 5)
        A[1, 2], A[1, 3], C[3, 1] = 1e300, 1e300, 1e200
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(A, C)
        said.append({str(warning.message) for warning in caught})
    assert said[0] == said[1]
    assert said[0]


@PLAINLY
def test_rows_that_are_not_there_are_an_error() -> None:
    for call in (weft.program(triangle), triangle):
        A, C = arguments(4, 4)
        with pytest.raises(IndexError, match="index 2 is out of bounds"):
            call(A, C[:2])
        assert C[0, 0] == np.sum(A[:, 0] ** 2)
