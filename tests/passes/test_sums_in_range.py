"""Sums of NumPy's integers: reductions where no sum can overflow, and what NumPy says where one does."""

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
from tests.passes.loops import body_text, count, reasons, through
from weft.driver.compiler import lower
from weft.ir.nodes import Branch, Reduce
from weft.ir.traverse import all_nodes
from weft.passes.dead_code import DropDeadCode
from weft.passes.gather_guards import GatherGuards
from weft.passes.guards_ahead import GuardsAhead
from weft.passes.hoist_guards import HoistGuards
from weft.passes.loop_reductions import LoopReductions
from weft.passes.simplify import Simplify
from weft.passes.structure_continues import StructureContinues
from weft.passes.sums_in_range import SumsInRange
from weft.passes.unify_carries import UnifyCarries

BEFORE = (
    Simplify(loop_sites=True), StructureContinues(), UnifyCarries(), HoistGuards(), GatherGuards(), GuardsAhead(),
    DropDeadCode(loop_sites=True),
)  # fmt: skip


def total(a, b, m):
    s = 0
    for i in range(len(a)):
        s += a[i]
    return s


def from_a_number(a, b, m):
    s = m[0, 0]
    for i in range(len(a)):
        s += a[i]
    return s


def products(a, b, m):
    s = 0
    for i in range(len(a)):
        s += a[i] * b[i]
    return s


def differences(a, b, m):
    s = 0
    for i in range(len(a)):
        s -= abs(a[i] - b[i])
    return s


def weighted_by_place(a, b, m):
    s = 0
    for i in range(len(a)):
        s += a[i] * (2 * i - 3)
    return s


def some(a, b, m):
    s, k = 0, 0
    for i in range(len(a)):
        if a[i] > b[i]:
            s += a[i]
        else:
            k -= b[i]
    return s, k


def of_rows_and_columns(a, b, m):
    s = 0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s += m[i, j]
    return s


def below_the_diagonal(a, b, m):
    s = 0
    for i in range(min(m.shape)):
        for j in range(i):
            s += m[i, j]
    return s


def rows(a, b, m):
    for i in range(min(len(a), m.shape[0])):
        for j in range(m.shape[1]):
            a[i] += m[i, j]


def matrix_times_itself(a, b, m):
    n = min(m.shape)
    c = np.zeros((n, n), m.dtype)
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i, j] += m[i, k] * m[k, j]
    return c


def one_after_the_other(a, b, m):
    s = 0
    for i in range(len(a)):
        s += a[i]
    for i in range(len(a)):
        s += b[i] - 1
    return s


GAINING = [
    total, from_a_number, products, differences, weighted_by_place, some, of_rows_and_columns, below_the_diagonal, rows,
    matrix_times_itself, one_after_the_other,
]  # fmt: skip


def running(a, b, m):
    s = 0
    for i in range(len(a)):
        s += a[i]
        b[i] = s


def polynomial(a, b, m):
    s = 0
    for i in range(len(a)):
        s = s * 3 + a[i]
    return s


def in_arrays(a, b, m):
    return a + b, a.sum()


def window(a, b, m):
    for i in range(1, m.shape[0] - 1):
        s = 0
        for u in range(3):
            s += m[i + u - 1, 0]
        m[i, 0] = s // 3


def until(a, b, m):
    s = 0
    for i in range(len(a)):
        s += a[i]
        if s > 100:
            break
    return s


KEPT = [running, polynomial, in_arrays, window, until]


def arguments(dtype: Any = np.int64, scale: int = 1) -> list[Any]:
    rng = np.random.default_rng(3)
    limits = np.iinfo(dtype)
    low, high = max(-5 * scale, int(limits.min)), min(6 * scale, int(limits.max))
    a, b, m = (rng.integers(low, high, shape, dtype, endpoint=True) for shape in (7, 7, (5, 4)))
    return [a, b, m]


def prepared(function: Callable[..., Any]) -> Any:
    assert isinstance(function, FunctionType)
    return through(lower(function, tuple(arguments())).program, *BEFORE)[0]


def test_before_and_after(golden: Golden) -> None:
    made, session = through(prepared(total), SumsInRange())
    assert reasons(session, done=True) == ["the loop over i needs no look for overflows where numbers are small"]
    assert body_text(made) == golden


def test_an_array_that_grows(golden: Golden) -> None:
    assert body_text(through(prepared(rows), SumsInRange())[0]) == golden


@pytest.mark.parametrize("function", GAINING)
def test_becomes_a_reduction(function: Callable[..., Any]) -> None:
    made, _ = through(prepared(function), SumsInRange())
    (branch, *_) = [n for n in made.body.nodes if isinstance(n, Branch) and any(x.warn >= 0 for x in _lets(n.orelse))]
    assert not any(let.warn >= 0 for let in _lets(branch.then))
    added = count(through(made, LoopReductions())[0], Reduce) - count(made, Reduce)
    assert added >= 1


def _lets(region: Any) -> list[Any]:
    return [let for node in all_nodes(region) for let in getattr(node, "lets", ())]


@pytest.mark.parametrize("function", KEPT)
def test_stays_as_it_is(function: Callable[..., Any]) -> None:
    before = prepared(function)
    assert SumsInRange().run(before, through(before)[1]) is before


@PLAINLY
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("function", [*GAINING, *KEPT])
def test_programs_agree(function: Callable[..., Any], dtype: str) -> None:
    """Warnings too: of sums that fit, that overflow on the way, and that come back."""
    program = weft.program(function, threads=2)
    limits = np.iinfo(dtype)
    root = int(limits.max**0.5)
    for scale in (1, 4, 20, root // 4, root, limits.max // 40, limits.max // 3, limits.max):

        def make(scale: int = scale) -> list[Any]:
            return arguments(dtype, scale)

        assert_same_outcome(run(program, make()), run(function, make()), where=f"{scale}")


@pytest.mark.parametrize("first", [0, 1])
def test_an_overflow_that_goes_back(first: int) -> None:
    """The sum of all fits, that of the first two does not."""
    program = weft.program(total, fallback="error")

    def make() -> list[Any]:
        top = np.iinfo(np.int64).max
        return [np.array([top - first, 1, -5, 3, -top]), np.zeros(1, np.int64), np.zeros((1, 1), np.int64)]

    outcome = run(total, make())
    assert_same_outcome(run(program, make()), outcome)


@pytest.mark.parametrize("function", [total, products, of_rows_and_columns, rows, below_the_diagonal])
def test_empty_arrays_and_steps(function: Callable[..., Any]) -> None:
    program = weft.program(function, fallback="error")
    for size in (0, 1, 9):

        def make(size: int = size) -> list[Any]:
            a = np.arange(4 * size)
            return [a[::-2][:size], a[1::3][:size], np.arange(36).reshape(6, 6)[: 2 * size : 2, ::-1]]

        assert_same_outcome(run(program, make()), run(function, make()), where=str(size))
