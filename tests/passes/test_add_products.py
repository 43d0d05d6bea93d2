"""Loops that add up products in the elements of a matrix, which the library makes, and those that stay."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.passes.graphs import SITE, assert_same_outcomes, graph, shown
from weft.interp import interpret
from weft.passes.add_products import AddProducts
from weft.passes.base import Session

NEST = f"""
  {SITE}
  alloc T site 0
  map (%a.20: py_int, %b.21: py_int) in [0:%r.3, 0:%r.3] {{
    write T[%a.20, %b.21] = 1.0:f8
  }}
  for %k.32: py_int from 0 to %c.4 - 1 in 0:%c.4 {{
    map (%i.30: py_int, %j.31: py_int) in [0:%r.3, 0:%r.3] {{
      %t.33: f8 = T[%i.30, %j.31]
      %p.34: f8 = P[%i.30, %k.32]
      %q.35: f8 = P[%j.31, %k.32]
      %u.36: f8 = multiply(multiply(%p.34, cast(%x.6): f8): f8, %q.35) warn 1
      %s.37: f8 = add(%t.33, %u.36) warn 0
      write T[%i.30, %j.31] = %s.37
    }}
    continue
  }}
  return T[:, :]
"""
T = "array T: f8[%r.3, %r.3] transient C"


def test_loops_that_add_up_products_are_a_product(golden: Golden) -> None:
    before = graph(NEST, T)
    made = AddProducts().run(before, Session())
    assert_same_outcomes(before, made)
    p = np.random.default_rng(4).uniform(-1, 1, (9, 8))
    for x in (2.5, 0.0, np.inf, 1e300):
        given: list[Any] = [np.ones(2), np.ones(2), p, 3, x]
        outcomes: list[Any] = [interpret(program, given) for program in (before, made)]
        np.testing.assert_allclose(outcomes[1].value, outcomes[0].value, rtol=1e-14)
    assert shown(made) == golden


SCALED = NEST.replace(
    "  for %k",
    """  map (%d.22: py_int) in [0:%r.3] {
    write T[%d.22, 0] = 2.0:f8
    for %k""",
).replace("map (%i.30: py_int, %j.31: py_int) in [0:%r.3, 0:%r.3]", "map (%j.31: py_int) in [0:%r.3]")
PARTS = SCALED.replace("%i.30", "%d.22").replace("  return", "    write T[%d.22, 0] = 3.0:f8\n  }\n  return")


def test_what_stands_around_a_nest_in_a_map_is_done_for_all_points(golden: Golden) -> None:
    before = graph(PARTS, T)
    made = AddProducts().run(before, Session())
    assert_same_outcomes(before, made)
    assert shown(made) == golden


TURNS = NEST.replace(
    "    map (%i.30",
    """    site 1 f0@(0) {A: slot 0, B: slot 1, P: slot 2, k: %k.5, x: %x.6}
    alloc U site 1
    map (%h.40: py_int) in [0:%r.3] warn 1 {
      %e.41: f8 = P[%h.40, %k.32]
      write U[%h.40, 0] = multiply(%e.41, 3.0:f8)
    }
    map (%i.30""",
).replace("%p.34: f8 = P[%i.30, %k.32]", "%p.34: f8 = U[%i.30, 0]")
U = "array U: f8[%r.3, 1] transient C"


def test_what_a_turn_computes_in_memory_of_its_own_is_looked_through(golden: Golden) -> None:
    before = graph(TURNS, T, U)
    made = AddProducts().run(before, Session())
    assert_same_outcomes(before, made)
    given: list[Any] = [np.ones(2), np.ones(2), np.random.default_rng(4).uniform(-1, 1, (9, 8)), 3, 2.5]
    outcomes: list[Any] = [interpret(program, given) for program in (before, made)]
    np.testing.assert_allclose(outcomes[1].value, outcomes[0].value, rtol=1e-14)
    assert shown(made) == golden


TURNS_STAY = {
    "read twice": TURNS.replace("%q.35: f8 = P[%j.31, %k.32]", "%q.35: f8 = U[%j.31, 0]"),
    "a sum": TURNS.replace("multiply(%e.41, 3.0:f8)", "add(%e.41, 3.0:f8)"),
    "an element that moves": TURNS.replace("P[%h.40, %k.32]", "T[%h.40, %k.32]"),
    "something that may leave": TURNS.replace(
        "    alloc U", '    guard greater(%k.32, -1) else site 1 "no"\n    alloc U'
    ),
}


@pytest.mark.parametrize("text", TURNS_STAY.values(), ids=TURNS_STAY.keys())
def test_turns_that_stay(text: str) -> None:
    before = graph(text, T, U)
    assert AddProducts().run(before, Session()) is before


STAYS = {
    "a quotient": NEST.replace("multiply(multiply(", "divide(multiply("),
    "the largest": NEST.replace("add(%t", "maximum(%t"),
    "another element": NEST.replace("%t.33: f8 = T[%i.30, %j.31]", "%t.33: f8 = T[%j.31, %i.30]"),
    "a product added to": NEST.replace("%q.35: f8 = P[%j.31, %k.32]", "%q.35: f8 = T[%k.32, %j.31]"),
    "a diagonal": NEST.replace("T[%i.30, %j.31]", "T[%i.30, %i.30]").replace("P[%j.31,", "P[%i.30,"),
    "a band": NEST.replace("T[%i.30, %j.31]", "T[%i.30 + %j.31, 0]"),
    "a triangle": NEST.replace("in [0:%r.3, 0:%r.3] {\n      %t", "in [0:%k.32, 0:%k.32] {\n      %t"),
    "every second": NEST.replace("in 0:%c.4 {", "in 0:%c.4:2 {"),
    "what was added to, reversed": NEST.replace("add(%t.33, %u.36)", "subtract(%u.36, %t.33)"),
    "two writes": NEST.replace("  write T[%i.30, %j.31] = %s.37", "  write T[%i.30, %j.31] = %s.37\n"
                               "      write P[%i.30, %k.32] = 1.0:f8"),
}  # fmt: skip


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS.keys())
def test_loops_that_stay(text: str) -> None:
    before = graph(text, T)
    assert AddProducts().run(before, Session()) is before


def row_column_term(x, a, b, c):
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += x * a[i, k] * b[k, j]


def term_outermost(x, a, b, c):
    for k in range(a.shape[1]):
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                c[i, j] -= a[i, k] * x * b[k, j]


def rows(x, a, b, c):
    for i in range(c.shape[0]):
        c[i, :] *= 0.5
        for k in range(a.shape[1]):
            c[i, :] += x * a[i, k] * b[k, :]


def scaled_rows(x, a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] *= x
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def outer(x, a, b, c):
    for k in range(a.shape[1]):
        c += a[:, k, None] * b[None, k, :]


def part(x, a, b, c):
    for k in range(1, a.shape[1]):
        for i in range(2, c.shape[0]):
            for j in range(c.shape[1] - 1):
                c[i, c.shape[1] - 1 - j] += b[k, j] * a[i - 1, k - 1] * -x


def outer_scaled(x, a, b, c):
    for k in range(a.shape[1]):
        c += x * a[:, k, None] * b[None, k, :]


def outer_rows(x, a, b, c):
    for k in range(a.shape[1]):
        c -= np.outer(a[:, k], x * b[k])


def transposed(x, a, b, c):
    for k in range(a.shape[1]):
        for j in range(c.shape[1]):
            for i in range(c.shape[0]):
                c.T[j, i] += b[k, j] * a[i, k]


ALL = [row_column_term, term_outermost, rows, scaled_rows, outer, outer_scaled, outer_rows, part, transposed]
SHAPES = [(20, 30, 25), (8, 8, 8), (7, 9, 9), (12, 9, 1), (1, 40, 1), (3, 2, 0), (3, 0, 2), (10, 12, 30)]


def outcome(version: Callable[..., Any], x: Any, *arrays: Any) -> tuple[Any, set[str]]:
    given = [array.copy(order="K") for array in arrays]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        version(x, *given)
    return given[-1], {str(item.message) for item in caught if item.category is RuntimeWarning}


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize("dtype", ["f8", "f4", "c8", "i8"])
def test_results_are_numpys(function: Callable[..., Any], dtype: str) -> None:
    if dtype == "i8" and function is rows:
        pytest.skip("NumPy does not put halves into integers")
    rng = np.random.default_rng(8)
    compiled = weft.program(function, fallback="error")
    type_: Any = np.dtype(dtype).type
    for m, l, n in SHAPES:  # noqa: E741
        a, b, c = ((10 * rng.uniform(-1, 1, size)).astype(dtype) for size in ((m, l), (l, n), (m, n)))
        if dtype == "c8":
            a, b = a * type_(1 + 2j), b * type_(2 - 1j)
        error = 0.0 if dtype == "i8" else 4 * max(l, 1) * float(np.finfo(type_).eps)
        for given in ((a, b, c), (a.T.copy().T, b, c), (a, b, c.T.copy().T), (a[::-1], b[:, ::-1], c)):
            wanted, made = outcome(function, type_(3), *given), outcome(compiled, type_(3), *given)
            assert made[0].dtype == wanted[0].dtype
            np.testing.assert_allclose(made[0], wanted[0], rtol=error, atol=error * 2000)


@pytest.mark.parametrize("function", [row_column_term, rows, term_outermost, outer_scaled])
@pytest.mark.parametrize("x", [0.0, -0.0, np.inf, np.nan, 1e-320, 1e308, -1e300, 3.0])
def test_what_a_number_does_to_what_is_not_finite(function: Callable[..., Any], x: float) -> None:
    compiled = weft.program(function, fallback="error")
    rng = np.random.default_rng(3)
    for bad in (1.0, np.inf, np.nan, 1e300, 1e-300):
        a, b, c = (rng.uniform(-1, 1, shape) for shape in ((12, 10), (10, 11), (12, 11)))
        a[3, 4], b[4, 2], c[1, 1] = bad, bad, bad
        wanted, made = outcome(function, x, a, b, c), outcome(compiled, x, a, b, c)
        np.testing.assert_allclose(made[0], wanted[0], rtol=1e-13, atol=abs(x) * 1e-14 if np.isfinite(x) else 0)
        assert made[1] == wanted[1]


def test_a_number_that_makes_factors_overflow_is_told() -> None:
    a, b, c = np.full((12, 10), 1e308), np.zeros((10, 11)), np.zeros((12, 11))
    compiled = weft.program(row_column_term, fallback="error")
    wanted, made = outcome(row_column_term, 2.0, a, b, c), outcome(compiled, 2.0, a, b, c)
    np.testing.assert_array_equal(made[0], wanted[0])
    assert np.isnan(made[0]).all()
    assert made[1] == wanted[1] != set()


def large_literal(x, a, b, c):
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += 1e300 * a[i, k] * b[k, j]


def two_numbers(x, a, b, c):
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += (x * a[i, k]) * (1 / x * b[k, j])


@pytest.mark.parametrize("function", [large_literal, two_numbers])
@pytest.mark.parametrize("x", [1e200, 1e-200, 2.0])
def test_each_number_counts_that_products_are_scaled_by(function: Callable[..., Any], x: float) -> None:
    compiled = weft.program(function, fallback="error")
    rng = np.random.default_rng(3)
    for size in (1.0, 1e150, 1e-150):
        a, b, c = (rng.uniform(-1, 1, shape) * size for shape in ((12, 10), (10, 11), (12, 11)))
        wanted, made = outcome(function, x, a, b / size, c), outcome(compiled, x, a, b / size, c)
        np.testing.assert_allclose(made[0], wanted[0], rtol=1e-12, atol=1e-14 * size)
        assert made[1] == wanted[1]


def test_sums_that_only_the_start_makes_overflow_are_told() -> None:
    a, b, c = np.full((12, 10), 1e153), np.full((10, 11), 1e153), np.full((12, 11), 1.79e308)
    compiled = weft.program(row_column_term, fallback="error")
    wanted, made = outcome(row_column_term, 100.0, a, b, c), outcome(compiled, 100.0, a, b, c)
    np.testing.assert_array_equal(made[0], wanted[0])
    assert made[1] == wanted[1] != set()


@pytest.mark.parametrize("function", [row_column_term, rows, outer, outer_scaled])
def test_arrays_that_are_one(function: Callable[..., Any]) -> None:
    compiled = weft.program(function, fallback="error")
    a = np.random.default_rng(3).uniform(-0.1, 0.1, (12, 12))
    for places in ((0, 1, 0), (0, 1, 1), (0, 0, 1), (0, 0, 0)):
        results: list[Any] = []
        for version in (function, compiled):
            memory = [a.copy(), a.T.copy()]
            version(1.5, *(memory[place] for place in places))
            results.append(memory[places[2]])
        np.testing.assert_allclose(results[1], results[0], rtol=1e-12)


def test_the_library_is_called() -> None:
    arrays = (np.ones((20, 20)), np.ones((20, 20)), np.ones((20, 20)))
    for function in ALL:
        for without, found in (((), True), (("add-products", "contractions"), False)):
            compiled = weft.program(function, fallback="error", without=without)
            compiled(2.0, *arrays)
            assert ("matmul add" in compiled.inspect_graph("schedule-maps")) is found, function
