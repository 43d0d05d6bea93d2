"""Arrays that are computed of themselves turned round are updated in place, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.end_to_end.outcome import assert_same_outcome, run
from tests.passes.graphs import SITE, assert_same_outcomes, changed, graph, shown, words
from weft.ir.nodes import Program
from weft.passes.mirror_pairs import MirrorPairs


def update(other: str = "%n.1 - 1 - %p.20", stop: str = "%n.1", back: str = "%p.30") -> Program:
    """A of itself by way of T."""
    body = f"""\
  {SITE}
  alloc T site 0
  map (%p.20: py_int) in [0:{stop}] {{
    tasklet {{
      %x.21: f8 = A[%p.20]
      %y.22: f8 = A[{other}]
      %s.23: f8 = multiply(%y.22, 3.0:f8)
      write T[%p.20] = subtract(%x.21, %s.23)
    }}
  }}
  map (%p.30: py_int) in [0:{stop}] {{
    tasklet {{
      %t.40: f8 = T[{back}]
      write A[%p.30] = %t.40
    }}
  }}
  return missing"""
    return graph(body, "array T: f8[%n.1] transient C")


def test_an_element_and_its_mirror_image_are_computed_together(golden: Golden) -> None:
    before = update()
    made, session = changed(MirrorPairs(), before)
    assert words(session, done=True) == ["A is updated in place, each element with its mirror image"]
    assert_same_outcomes(before, made)
    assert shown(made) == golden


STAYING = [
    ("always the first", {"other": "0"}),
    ("the next", {"other": "%p.20 + 1", "stop": "%n.1 - 1"}),
    ("turned round about another place", {"stop": "%n.1 - 1"}),
    ("turned round once more", {"back": "%n.1 - 1 - %p.30"}),
]


@pytest.mark.parametrize("changes", [case[1] for case in STAYING], ids=[case[0] for case in STAYING])
def test_what_needs_other_elements_stays(changes: dict[str, str]) -> None:
    before = update(**changes)
    assert changed(MirrorPairs(), before)[0] is before


# ---- compiled -------------------------------------------------------------------------------------------------------


def levinson(y, a):
    for k in range(1, len(y)):
        y[:k] += a[k] * y[k - 1 :: -1]
        y[k] = a[k]
    return y


def by_assignment(y, a):
    y[:] = y[:] - 0.5 * y[::-1]


def by_flip(y, a):
    y += np.flip(y) * a[0]


def symmetric(y, a):
    y[:] = (y + y[::-1]) / 2


def turned(y, a):
    y[:] = y[::-1]


def a_part(y, a):
    y[1:-1] = y[1:-1] * 2 + y[-2:0:-1]


def with_another(y, a):
    y[:] = a * y[::-1] + a[::-1] * y


def with_conditions(y, a):
    y[:] = np.where(y > y[::-1], y, a)


def shifted(y, a):
    y[:-1] += y[:0:-1]


def not_quite_turned(y, a):
    y[:-1] += y[1:][::-1]


FUNCTIONS = [levinson, by_assignment, by_flip, symmetric, turned, a_part, with_another, with_conditions, shifted,
             not_quite_turned]  # fmt: skip
PAIRED = [levinson, by_assignment, by_flip, symmetric, turned, with_another, with_conditions]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_it_is_what_numpy_computes(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    rng = np.random.default_rng(0)
    for size in (*range(3, 20), 64, 257, 1000, 1001):
        for dtype in (np.float64, np.float32, np.complex128):
            y, a = ((rng.random(size) + 0.5).astype(dtype) for _ in range(2))
            if function is with_conditions and dtype is np.complex128:
                continue
            ours, expected = run(program, [y.copy(), a]), run(function, [y, a])
            assert_same_outcome(ours, expected, where=f"{size}, {dtype}")


@pytest.mark.parametrize("function", PAIRED, ids=lambda f: f.__name__)
def test_it_is_done_in_pairs(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    program(np.ones(9), np.ones(9))
    assert "is updated in place, each element with its mirror image" in str(program.explain())


@pytest.mark.parametrize("function", [by_assignment, symmetric, with_another, a_part], ids=lambda f: f.__name__)
def test_arrays_of_any_layout_and_shared_ones_are_updated(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    whole = np.random.default_rng(0).random(90)
    for take in (lambda x: x[::2], lambda x: x[::-1], lambda x: x[5:30]):
        first, second = whole.copy(), whole.copy()
        assert_same_outcome(run(program, [take(first), take(whole)]), run(function, [take(second), take(whole)]))
    for other in (slice(None), slice(None, None, -1)):
        first, second = whole.copy(), whole.copy()
        assert_same_outcome(run(program, [first, first[other]]), run(function, [second, second[other]]))


def rows(y, a):
    y[:, :] = y + a * y[:, ::-1]


def columns(y, a):
    y[:, :] = y + a * y[::-1]


def both(y, a):
    y[:, :] = y + a * y[::-1, ::-1]


@pytest.mark.parametrize("function", [rows, columns, both], ids=lambda f: f.__name__)
@pytest.mark.parametrize("threads", [1, 3])
def test_images_are_turned_round_along_one_axis(function: Callable[..., Any], threads: int) -> None:
    program = weft.program(function, threads=threads)
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (2, 3), (5, 4), (7, 300), (200, 151)):
        y, a = rng.random(shape), rng.random(shape)
        assert_same_outcome(run(program, [y.copy(), a]), run(function, [y, a]), where=f"{shape}")


@pytest.mark.filterwarnings("ignore")
def test_warnings_are_numpys() -> None:
    program = weft.program(by_flip)
    for place in (0, 250, 500, 999):
        for value in (1e308, np.inf, np.nan):
            y = np.ones(1000)
            y[place] = value
            ours, expected = run(program, [y.copy(), np.full(3, 10.0)]), run(by_flip, [y, np.full(3, 10.0)])
            assert_same_outcome(ours, expected, where=f"{place}, {value}")
