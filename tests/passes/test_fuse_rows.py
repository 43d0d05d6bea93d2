"""Rows that are taken from reductions to maps and on, those that are not, and that all give NumPy's results."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.passes.graphs import SITE, assert_same_outcomes, changed, graph, words
from tests.passes.loops import body_text
from weft.passes import fuse_rows
from weft.passes.fuse_rows import FuseRows

GRAPH = """
  {SITE}
  guard greater_equal(1*%c.4, 1): b1 else site 0 "empty"
  alloc M site 0
  reduce maximum M[:] = P[:, :] axes (1)
  alloc T site 0
  map (%p.10: py_int, %q.11: py_int) in [0:%r.3, 0:%c.4] {{
    tasklet {{
      %a.12: f8 = P[%p.10, %q.11]
      %b.13: f8 = M[{row}]
      write T[%p.10, %q.11] = subtract(%a.12, %b.13)
    }}
  }}
  reduce add M[:] = elements at (%p.20: py_int, %q.21: py_int) over [%r.3, %c.4] {{
    %a.22: f8 = T[%p.20, %q.21]
    yield multiply(%a.22, %a.22)
  }} axes (1) initial 0.0:f8 warn 0
  map (%p.30: py_int, %q.31: py_int) in [0:%r.3, 0:%c.4] {{
    tasklet {{
      %a.32: f8 = T[%p.30, %q.31]
      %b.33: f8 = M[%p.30]
      write P[%p.30, %q.31] = add(%a.32, %b.33)
    }}
  }}
  return slot 2
"""
ARRAYS = ("array M: f8[%r.3] transient C", "array T: f8[%r.3, %c.4] transient C")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Rows of any length, of arrays of any size."""
    monkeypatch.setattr(fuse_rows, "_ELEMENTS", 0)
    monkeypatch.setattr(fuse_rows, "_SHORTEST", 0)
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))


def test_four_steps_are_one_map_over_rows(golden: Golden, small: None) -> None:
    before = graph(GRAPH.format(SITE=SITE, row="%p.10"), *ARRAYS)
    made, session = changed(FuseRows(), before)
    assert words(session, done=True) == ["4 steps go through memory row by row"]
    assert body_text(made) == golden
    assert_same_outcomes(before, made)


def test_rows_that_need_other_rows_stay(small: None) -> None:
    before = graph(GRAPH.format(SITE=SITE, row="%r.3 - 1 - %p.10"), *ARRAYS)
    made, session = changed(FuseRows(), before)
    assert "rows are not taken on: M is needed of other rows" in words(session, done=False)
    assert words(session, done=True) == ["2 steps go through memory row by row"]  # from the second reduction on
    assert_same_outcomes(before, made)


def softmax(x):
    w = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return w / np.sum(w, axis=-1, keepdims=True)


def normalized(x):
    return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)


def of_length_one(x):
    return x / np.sqrt((x**2).sum(axis=-1))[..., None]


def spread(x):
    low, high = x.min(axis=-1), x.max(axis=-1)
    return (x - low[..., None]) / (high - low)[..., None]


def in_place(x):
    x -= x.mean(axis=-1)[..., None]
    x /= abs(x).max(axis=-1)[..., None]


def in_turns(x):
    for _ in range(3):
        x = x / (1 + abs(x).sum(axis=-1, keepdims=True))
    return x


def by_the_row_before(x):
    return x - np.roll(x.max(axis=-1), 1, axis=0)[..., None]


def by_reversed_rows(x):
    return x * x.sum(axis=-1)[::-1][..., None]


def by_columns(x):
    return x - x.mean(axis=0)


def over_two_axes(x):
    return x - x.reshape(x.shape[0], -1).mean(axis=1).reshape(-1, *([1] * (x.ndim - 1)))


def of_a_part(x):
    x[:, 1:] -= x[:, :-1].max(axis=1)[:, None]
    return x


FUNCTIONS = (softmax, normalized, of_length_one, spread, in_place, in_turns, by_the_row_before, by_reversed_rows,
             by_columns, over_two_axes)  # fmt: skip


def outcome(function: Callable[..., Any], x: Any) -> tuple[Any, Any, list[str]]:
    given = x.copy(order="K")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(given)
        except ValueError as error:
            found = str(error)
    return found, given, sorted({str(warning.message) for warning in caught})


def check(function: Callable[..., Any], x: Any) -> None:
    expected = outcome(function, x)
    for threads in (1, 2):
        found = outcome(weft.program(function, fallback="error", threads=threads), x)
        eps = 64 * np.finfo(x.dtype if x.dtype.kind in "fc" else float).eps
        for left, right in zip(found[:2], expected[:2], strict=True):
            if isinstance(right, np.ndarray):
                assert (left.dtype, left.shape) == (right.dtype, right.shape)
                np.testing.assert_allclose(left, right, rtol=eps, atol=eps)
            else:
                assert left == right
        assert found[2] == expected[2]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_rows_give_what_numpy_gives(function: Callable[..., Any], small: None) -> None:
    x = np.random.default_rng(1).normal(size=(7, 33))
    for given in (x, x[:, ::-2], np.asfortranarray(x), x[:0], x[:1], x[:, :1], x.astype(np.float32)):
        check(function, given)


@pytest.mark.parametrize("function", [softmax, spread, of_length_one])
def test_rows_of_more_axes(function: Callable[..., Any], small: None) -> None:
    check(function, np.random.default_rng(2).normal(size=(3, 4, 5, 40)))
    check(function, np.random.default_rng(2).normal(size=(3, 0, 5)))


def test_what_one_step_writes_and_another_reads_of_the_row(small: None) -> None:
    check(of_a_part, np.random.default_rng(3).normal(size=(9, 12)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, 0.0])
@pytest.mark.parametrize("function", [softmax, normalized, spread])
def test_rows_warn_as_numpy_warns(function: Callable[..., Any], value: float, small: None) -> None:
    x = np.random.default_rng(4).normal(size=(6, 40))
    x[2] = value
    x[4, 5] = value
    check(function, x)


def test_large_arrays_go_row_by_row_by_themselves() -> None:
    program = weft.program(softmax, fallback="error")
    x = np.random.default_rng(5).random((20000, 110))
    np.testing.assert_allclose(program(x), softmax(x), rtol=1e-13)
    regions = program.stats.parallel_regions
    program(x)
    assert program.stats.parallel_regions - regions == 1
    assert "%row" in program.inspect_graph("fuse-rows")


def test_it_can_be_left_out() -> None:
    program = weft.program(softmax, fallback="error", without=("fuse-rows",))
    program(np.ones((3, 4)))
    assert "%row" not in program.inspect_graph()
