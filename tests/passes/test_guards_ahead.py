"""Loops with guards on data, which are looked at first, and those that need them where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.end_to_end.outcome import assert_same_outcome, run
from tests.passes.loops import body_text, reasons, through
from weft.driver.compiler import lower
from weft.ir.nodes import Branch, Guard, Loop, Program
from weft.ir.traverse import all_nodes
from weft.passes.gather_guards import GatherGuards
from weft.passes.guards_ahead import GuardsAhead
from weft.passes.hoist_guards import HoistGuards
from weft.passes.simplify import Simplify
from weft.passes.structure_continues import StructureContinues
from weft.passes.unify_carries import UnifyCarries

BEFORE = (Simplify(loop_sites=True), StructureContinues(), UnifyCarries(), HoistGuards(), GatherGuards())


def gather(x, idx, out):
    for i in range(idx.shape[0]):
        out[i] = x[idx[i]] * 2.0


def gather_twice(x, idx, out):
    for i in range(idx.shape[0]):
        out[i] = x[idx[idx[i]]] + 1.0


def in_another_order(x, idx, out):
    for i in range(idx.shape[0] - 1, -1, -2):
        w = x[idx[i] : idx[i] + 3] * 2.0
        out[i] = w.sum()


def floats_as_indices(x, idx, out):
    for i in range(idx.shape[0]):
        k = int(idx[i] / 2)
        out[i] = x[k] + x[k + 1]


def remainders(x, idx, out):
    for i in range(idx.shape[0]):
        out[i] = x[(7 * i) % idx[i]]


def now_and_then(x, idx, out):
    for i in range(idx.shape[0]):
        if idx[i] >= 0:
            out[i] = x[idx[i]]
        else:
            out[i] = -1.0


def early_ends_of_turns(x, idx, out):
    for i in range(idx.shape[0]):
        k = idx[i]
        if k > 5:
            continue
        out[i] = x[k]


def in_time(x, idx, out):
    for t in range(3):
        for i in range(idx.shape[0]):
            out[i] = x[idx[i]] * t


def counted(x, idx, out):
    table = np.zeros((idx.shape[0], x.shape[0]))
    for i in range(idx.shape[0]):
        for j in range(idx.shape[0]):
            table[i, idx[j]] += x[j % 3]
    return table


def a_range_from_data(x, idx, out):
    for i in range(idx.shape[0]):
        for j in range(idx[i]):
            out[i] += x[j]


def rows_of_indices(x, idx, out):
    table = np.zeros((idx.shape[0], 2), np.int64)
    for i in range(idx.shape[0]):
        table[i] = idx[i]
    for i in range(idx.shape[0]):
        out[i] = x[table[i]].sum()


def added_up(x, idx, out):
    total = 0.0
    for i in range(idx.shape[0]):
        total += x[idx[i]] * out[i]
    return total


def an_end_of_a_turn_in_front(x, idx, out):
    for i in range(idx.shape[0]):
        if idx[i] > 2:
            continue
        k = idx[idx[i]]
        out[i] = x[k]


def added_to_bins(x, idx, out):
    for i in range(idx.shape[0]):
        out[idx[i]] += x[0]


AHEAD = [
    added_to_bins,
    gather, gather_twice, in_another_order, floats_as_indices, remainders, now_and_then, early_ends_of_turns, in_time,
    counted, a_range_from_data, rows_of_indices, added_up,
]  # fmt: skip


def written_meanwhile(x, idx, out):
    for i in range(idx.shape[0]):
        out[i] = x[idx[i]]
        idx[i] = 0


def scattered(x, idx, out):
    for i in range(idx.shape[0]):
        out[idx[i]] -= x[0]


def until_found(x, idx, out):
    for i in range(idx.shape[0]):
        if idx[i] < 0:
            break
        out[i] = x[idx[i]]


def from_the_turn_before(x, idx, out):
    k = 0
    for i in range(idx.shape[0]):
        out[i] = x[k]
        k = idx[i]


def rows_between(x, idx, out):
    starts = np.arange(0, 2 * idx.shape[0] + 2, 2)
    for i in range(idx.shape[0]):
        out[i] = x[idx[starts[i] : starts[i + 1]]].sum()


def rows_in_data(x, idx, out):
    for i in range(1, idx.shape[0]):
        out[i] = x[idx[idx[0] : idx[i]]].sum() + 1.0


def indices_in_a_range_from_data(x, idx, out):
    for i in range(idx.shape[0]):
        for j in range(idx[i]):
            out[i] += x[idx[j]]


def from_here_to_there(x, idx, out):
    for i in range(idx.shape[0] - 1):
        total = 0.0
        for j in range(idx[i], idx[i + 1]):
            total += x[j] * out[idx[j]]
        out[i] = total


def sums_of_rows(x, idx, out):
    sums = np.zeros(out.shape[0])
    for i in range(idx.shape[0] - 1):
        for j in range(idx[i], idx[i + 1]):
            sums[i] += x[j] + x[idx[j]]
    return sums


def chosen_by_what_was_computed(x, idx, out):
    for i in range(1, idx.shape[0] - 1):
        near = idx[i - 1] + idx[i + 1]
        if near == 3 or (near == 2 and idx[i] == 1):
            out[i] = 1.0
        else:
            out[i] = x[0]


def chosen_in_triangles(x, idx, out):
    for i in range(idx.shape[0]):
        for j in range(i, idx.shape[0]):
            if idx[i] < idx[j] and idx[j] != 3 and (i > 1 or idx[i] == 0):
                out[j] = x[0]


VERSIONS = [
    chosen_by_what_was_computed,
    chosen_in_triangles,
    rows_between,
    rows_in_data,
    indices_in_a_range_from_data,
    sums_of_rows,
]

KEPT = [
    from_here_to_there,
    an_end_of_a_turn_in_front,
    written_meanwhile,
    scattered,
    until_found,
    from_the_turn_before,
]


def arguments(values: Sequence[int] = (0, 2, 1, 3, 1)) -> list[Any]:
    idx = np.array(values, dtype=np.int64)
    return [np.arange(4.0), idx, np.zeros(len(idx))]


def prepared(function: Callable[..., Any]) -> Program:
    assert isinstance(function, FunctionType)
    return through(lower(function, tuple(arguments())).program, *BEFORE)[0]


def guards_in_loops(program: Program) -> int:
    loops = [node for node in program.body.nodes if isinstance(node, Loop)]
    return sum(isinstance(node, Guard) for loop in loops for node in all_nodes(loop.body))


def test_all_turns_are_looked_at(golden: Golden) -> None:
    made, session = through(prepared(gather), GuardsAhead())
    assert reasons(session, done=True) == ["what the loop over i depends on is looked at in front of it"]
    assert body_text(made) == golden


def test_elements_that_guards_protect_are_read_behind_them(golden: Golden) -> None:
    assert body_text(through(prepared(gather_twice), GuardsAhead())[0]) == golden


@pytest.mark.parametrize("function", AHEAD)
def test_no_guard_is_left(function: Callable[..., Any]) -> None:
    before = prepared(function)
    assert guards_in_loops(before)
    made, _ = through(before, GuardsAhead())
    assert not guards_in_loops(made)
    assert GuardsAhead().run(made, through(made)[1]) is made


@pytest.mark.parametrize("function", KEPT)
def test_guards_that_stay(function: Callable[..., Any]) -> None:
    before = prepared(function)
    assert guards_in_loops(before)
    assert GuardsAhead().run(before, through(before)[1]) is before


@pytest.mark.parametrize("function", VERSIONS)
def test_no_guard_is_left_in_one_version(function: Callable[..., Any]) -> None:
    made, _ = through(prepared(function), GuardsAhead())
    (branch,) = [node for node in made.body.nodes if isinstance(node, Branch) and not node.results]
    assert not any(isinstance(node, Guard) for node in all_nodes(branch.then))
    assert any(isinstance(node, Guard) for node in all_nodes(branch.orelse))


def test_a_loop_stays_as_it_was_beside(golden: Golden) -> None:
    made, _ = through(prepared(rows_between), GuardsAhead())
    assert body_text(made) == golden


def test_elements_that_nobody_reads_may_be_anything() -> None:
    def rows(x, idx, starts, out):
        for i in range(starts.shape[0] - 1):
            out[i] = x[idx[starts[i] : starts[i + 1]]].sum()

    program = weft.program(rows, threads=2, fallback="error")
    for last in (3, 99, -5):

        def make(last: int = last) -> list[Any]:
            return [np.arange(4.0), np.array([0, 1, -4, 2, last]), np.array([0, 1, 1, 4]), np.zeros(3)]

        assert_same_outcome(run(program, make()), run(rows, make()), where=f"{last}")
    assert program.stats.resumes == 0


DATA = [
    (), (1,), (0, 2, 1, 3, 1), (0, -1, -4, 2), (0, 4, 1), (1, -5, 1), (2, 1, 10**18), (-(2**63), 1), (2, 0, 2**63 - 1),
    (3, 9, 2), (-1, -1, 7), (1, 0, 2),
]  # fmt: skip


@PLAINLY
@pytest.mark.parametrize("function", [*AHEAD, *VERSIONS, *KEPT])
def test_programs_agree(function: Callable[..., Any]) -> None:
    """Where an index is out of bounds, what the turns before have written is there, as in Python."""
    program = weft.program(function, threads=2, fallback="error")
    for values in DATA:
        assert_same_outcome(run(program, arguments(values)), run(function, arguments(values)), where=f"{values}")


@pytest.mark.parametrize("function", [chosen_by_what_was_computed, chosen_in_triangles])
def test_results_that_are_too_short_for_the_turns(function: Callable[..., Any]) -> None:
    program = weft.program(function, threads=2, fallback="error")
    for values in DATA:
        for missing in range(3):

            def make(values: Sequence[int] = values, missing: int = missing) -> list[Any]:
                x, idx, out = arguments(values)
                return [x[: 4 * (missing < 2)], idx, out[missing:]]

            assert_same_outcome(run(program, make()), run(function, make()), where=f"{values} {missing}")


@pytest.mark.parametrize("function", [gather, now_and_then, in_another_order])
def test_many_turns(function: Callable[..., Any]) -> None:
    def make(at: int, value: int) -> list[Any]:
        idx = np.random.default_rng(1).integers(0, 900, 100000)
        idx[at] = value
        return [np.linspace(0.0, 1.0, 1000), idx, np.zeros(100000)]

    program = weft.program(function, threads=2, fallback="error")
    for at, value in ((0, 1), (99999, -1000), (50000, 1000), (3, -1001)):
        assert_same_outcome(run(program, make(at, value)), run(function, make(at, value)), ulps=8.0)


def test_strides_and_types() -> None:
    program = weft.program(gather, fallback="error")
    for dtype in (np.int8, np.int32, np.uint8, np.uint64):

        def make(dtype: Any = dtype) -> list[Any]:
            return [np.arange(12.0)[::-3], np.array([0, 9, 1, 9, 3, 9], dtype)[::2], np.zeros(6)[1::2]]

        assert_same_outcome(run(program, make()), run(gather, make()), where=str(dtype))


def test_an_array_that_is_index_and_result() -> None:
    def make() -> list[Any]:
        idx = np.array([2, 0, 1])
        return [np.arange(4.0), idx, idx]

    assert_same_outcome(run(weft.program(gather, fallback="error"), make()), run(gather, make()))


def test_a_loop_that_does_not_run_reads_nothing() -> None:
    def often(x, idx, n, m, out):
        for _ in range(n):
            for i in range(m):
                out[i] = x[idx[i]]

    program = weft.program(often, fallback="error")
    for n, m in ((0, 9), (2, 0), (1, 3), (1, 9)):

        def make(n: int = n, m: int = m) -> list[Any]:
            return [np.arange(4.0), np.array([1, 0, 3]), n, m, np.zeros(3)]

        assert_same_outcome(run(program, make()), run(often, make()), where=f"{n}, {m}")
