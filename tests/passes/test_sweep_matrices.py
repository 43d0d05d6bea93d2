"""Products of a matrix that come together, and those that stay where they are."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.graphs import assert_same_outcomes, changed, graph
from tests.passes.loops import SIZES, assert_agrees, body_text, matrix, through, unguarded, vector
from weft.analysis.memory import Memory
from weft.analysis.sweeps import joint_products
from weft.ir.nodes import Alloc, MatMul, Program
from weft.ir.traverse import all_nodes, inner_regions
from weft.passes.sweep_matrices import SweepMatrices


def apart(A, x, z):
    return A @ x, z @ A


def one_after_the_other(A, x, z):
    return (A @ x) @ A


def the_other_first(A, x, z):
    w = A.T @ z
    y = A @ x
    return y, w


def added(A, x, z):
    s, t = z + 1, x + 1
    s += A @ x
    t += A.T @ z
    return s, t


def by_functions(A, x, z):
    return np.dot(A, x), np.matmul(z, A), A.T.dot(z)


def by_letters(A, x, z):
    return np.einsum("ij,j->i", A, x), np.einsum("ij,i->j", A, z)


def by_transposes(A, x, z):
    B = A.T
    return x @ B, B @ z


def of_a_part(A, x, z):
    B = A[1:, :-1]
    return B @ x[:-1], z[1:] @ B


def with_what_it_needs(A, x, z):
    y = A @ x
    m = y.max(initial=0.0)
    r = 2.0 * z
    return (y / (m + 1.0)), r @ A


def in_a_loop(A, x, z):
    for _ in range(3):
        y = A @ x
        w = z @ A
        x = x + w / 1e4
        z = z + y / 1e4
    return x, z


def twice(A, x, z):
    return A @ x, z @ A, A @ (x + 1), (z + 1) @ A


def one_for_two(A, x, z):
    return A @ x, z @ A, (z + 1) @ A


JOINED = [
    apart, one_after_the_other, the_other_first, added, by_functions, by_letters, by_transposes, of_a_part,
    with_what_it_needs, in_a_loop, twice, one_for_two,
]  # fmt: skip


def with_a_step_between(A, x, z):
    t = A.T @ z + x
    return A @ t


def changed_between(A, x, z):
    y = A @ x
    y *= 2.0
    return y @ A


def a_matrix_that_changes(A, x, z):
    y = A @ x
    A[0] = y[0]
    return y, z @ A


def of_other_parts(A, x, z):
    return A[1:] @ x, z[1:] @ A[:-1]


def of_two_matrices(A, x, z):
    B = A + 1
    return A @ x, z @ B


def the_same_way(A, x, z):
    return A @ x, A @ (x + 1)


def in_place_of_the_vector(A, x, z):
    z[:] = A @ x
    w = (z + 1) @ A
    x[:] = w
    return w


def given_back_before(A, x, z):
    y = A @ x
    if y.sum() > 1e3:
        return y, y
    return y, z @ A


KEPT = [
    with_a_step_between, changed_between, a_matrix_that_changes, of_other_parts, of_two_matrices, the_same_way,
    in_place_of_the_vector, given_back_before,
]  # fmt: skip


def by_rows(A, x, z):
    return A @ x


def by_columns(A, x, z):
    return z @ A


def with_an_update(A, x, z):
    A += 1.0
    y = 0.5 * (A.T @ z) + x
    return y, A @ y


ALONE = [by_rows, by_columns, with_an_update]


def joints(program: Program) -> int:
    """How many pairs of products share a sweep."""
    inner = (region for node in all_nodes(program.body) for region in inner_regions(node))
    return sum(len(joint_products(region, Memory(program.containers))) for region in (program.body, *inner))


def sweeps(program: Program) -> int:
    return sum(isinstance(node, MatMul) and node.sweep for node in all_nodes(program.body))


def arguments(m: int, n: int, dtype: Any = np.float64) -> list[Any]:
    return [matrix(m, n).astype(dtype), vector(n, dtype, 1), vector(m, dtype, 2)]


@pytest.mark.parametrize("function", JOINED)
def test_joined(function: Callable[..., Any]) -> None:
    made, _ = through(unguarded(function, arguments(3, 4)), SweepMatrices())
    assert joints(made) == (2 if function is twice else 1)
    assert through(made, SweepMatrices())[0] is made
    for m in SIZES:
        for n in SIZES:
            if function is not of_a_part or (m and n):
                assert_agrees(function, made, lambda m=m, n=n: arguments(m, n))


@pytest.mark.parametrize("function", KEPT)
def test_kept(function: Callable[..., Any]) -> None:
    made, _ = through(unguarded(function, arguments(3, 4)), SweepMatrices())
    assert joints(made) == 0
    assert sweeps(made) == 2
    assert_agrees(function, made, lambda: arguments(4, 3))


@pytest.mark.parametrize("function", ALONE)
def test_alone(function: Callable[..., Any]) -> None:
    made, _ = through(unguarded(function, arguments(3, 4)), SweepMatrices())
    assert (joints(made), sweeps(made)) == (0, 2 if function is with_an_update else 1)
    for m in SIZES:
        assert_agrees(function, made, lambda m=m: arguments(m, 3))


@pytest.mark.parametrize("dtype", [np.int64, np.complex128, np.bool_])
def test_other_numbers_are_left_alone(dtype: Any) -> None:
    given = [item.astype(dtype) for item in arguments(3, 4)]
    before = unguarded(apart, given)
    assert through(before, SweepMatrices())[0] is before


# ---- guards and memory go up, others stay ---------------------------------------------------------------------------

ARRAYS = ("array T: f8[%n.1] transient C", "array U: f8[%c.4] transient C", "array V: f8[%n.1] transient C")
SITE = "site 0 f0@(0) {A: slot 0, B: slot 1, P: slot 2}"
FIRST = """
  guard equal(%c.4, %m.2): b1 else site 0 "as long as a row"
  guard less_equal(%n.1, %r.3): b1 else site 0 "no longer than a column"
  guard greater(%m.2, 0): b1 else site 0 "something"
  alloc T site 0
  matmul T[$0] over [%n.1, 1] = P[0:%n.1, :] @ B[$0] over [%c.4, 1] warn 0
"""
PRODUCT = "matmul U[$1] over [1, %c.4] = A[$1] over [1, %n.1] @ P[0:%n.1, :] warn 0"
SECOND = f"""
  guard less(%n.1, 5): b1 else site 1 "whatever the second one needs"
  alloc U site 1
  {PRODUCT}
"""
AGAIN = "site 1 f0@(1) {A: slot 0, B: slot 1, P: slot 2}"
END = "return tuple(T[:], U[:])"


def between(middle: str, again: str = AGAIN, end: str = END, second: str = SECOND) -> Program:
    return graph(f"{SITE}\n{FIRST}\n{middle}\n{again}\n{second}\n{end}", *ARRAYS)


def copied(to: str, source: str = "T[%i.10]", number: int = 10) -> str:
    """A map that reads and writes these elements at %i.10, or at the value of another number."""
    text = f"""
  map (%i.10: py_int) in [0:%n.1] {{
    tasklet {{
      %x.11: f8 = {source}
      write {to} = %x.11
    }}
  }}
"""
    return text.replace(".10", f".{number}").replace(".11", f".{number + 1}")


def test_before_and_after(golden: Golden) -> None:
    before = between("alloc V site 0\n" + copied("V[%i.10]"), end="return tuple(V[:], U[:])")
    made, session = changed(SweepMatrices(), before)
    assert [record.text for record in session.records] == ["two products share one sweep through their matrix"]
    assert body_text(made) == golden
    assert_same_outcomes(before, made)


def test_past_what_python_sees() -> None:
    """The sum is stored where Python sees it; whether the second product can be made is known before."""
    before = between(copied("B[0] resolve add"))
    made, _ = changed(SweepMatrices(), before)
    assert joints(made) == 1
    assert_same_outcomes(before, made)


MORE = 'guard less(%k.5, 3): b1 else site 0 "not compiled: more"\n'


@pytest.mark.parametrize("middle", [copied("A[%i.10]"), copied("P[%i.10, 0]"), MORE + copied("B[0] resolve add")])
def test_not_past_what_it_reads_or_what_is_left_to_python(middle: str) -> None:
    made, session = changed(SweepMatrices(), between(middle))
    assert joints(made) == 0
    assert [record.done for record in session.records] == [False]
    assert sweeps(made) == 2


def test_memory_does_not_fail_below_what_python_sees() -> None:
    """The second product is stored where Python sees it, so the memory needed between them is asked for before."""
    filled, used = copied("T[%i.10]", "A[%i.10]"), copied("V[%i.10]", "U[0]", 20)
    before = graph(
        f"""{SITE}{FIRST.rpartition("  matmul")[0]}{filled}
  alloc U site 0
  matmul U[$1] over [1, %c.4] = T[$1] over [1, %n.1] @ P[0:%n.1, :] warn 0
  alloc V site 0{used}
  matmul A[$0] over [%n.1, 1] = P[0:%n.1, :] @ B[$0] over [%c.4, 1] warn 0
  return tuple(V[:], U[:])""",
        *ARRAYS,
    )
    made, _ = changed(SweepMatrices(), before)
    assert joints(made) == 1
    kinds = [type(node).__name__ for node in made.body.nodes if isinstance(node, Alloc | MatMul)]
    assert kinds == ["Alloc", "Alloc", "Alloc", "MatMul", "MatMul"]
    assert_same_outcomes(before, made)


def test_with_nothing_above_them() -> None:
    """In a loop, where the first product stands at the head and the second one goes up to it."""
    product = "matmul T[$0] over [%n.1, 1] = P[0:%n.1, :] @ B[$0] over [%c.4, 1] warn 0"
    before = graph(
        f"""{SITE}{FIRST.rpartition("  matmul")[0]}
  alloc U site 0
  alloc V site 0
  for %t.30: py_int in 0:2 {{
    {product}{copied("V[%i.10]")}    {PRODUCT}
    continue
  }}
  {product}
  return tuple(T[:], V[:], U[:])""",
        *ARRAYS,
    )
    made, _ = changed(SweepMatrices(), before)
    assert joints(made) == 1
    assert_same_outcomes(before, made)


def test_not_past_a_site_that_shows_its_result() -> None:
    site = AGAIN.replace("}", ", t: T[:], u: U[:]}")
    before = between("alloc U site 0", site, second=SECOND.replace("  alloc U site 1\n", ""))
    made, _ = changed(SweepMatrices(), before)
    assert joints(made) == 0


# ---- compiled -------------------------------------------------------------------------------------------------------


def arranged(values: Any, form: str) -> Any:
    match form:
        case "F":
            return np.asfortranarray(values)
        case "part":
            large = np.zeros((values.shape[0] + 2, values.shape[1] + 3), values.dtype)
            large[1:-1, 1:-2] = values
            return large[1:-1, 1:-2]
        case "back":
            return np.ascontiguousarray(values[::-1])[::-1]
        case "both back":
            return np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1]
        case "steps":
            return np.repeat(np.repeat(values, 2, 0), 2, 1)[::2, ::2]
        case _:
            return np.ascontiguousarray(values)


def line(values: Any, form: str) -> Any:
    return {"steps": np.repeat(values, 2)[::2], "back": values[::-1].copy()[::-1]}.get(form, values)


def numbers(m: int, n: int, dtype: Any = np.float64, form: str = "C", vectors: str = "C") -> list[Any]:
    random = np.random.default_rng(m + n)
    A = arranged(random.uniform(-0.5, 1.0, (m, n)).astype(dtype), form)
    return [A, *(line(random.uniform(-1.0, 2.0, size).astype(dtype), vectors) for size in (n, m))]


def assert_near(function: Callable[..., Any], program: Callable[..., Any], given: Sequence[Any]) -> None:
    got, expected = (call(*(item.copy(order="K") for item in given)) for call in (program, function))
    got, expected = (item if isinstance(item, tuple) else (item,) for item in (got, expected))
    A = np.abs(given[0]).astype(np.float64)
    eps = float(np.finfo(given[0].dtype).eps)
    for ours, theirs in zip(got, expected, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        scale = 1.0 + 4.0 * max(A.sum(axis=axis).max(initial=0.0) for axis in (0, 1)) ** (
            2 if function in DEPENDENT else 1
        )
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=eps * scale * sum(A.shape))


DEPENDENT = (
    with_an_update,
    one_after_the_other,
    with_a_step_between,
    changed_between,
    in_place_of_the_vector,
    in_a_loop,
)
LARGE = (1021, 787)  # what is not too large for the caches is left to BLAS; no multiple of anything


@PLAINLY
@pytest.mark.parametrize("function", [*JOINED, *KEPT, *ALONE])
def test_large_ones_agree(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    assert_near(function, program, numbers(*LARGE))
    if function in (apart, one_after_the_other):
        assert_near(function, program, numbers(1501, 1103, np.float32))
    assert program.stats.native_calls == 1 + (function in (apart, one_after_the_other))


@PLAINLY
@pytest.mark.parametrize("function", [apart, one_after_the_other, by_rows, by_columns])
@pytest.mark.parametrize("form", ["C", "F", "part", "back", "both back", "steps"])
def test_any_order_of_the_matrix_agrees(function: Callable[..., Any], form: str) -> None:
    program = weft.program(function)
    for vectors in ("C", "steps", "back"):
        assert_near(function, program, numbers(*LARGE, form=form, vectors=vectors))


@pytest.mark.parametrize("function", [apart, one_after_the_other])
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 7), (7, 1), (64, 9000), (9000, 64), (70, 70000), (70000, 70)])
def test_any_shape_agrees(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    assert_near(function, weft.program(function), numbers(*shape))


@pytest.mark.parametrize(
    ("function", "form"), [(apart, "C"), (apart, "F"), (one_after_the_other, "part"), (by_columns, "C")]
)
def test_large_matrices_are_swept_over(function: Callable[..., Any], form: str) -> None:
    """On threads, with a line of sums per chunk: less than a MiB. A small matrix needs none of it."""
    program, given = weft.program(function), numbers(*LARGE, form=form)
    program(*numbers(40, 50))
    assert program.stats.parallel_regions == 0
    own = program.stats.peak_bytes
    program(*given)
    assert program.stats.parallel_regions == 1
    assert own + 8 * sum(LARGE) < program.stats.peak_bytes < own + 8 * sum(LARGE) + 2**20


@pytest.mark.parametrize("function", [apart, by_rows])
def test_without_the_pass_there_is_no_sweep(function: Callable[..., Any]) -> None:
    program = weft.program(function, without=("sweep-matrices",))
    assert_near(function, program, numbers(*LARGE))
    assert "weft_sweep" not in program.inspect_source()


@pytest.mark.parametrize("function", [apart, one_after_the_other, by_rows, by_columns, in_a_loop])
def test_the_same_bits_on_one_and_more_threads(function: Callable[..., Any]) -> None:
    results = [weft.program(function, threads=threads)(*numbers(*LARGE)) for threads in (1, 2, 3)]
    for other in results[1:]:
        for left, right in zip(np.atleast_2d(*results[0]), np.atleast_2d(*other), strict=True):
            assert left.tobytes() == right.tobytes()


def square(A, x, y):
    y[:] = A @ x
    return x @ A, y


def test_one_vector_in_two_places() -> None:
    for names in ("xy", "xx"):
        ours, theirs = ({name: vector(800, seed=ord(name)) for name in names} for _ in range(2))
        A = matrix(800, 800)
        got = weft.program(square)(A, *(ours[name] for name in names))
        expected = square(A, *(theirs[name] for name in names))
        for left, right in zip((*got, *ours.values()), (*expected, *theirs.values()), strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-12)


def test_a_vector_that_is_a_row_of_the_matrix() -> None:
    A = matrix(800, 800)
    for got, expected in zip(weft.program(apart)(A, A[3], A[:, 5]), apart(A, A[3], A[:, 5]), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_what_does_not_fit_raises_as_in_python() -> None:
    A, x, z = numbers(*LARGE)
    for left, right in ((x[1:], z), (x, z[1:]), (x, z)):
        outcomes: list[Any] = []
        for function in (weft.program(into_both), into_both):
            s, t = z.copy(), x.copy()
            try:
                function(A, left, right, s, t)
            except ValueError as problem:
                outcomes.append((str(problem), s, t))
            else:
                outcomes.append(("", s, t))
        assert outcomes[0][0] == outcomes[1][0]
        for ours, theirs in zip(outcomes[0][1:], outcomes[1][1:], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def into_both(A, x, z, s, t):
    s += A @ x
    t += A.T @ z


@functools.cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return weft.program(function)


def told(function: Callable[..., Any], given: Sequence[Any]) -> tuple[set[tuple[str, int]], Any]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*given)
    return {(str(item.message), item.lineno) for item in caught}, result


@pytest.mark.parametrize("function", [apart, one_after_the_other, added, by_rows, by_columns])
@pytest.mark.parametrize("odd", [np.nan, -np.inf, 1e308])
@pytest.mark.parametrize("where", ["matrix", "last row", "x", "z", "infinity and zero"])
def test_odd_numbers_spread_and_warn_as_in_python(function: Callable[..., Any], odd: float, where: str) -> None:
    A, x, z = numbers(*LARGE)
    match where:
        case "matrix":
            A[500, 400] = odd
        case "last row":
            A[-1, -3:] = odd
        case "x":
            x[2] = odd
        case "z":
            z[-1] = odd
        case _:
            A[7, 9], x[9], z[7] = np.inf, 0.0, odd
    ours, result = told(compiled(function), [A, x, z])
    wanted, expected = told(function, [A, x, z])
    assert ours == wanted
    for got, right in zip(np.atleast_2d(*result), np.atleast_2d(*expected), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-9)


def test_the_listing_says_it() -> None:
    program = weft.program(apart)
    program(*numbers(5, 6))
    text = str(program.explain())
    assert "a matrix times a vector (8 bytes, 4 operations a point; memory-bound); " in text
    assert "a matrix times a vector, in the sweep of what stands before" in text
