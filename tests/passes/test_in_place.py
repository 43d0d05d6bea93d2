"""Results in the memory of operands that die: where that may be, where not, and NumPy's answers all the same."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.graphs import SITE, assert_same_outcomes, changed, graph, shown, words
from weft.passes.in_place import InPlace

T, U = "array T: f8[%n.1] transient C", "array U: f8[%n.1] transient C"
FILL = "map (%p.10: py_int) in [0:%n.1] {\n    write T[%p.10] = 2.0:f8\n  }"


def point(number: int, write: str, *reads: str, ranges: str = "0:%n.1") -> str:
    """A map over p that writes the sum of what it reads, and one."""
    values = [f"%a.{number + 1 + k}" for k in range(len(reads))]
    total = "1.0:f8"
    for value in values:
        total = f"add({total}, {value})"
    lines = [f"{value}: f8 = {read}" for value, read in zip(values, reads, strict=True)]
    tasklet = "\n".join(["tasklet {", *lines, f"write {write} = {total}", "}"])
    return f"map (%p.{number}: py_int) in [{ranges}] warn 0 {{\n{tasklet}\n}}".replace("[p]", f"[%p.{number}]")


def body(*lines: str) -> str:
    return "\n".join([SITE, "alloc T site 0", FILL, *lines])


def test_before_and_after(golden: Golden) -> None:
    first = point(20, "U[p]", "T[p]", "A[p]")
    before = graph(body("alloc U site 0", first, "return U[:]"), T, U)
    made, session = changed(InPlace(), before)
    assert_same_outcomes(before, made)
    assert shown(made) == golden
    assert words(session, done=True) == ["U is computed in the memory of T"]


def test_one_after_the_other() -> None:
    v = "array V: f8[%n.1] transient C"
    before = graph(
        body("alloc U site 0", point(20, "U[p]", "T[p]"), "alloc V site 0", point(30, "V[p]", "U[p]"), "return V[:]"),
        T, U, v,
    )  # fmt: skip
    made, _ = changed(InPlace(), before)
    assert_same_outcomes(before, made)
    assert set(made.containers) == {"A", "B", "P", "V"}


def test_sizes_that_a_guard_says_are_equal() -> None:
    guard = 'guard equal(1*%n.1, 1*%m.2): b1 else site 0 "sizes"'
    lines = ["alloc U site 0", point(20, "U[p]", "T[p]"), "return U[:]"]
    other = "array U: f8[%m.2] transient C"
    before = graph(body(*lines).replace(SITE, f"{SITE}\n{guard}"), T, other)
    made, _ = changed(InPlace(), before)
    assert_same_outcomes(before, made)
    assert "T" not in made.containers
    late = graph(body(guard, *lines), T, other)  # T is allocated before that is known
    assert changed(InPlace(), late)[0] is late


def test_what_a_site_shows_may_go_once_nobody_leaves_through_it() -> None:
    site = "site 1 f0@(1) {A: slot 0, T: T[:]}"
    guard = 'guard greater_equal(1*%n.1, 2): b1 else site 1 "short"'
    step = ["alloc U site 0", point(20, "U[p]", "T[p]")]
    before = graph(body(site, guard, *step, "return U[:]"), T, U)
    made, _ = changed(InPlace(), before)
    assert_same_outcomes(before, made)
    assert "T" not in made.containers
    late = graph(body(site, *step, guard, "return U[:]"), T, U)
    assert changed(InPlace(), late)[0] is late


def test_a_site_nobody_leaves_through_may_show_the_result_before_it_begins() -> None:
    site = "site 1 f0@(1) {A: slot 0, U: U[:]}"
    lines = ["alloc U site 0", site, "alloc T site 0", FILL, point(20, "U[p]", "T[p]"), "return U[:]"]
    before = graph("\n".join([SITE, *lines]), T, U)
    made, _ = changed(InPlace(), before)
    assert_same_outcomes(before, made)
    assert "T" not in made.containers
    assert "site 1" not in shown(made)


KEPT = {
    "read afterwards": (point(20, "U[p]", "T[p]"), point(30, "A[p]", "T[p]"), "return U[:]"),
    "another element": (point(20, "U[p]", "T[%n.1 - 1 - %p.20]"), "return U[:]"),
    "two elements": (point(20, "U[p]", "T[p]", "T[0]"), "return U[:]"),
    "written before": (point(30, "U[p]"), point(20, "U[p]", "T[p]", ranges="0:1"), "return U[:]"),
    "returned too": (point(20, "U[p]", "T[p]"), "return tuple(U[:], T[:])"),
    "combined": (point(20, "U[p] resolve add", "T[p]"), "return U[:]"),
}


@pytest.mark.parametrize("lines", KEPT.values(), ids=KEPT.keys())
def test_memory_of_its_own(lines: tuple[str, ...]) -> None:
    guard = 'guard greater_equal(1*%n.1, 1): b1 else site 0 "empty"'
    text = body("alloc U site 0", *lines).replace(SITE, f"{SITE}\n{guard}")
    before = graph(text, T, U)
    assert changed(InPlace(), before)[0] is before


@pytest.mark.parametrize("other", ["array U: f4[%n.1] transient C", "array U: f8[%m.2] transient C"])
def test_another_type_or_size(other: str) -> None:
    text = body("alloc U site 0", point(20, "U[p]", "T[p]", ranges="0:1"), "return missing")
    guard = 'guard logical_and(greater_equal(1*%n.1, 1): b1, greater_equal(1*%m.2, 1): b1): b1 else site 0 "empty"'
    text = text.replace(SITE, f"{SITE}\n{guard}")
    if "f4" in other:
        text = text.replace("= add(1.0:f8, %a.21)", "= cast(%a.21): f4")
    before = graph(text, T, other)
    assert changed(InPlace(), before)[0] is before


def test_read_again_after_the_write() -> None:
    twice = """
  map (%p.20: py_int) in [0:%n.1] {
    tasklet {
      %a.21: f8 = T[%p.20]
      write U[%p.20] = add(%a.21, 1.0:f8)
    }
    tasklet {
      %a.22: f8 = T[%p.20]
      write A[%p.20] = %a.22
    }
  }"""
    before = graph(body("alloc U site 0", twice, "return U[:]"), T, U)
    assert changed(InPlace(), before)[0] is before


def test_a_ref_that_may_be_the_result() -> None:
    before = graph(
        f"""
  {SITE}
  for %i.10: py_int from 0 to %k.5 - 1 in 0:%k.5 carry (X = A[:]) {{
    site 1 f0@(0, 0, 0) {{A: slot 0}}
    guard equal(1*%q.9, 1*%n.1): b1 else site 1 "sizes"
    alloc T site 1
    {point(20, "T[p]", "X[p]")}
    alloc U site 1
    {point(30, "U[p]", "T[p]")}
    continue U[:]
  }}
  return X[:]
""",
        "size %q.9: py_int in [0, 1000]",
        T, U,
        "array X: f8[%q.9] ref S may alias (A, U)",
    )  # fmt: skip
    assert changed(InPlace(), before)[0] is before


def test_an_operand_that_is_seen_in_other_ways() -> None:
    refs = ("size %q.9: py_int in [0, 1000]", "array X: f8[%q.9] ref S may alias (T)")
    bound = "for %i.40: py_int from 0 to %k.5 - 1 in 0:%k.5 carry (X = T[:]) {\ncontinue X[:]\n}"
    step = ("alloc U site 0", point(20, "U[p]", "T[p]"))
    before = graph(body(bound, *step, "return tuple(U[:], X[:])"), T, U, *refs)
    assert changed(InPlace(), before)[0] is before
    read = "%v.50: f8 = V[0]"
    guard = 'guard greater_equal(1*%n.1, 1): b1 else site 0 "empty"'
    before = graph(body(guard, read, *step, "return U[:]"), T, U, "array V: f8[%n.1] alias of T C")
    assert changed(InPlace(), before)[0] is before


# ---- against NumPy --------------------------------------------------------------------------------------------------


def softmax(x: Any) -> Any:
    weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return weights / np.sum(weights, axis=-1, keepdims=True)


def layers(x: Any, w: Any, b: Any) -> Any:
    y = np.maximum(x @ w + b, 0.0)
    y = np.sqrt(y @ w - b) / b
    return y * y


def scaled(x: Any, w: Any, b: Any) -> Any:
    y = x @ w
    z = y / b
    y = z @ w
    return y - np.log(b) * y


def same(function: Any, *given: Any) -> None:
    """Result, arguments afterwards and warnings are those of NumPy."""
    outcomes: list[Any] = []
    for run in (function, weft.program(function)):
        mine = [item.copy(order="K") for item in given]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = run(*mine)
        outcomes.append((result, mine, sorted(str(w.message) for w in caught if w.category is RuntimeWarning)))
    (plain, left, told), (made, right, telling) = outcomes
    assert plain.dtype == made.dtype
    assert plain.shape == made.shape
    np.testing.assert_allclose(made, plain, rtol=1e-5 if made.dtype == np.float32 else 1e-12)
    assert set(told) == set(telling)
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b)


@PLAINLY
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 3, 300), (0, 2, 3), (1, 1, 1), (40, 50, 16)])
def test_layers(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-1.0, 1.0, shape).astype(dtype)
    w, b = rng.uniform(0.5, 1.0, (shape[-1], shape[-1])).astype(dtype), rng.uniform(0.1, 0.2, shape[-1]).astype(dtype)
    same(scaled, x, w, b)
    if dtype != "c16":
        same(softmax, x)
        same(layers, abs(x), w, b)
        same(layers, abs(x)[::-1, :, ::-1], w.T, b)


@pytest.mark.parametrize("place", [0, 255, 256, 599])
@pytest.mark.parametrize("shape", [(3, 200, 1), (3, 200, 3), (3, 35, 17), (2, 300), (35, 17), (200, 3), (60000, 3)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0, 1e308, 0.0])
def test_warnings_of_what_is_overwritten(place: int, shape: tuple[int, ...], value: float) -> None:
    rng = np.random.default_rng(2)
    x, width = rng.uniform(1.0, 2.0, shape), shape[-1]
    w, b = np.eye(width), rng.uniform(0.5, 0.9, width)
    flat = x.reshape(-1)
    flat[place % flat.size] = value
    for function in (layers, scaled):
        same(function, x, w, b)
    b[place % width] = 0.0
    same(scaled, x, w, b)
    same(layers, x, w, b)


def overwrite(a: Any, b: Any) -> None:
    a[:] = np.sqrt(a * 2.0 - b) / a


@pytest.mark.parametrize("shape", [(5, 9000), (7, 5001), (401, 101), (40000, 1), (2, 3, 7000), (30, 40, 50)])
def test_rows_in_parts(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(6)
    compiled = weft.program(overwrite, threads=3)
    for bad in (None, 0.0, -1.0, np.nan, 1e308):
        a, b = rng.uniform(1.0, 2.0, shape), rng.uniform(0.0, 1.0, shape[-1])
        if bad is not None:
            a.reshape(-1)[rng.integers(a.size)] = bad
        mine, messages = a.copy(), []
        for run, given in ((overwrite, a), (compiled, mine)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                run(given, b)
            messages.append({str(w.message) for w in caught})
        np.testing.assert_array_equal(mine, a)
        assert messages[0] == messages[1]


def test_a_view_that_is_kept_sees_what_was_there() -> None:
    def f(a: Any) -> Any:
        t = a + 1.0
        u = t[1:]
        v = t * 2.0
        return u, v

    a = np.arange(5.0)
    kept, doubled = weft.program(f)(a)
    np.testing.assert_array_equal(kept, a[1:] + 1.0)
    np.testing.assert_array_equal(doubled, (a + 1.0) * 2.0)


def test_one_block_for_the_temporary_and_the_result() -> None:
    x = np.linspace(-1.0, 1.0, 40000).reshape(20, 2000)
    compiled, apart = weft.program(softmax), weft.program(softmax, without=("in-place",))
    np.testing.assert_array_equal(compiled(x), apart(x))
    assert compiled.stats.peak_bytes < x.nbytes * 1.1
    assert apart.stats.peak_bytes > x.nbytes * 1.9
