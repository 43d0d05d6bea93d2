"""Sums of products that the library makes, and those that stay sums."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.graphs import SITE, assert_same_outcomes, graph, shown
from weft.interp import interpret
from weft.passes.base import Session
from weft.passes.contractions import Contractions

ROW, COLUMN = ("py_int in [0, _] from 0 to %r.3 - 1", "py_int in [0, _] from 0 to %c.4 - 1")
PRODUCT = f"""
  {SITE}
  alloc T site 0
  reduce add T[:, :] = elements at (%i.30: {ROW}, %j.31: {ROW}, %k.32: {COLUMN}) over [%r.3, %r.3, %c.4] {{
    tasklet {{
      %p.33: f8 = P[%i.30, %k.32]
      %q.34: f8 = P[%j.31, %k.32]
      %t.35: f8 = multiply(%p.33, %q.34) warn 1
    }}
    yield %t.35
  }} axes (2) initial 0.0:f8 warn 0
  return T[:, :]
"""
T = "array T: f8[%r.3, %r.3] transient C"


def test_a_sum_of_products_is_a_product(golden: Golden) -> None:
    before = graph(PRODUCT, T)
    made, _ = changed_once(before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden


def test_numbers_are_multiplied_by_the_library(golden: Golden) -> None:
    term = "multiply(multiply(cast(%x.6): f8, negative(%p.33): f8): f8, multiply(2.0:f8, %q.34): f8)"
    before = graph(PRODUCT.replace("multiply(%p.33, %q.34)", term), T)
    made, _ = changed_once(before)
    assert_same_outcomes(before, made)
    p = np.random.default_rng(4).uniform(-1, 1, (9, 8))
    for x in (2.5, 0.0, np.inf, 1e300):
        given: list[Any] = [np.ones(2), np.ones(2), p, 3, x]
        outcomes: list[Any] = [interpret(program, given) for program in (before, made)]
        np.testing.assert_allclose(outcomes[1].value, outcomes[0].value, rtol=1e-14)
    assert shown(made) == golden


def changed_once(before: Any) -> tuple[Any, Session]:
    """What the pass makes of a graph; the sum in it stays, for results that are not finite."""
    session = Session()
    made = Contractions().run(before, session)
    return made, session


STAYS = {
    "a sum of sums": PRODUCT.replace("multiply(", "add("),
    "a square": PRODUCT.replace("multiply(%p.33, %q.34)", "multiply(%p.33, %p.33)").replace(
        "      %q.34: f8 = P[%j.31, %k.32]\n", ""
    ),
    "the largest product": PRODUCT.replace("reduce add", "reduce maximum").replace(
        "initial 0.0:f8", "initial -inf:f8"
    ),
    "a start": PRODUCT.replace("initial 0.0:f8", "initial 1.0:f8"),
    "three elements": PRODUCT.replace("multiply(%p.33, %q.34)", "multiply(%p.33, multiply(%p.33, %q.34): f8)"),
    "something else beside it": PRODUCT.replace("%t.35: f8", "%u.36: f8 = add(%p.33, 1.0:f8) warn 0\n      %t.35: f8"),
    "a factor that differs": PRODUCT.replace("multiply(%p.33,", "multiply(multiply(%p.33, cast(1*%k.32): f8): f8,"),
    "a diagonal": PRODUCT.replace("P[%j.31, %k.32]", "P[%i.30, %k.32]"),
}  # fmt: skip


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS.keys())
def test_sums_that_stay(text: str) -> None:
    before = graph(text, T)
    assert Contractions().run(before, Session()) is before


def broadcast(a, b):
    return np.sum(a[:, :, None] * b[None], axis=1)


def loops(a, b):
    c = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def dots(a, b):
    c = np.empty((a.shape[0], b.shape[1]), a.dtype)
    for j in range(b.shape[1]):
        for i in range(a.shape[0]):
            c[i, j] = np.dot(a[i], b[:, j])
    return c


def of_one(a, b):
    return np.sum(a[:, None, :] * a[None, :, :], axis=2) + b[0, 0]


def batch(a, b):
    both = np.stack((a, 2 * a))
    return np.sum(both[:, :, :, None] * b[None, None], axis=2)


def every_second(a, b):
    return np.sum(a[::-2, :, None] * b[None, :, ::3], axis=1)


def scaled(a, b):
    x = a.dtype.type(3)
    c = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] -= x * a[i, k] * b[k, j]
    return c


ALL = [broadcast, loops, dots, of_one, batch, every_second, scaled]


@PLAINLY
@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize("shape", [(20, 30, 25), (8, 8, 8), (7, 9, 9), (1, 40, 1), (3, 2, 0), (3, 0, 2), (9, 12, 30)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
def test_products_are_numpys(function: Callable[..., Any], shape: tuple[int, int, int], dtype: Any) -> None:
    rows, inner, columns = shape
    rng = np.random.default_rng(8)
    a, b = ((10 * rng.uniform(-1, 1, size)).astype(dtype) for size in ((rows, inner), (inner, columns)))
    if dtype is np.complex128:
        a, b = a * (1 + 2j), b * (2 - 1j)
    compiled = weft.program(function, fallback="error")
    try:
        wanted = function(a, b)
    except (ValueError, IndexError) as problem:
        with pytest.raises(type(problem)):
            compiled(a, b)
        return
    made = compiled(a, b)
    assert made.dtype == wanted.dtype
    assert made.shape == wanted.shape
    error = 0 if dtype is np.int64 else 4 * max(inner, 1) * np.finfo(dtype).eps
    np.testing.assert_allclose(made, wanted, rtol=error, atol=error * 400)


@pytest.mark.parametrize("function", [broadcast, loops, dots, of_one, scaled])
@pytest.mark.parametrize("bad", [np.inf, np.nan, 1e300, -np.inf])
def test_what_is_not_finite_comes_with_numpys_warnings(function: Callable[..., Any], bad: float) -> None:
    a, b = np.ones((12, 10)), np.ones((10, 11))
    a[3, 4], a[3, 5], a[5, 0] = bad, bad if np.isfinite(bad) else -bad, bad  # what cancels depends on the order
    b[4, 2], b[5, 2], b[0, 0] = bad, bad, 0.0
    told: list[tuple[Any, set[str]]] = []
    for version in (function, weft.program(function, fallback="error")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = version(a, b)
        told.append((result, {str(item.message) for item in caught if item.category is RuntimeWarning}))
    np.testing.assert_allclose(told[1][0], told[0][0], rtol=1e-13)
    assert told[1][1] == told[0][1]


@pytest.mark.parametrize("function", [broadcast, loops])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_a_term_that_overflows_does_not_vanish_in_the_sum(function: Callable[..., Any], dtype: Any) -> None:
    large = float(np.sqrt(np.finfo(dtype).max))
    a, b = np.zeros((9, 10), dtype), np.zeros((10, 9), dtype)
    a[0, 0], b[0, 0] = -0.8 * large, 0.8 * large
    a[0, 1] = b[1, 0] = 1.1 * large  # with the term before it this is finite, if it is not rounded in between
    program = weft.program(function, fallback="error")
    with pytest.warns(RuntimeWarning, match="overflow"):
        wanted = function(a, b)
    with pytest.warns(RuntimeWarning, match="overflow"):
        made = program(a, b)
    assert np.isinf(wanted[0, 0].real)
    np.testing.assert_array_equal(made, wanted)


def in_place(a, b):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            b[i, j] = total
    return b


def test_a_result_that_is_read_on_the_way_is_no_product() -> None:
    rng = np.random.default_rng(9)
    a, b = rng.uniform(-1, 1, (12, 12)), rng.uniform(-1, 1, (12, 12))
    made = weft.program(in_place, fallback="error")(a, b.copy())
    np.testing.assert_allclose(made, in_place(a, b.copy()), rtol=1e-10)
