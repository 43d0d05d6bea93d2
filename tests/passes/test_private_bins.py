"""Loops that add to bins in parts, those that do not, and that all give NumPy's results."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.passes.graphs import SITE, assert_same_outcomes, graph, words
from tests.passes.loops import body_text
from weft.driver import compiler
from weft.passes import private_bins
from weft.passes.private_bins import PrivateBins


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Parts for any number of turns and bins."""
    monkeypatch.setattr(private_bins, "_ENOUGH", 0)
    monkeypatch.setattr(private_bins, "_TURNS_A_BIN", 0)
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))


LOOP = """
  {SITE}
  for %i.10: py_int from 0 to %n.1 - 1 in 0:%n.1 {{
    tasklet {{
      %a.11: f8 = A[%i.10]
      %at.12: py_int in [0, 3] = minimum(cast(absolute(%a.11)): py_int, 3)
    }}
    %h.13: f8 = H[%at.12]
    %t.14: f8 = {sum}
    write H[%at.12] = %t.14
    continue
  }}
  return tuple(%n.1, H[:])
"""
BINS = "array H: f8[4] transient C"
FILLED = "alloc H site 0\n  map (%p.40: py_int) in [0:4] {\n    write H[%p.40] = -0.0:f8\n  }\n  for"


def loop(sum_: str = "add(%h.13, 2.0:f8) warn 0") -> Any:
    return graph(LOOP.format(SITE=SITE, sum=sum_).replace("for", FILLED, 1), BINS)


def test_a_loop_adds_up_in_parts(golden: Golden, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_bins, "_PARTS", 2)
    made, session = changed_once(loop())
    assert words(session, done=True) == ["the loop over i adds up in parts"]
    assert body_text(made) == golden
    assert_same_outcomes(loop(), made)


def changed_once(before: Any) -> Any:
    from weft.ir.verifier import verify
    from weft.passes.base import Session

    session = Session()
    made = PrivateBins().run(before, session)
    verify(made)
    return made, session


@pytest.mark.parametrize("other", ["subtract(%a.11, %h.13)", "add(%h.13, %h.13)", "multiply(%h.13, %a.11)"])
def test_other_loops_stay(other: str, small: None) -> None:
    before = loop(other)
    assert PrivateBins().run(before, changed_once(before)[1]) is before


def add_at(h, at, w):
    np.add.at(h, at, w)
    return h


def in_a_loop(h, at, w):
    for i in range(len(at)):
        h[at[i]] += w[i]
    return h


def backwards(h, at, w):
    for i in range(len(at) - 1, -1, -3):
        h[at[i]] = w[i] * 2 + h[at[i]]
    return h


def counted(h, at, w):
    found = np.zeros(len(h), dtype=np.int32)
    for i in at:
        found[i] += 1
    return found


def of_pairs(h, at, w):
    found = np.zeros((4, len(h)))
    for i in range(len(at)):
        found[i % 4, at[i]] += w[i]
    return found


def histogram(h, at, w):
    return np.histogram(w, 7)


def weighed(h, at, w):
    return np.histogram(w, 5, weights=w)


def twice_the_same(h, at, w):
    for i in range(len(at)):
        h[at[i]] += h[at[i]]
    return h


def of_what_it_adds_to(h, at, w):
    for i in range(1, len(h)):
        h[at[i]] += h[i - 1]
    return h


def looked_at(h, at, w):
    last = 0.0
    for i in range(len(at)):
        h[at[i]] += w[i]
        last = max(last, h[at[i]])
    return h, last


def of_the_largest(h, at, w):
    for i in range(len(at)):
        h[at[i]] = max(h[at[i]], w[i])
    return h


FUNCTIONS = (
    add_at, in_a_loop, backwards, counted, of_pairs, histogram, weighed, twice_the_same, of_what_it_adds_to, looked_at,
    of_the_largest,
)  # fmt: skip


def outcome(function: Callable[..., Any], *arguments: Any) -> tuple[Any, Any, set[str]]:
    given = [argument.copy() for argument in arguments]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(*given)
        except IndexError as error:
            found = str(error)
    return found, given, {str(warning.message) for warning in caught}


def check(function: Callable[..., Any], *arguments: Any) -> None:
    expected = outcome(function, *arguments)
    for threads in (1, 2):
        found = outcome(weft.program(function, fallback="error", threads=threads), *arguments)
        if isinstance(expected[0], str):
            assert found[0] == expected[0]
        else:
            for left, right in zip(
                *((x if isinstance(x, tuple) else (x,)) for x in (found[0], expected[0])), strict=True
            ):
                assert np.asarray(left).dtype == np.asarray(right).dtype
                np.testing.assert_allclose(left, right, rtol=1e-13 if np.asarray(right).dtype != np.float32 else 1e-5)
        np.testing.assert_allclose(found[1][0], expected[1][0], rtol=1e-5)
        assert found[2] == expected[2]


def numbers(count: int, bins: int, dtype: Any = np.float64) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(count)
    return rng.random(bins).astype(dtype), rng.integers(-bins, bins, count), (rng.random(count) * 9).astype(dtype)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_bins_hold_what_numpy_gives(function: Callable[..., Any], small: None) -> None:
    for count, bins in ((200, 5), (33, 33), (16, 3), (7, 2), (1, 1)):
        check(function, *numbers(count, bins))


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, np.complex128])
def test_bins_of_other_types(dtype: Any, small: None) -> None:
    for function in (add_at, in_a_loop, counted):
        check(function, *numbers(100, 6, dtype))


def test_an_index_out_of_bounds_leaves_what_python_leaves(small: None) -> None:
    h, at, w = numbers(100, 6)
    at[60] = 6
    check(in_a_loop, h, at, w)
    check(add_at, h, at, w)


def test_nothing_to_add_changes_no_zero(small: None) -> None:
    h, at, w = np.array([-0.0, 0.0, np.nan, np.inf]), np.zeros(0, int), np.zeros(0)
    found = weft.program(in_a_loop, fallback="error")(h, at, w)
    np.testing.assert_array_equal(np.signbit(found[:2]), [True, False])
    check(in_a_loop, np.array([-0.0, 0.0, np.nan, np.inf]), np.array([1, 1]), np.array([-0.0, -0.0]))


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e308])
def test_sums_warn_as_numpy_warns(value: float, small: None) -> None:
    h, at, w = numbers(64, 3)
    w[5] = w[50] = value
    at[5] = at[50] = 1
    check(in_a_loop, h, at, w)
    check(add_at, h, at, w)


def test_the_same_array_twice(small: None) -> None:
    at = np.array([1, 0, 2, 2, 1])

    def own(h, at):
        for i in range(len(at)):
            h[at[i]] += h[i]
        return h

    h = np.arange(5.0)
    np.testing.assert_array_equal(weft.program(own, fallback="error")(h.copy(), at), own(h.copy(), at))


def test_many_turns_run_in_parts_by_themselves() -> None:
    h, at, w = numbers(70_000, 50)
    program = weft.program(in_a_loop, fallback="error", threads=2)
    np.testing.assert_allclose(program(h.copy(), at, w), in_a_loop(h.copy(), at, w), rtol=1e-12)
    assert "bins" in program.inspect_graph("private-bins")
    alone = weft.program(in_a_loop, fallback="error", threads=1)
    np.testing.assert_array_equal(program(h.copy(), at, w), alone(h.copy(), at, w))


def test_a_second_compile_finds_the_same() -> None:
    """Expressions of the first one are still known, with values that are equal and not the same objects."""
    texts = [compiler.generate(counted_up, (np.arange(9) % 4, np.ones(9))).source for _ in range(2)]
    assert "bins" in texts[0]
    assert texts[0] == texts[1]


def counted_up(idx, w):
    h = np.zeros(4)
    for i in range(len(idx)):
        h[idx[i]] += w[i]
    return h
