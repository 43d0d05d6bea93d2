"""Numbers that are Python's before a loop and NumPy's in it."""

# ruff: noqa: PLR1730, SIM102

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.conftest import Golden
from tests.passes.loops import SIZES, assert_agrees, body_text, count, matrix, through, unguarded, vector
from weft.driver.compiler import lower
from weft.ir.nodes import Loop, Value
from weft.ir.traverse import all_nodes
from weft.passes.base import Session
from weft.passes.loop_reductions import LoopReductions
from weft.passes.loop_to_map import LoopToMap
from weft.passes.unify_carries import UnifyCarries


def total(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s


def test_a_sum_is_carried_as_one_number(golden: Golden) -> None:
    made, _ = through(unguarded(total, (vector(9),)), UnifyCarries())
    assert body_text(made) == golden
    for size in SIZES:
        assert_agrees(total, made, lambda size=size: (vector(size),))


def from_an_int(a):
    s = 0
    for i in range(len(a)):
        s = s - a[i]
    return s


def mean(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s / 4


def only_positive(a):
    s = 0.0
    for i in range(len(a)):
        if a[i] > 0:
            s += a[i]
    return s


def positive_and_large(a):
    s = 0.0
    for i in range(len(a)):
        if a[i] > 0:
            if a[i] > 3:
                s += a[i]
    return s


def largest(a):
    m = -np.inf
    for i in range(len(a)):
        m = max(m, a[i])
    return m


def smallest(a):
    m = 99.0
    for i in range(len(a)):
        if a[i] < m:
            m = a[i]
    return m


def two_sums(a):
    s, t = 0.0, 0
    for i in range(len(a)):
        s += a[i]
        t += a[i] * a[i]
    return s, t


def stored(a):
    for k in range(len(a)):
        s = 0.0
        for i in range(k):
            s += a[i] * 0
        a[k] = a[k] + s
    return a


def pythons_numbers(a):
    s = 0
    for i in range(len(a)):
        s += float(a[i])
    return s


def pythons_numbers_less_and_more(a):
    s, t, u = 0, -1, 3
    for i in range(len(a)):
        s -= float(a[i]) * 2
        t += float(a[i])
        u += abs(float(a[i]))
    return s, t, u


VECTORS = [
    (pythons_numbers, 0), (pythons_numbers_less_and_more, 0),
    (total, 0), (from_an_int, 0), (mean, 0), (only_positive, 0), (positive_and_large, 0), (largest, 0), (smallest, 0),
    (two_sums, 0), (stored, 1),
]  # fmt: skip


@pytest.mark.parametrize(("function", "loops"), VECTORS, ids=lambda f: getattr(f, "__name__", ""))
def test_becomes_a_reduction(function: Callable[..., Any], loops: int) -> None:
    made, _ = through(unguarded(function, (vector(9),)), UnifyCarries(), LoopReductions(), LoopToMap())
    assert count(made, Loop) == loops
    for size in (*SIZES, 9):
        assert_agrees(function, made, lambda size=size: (vector(size),))


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_types_promote_as_in_python(dtype: Any) -> None:
    made, _ = through(unguarded(total, (vector(9, dtype),)), UnifyCarries())
    for size in SIZES:
        assert_agrees(total, made, lambda size=size: (vector(size, dtype),))


@pytest.mark.parametrize("value", [np.nan, -0.0, -np.inf])
def test_special_numbers(value: float) -> None:
    for function in (total, largest, smallest, only_positive):
        made, _ = through(unguarded(function, (vector(9),)), UnifyCarries(), LoopReductions())
        assert_agrees(function, made, lambda: (np.array([value, 3.0, value, -1.0]),))
        assert_agrees(function, made, lambda: (np.array([value]),))


def whole(A):
    s = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s += A[i, j]
    return s


def below(A):
    s = 0.0
    for i in range(A.shape[0]):
        for j in range(i):
            s += A[i, j]
    return s


def by_rows(A):
    for i in range(A.shape[0]):
        s = 0.0
        for j in range(A.shape[1]):
            s += A[i, j]
        A[i, 0] = s


MATRICES = [(whole, 0), (below, 1), (by_rows, 0)]


@pytest.mark.parametrize(("function", "loops"), MATRICES, ids=lambda f: getattr(f, "__name__", ""))
def test_nests(function: Callable[..., Any], loops: int) -> None:
    made, _ = through(unguarded(function, (matrix(3, 3),)), UnifyCarries(), LoopReductions(), LoopToMap())
    assert count(made, Loop) == loops
    shapes = [(1, 1), (3, 3), (5, 5)] if function is by_rows else [(0, 0), (0, 3), (1, 1), (2, 2), (5, 5)]
    shapes += [(3, 0)] if function is whole else []
    for n, m in shapes:
        assert_agrees(function, made, lambda n=n, m=m: (matrix(n, m),))


# ---- what is carried as it was --------------------------------------------------------------------------------------


def reset(a):
    s = 1.0
    for i in range(len(a)):
        s += a[i]
        if s > 10:
            s = 0.0
    return s


def python_until_later(a):
    s = 1.0
    for i in range(len(a)):
        s = s * 2.0
        if a[i] > 3:
            s = a[i]
    return s


def other_arithmetic(a):
    s = 1
    for i in range(len(a)):
        s = s // 2 + a[i]
    return s


@pytest.mark.parametrize("function", [reset, python_until_later, other_arithmetic], ids=lambda f: f.__name__)
def test_stays_as_it_is(function: Callable[..., Any]) -> None:
    before = unguarded(function, (vector(9),))
    made, _ = through(before, UnifyCarries(), LoopReductions())
    assert tagged(made) == tagged(before) > 0
    for size in SIZES:
        assert_agrees(function, made, lambda size=size: (vector(size),))


def tagged(program: Any) -> int:
    targets = [c.target for node in all_nodes(program.body) if isinstance(node, Loop) for c in node.carries]
    return sum(isinstance(target, Value) and target.name == "s" for target in targets)


def guarded_sum(a, k):
    s = 0.0
    for i in range(k):
        s += a[i]
    return s


def test_sites_in_the_loop_show_the_number(golden: Golden) -> None:
    made, _ = through(lower(guarded_sum, (vector(9), 4)).program, UnifyCarries())
    assert body_text(made) == golden


def test_with_nothing_to_do_the_program_is_the_very_same() -> None:
    before = unguarded(by_rows, (matrix(3, 3),))
    made, _ = through(before, UnifyCarries())
    assert UnifyCarries().run(made, Session()) is made
