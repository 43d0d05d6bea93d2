"""Reductions that go through memory together, those that stay apart, and that both give NumPy's results."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.graphs import SITE, assert_same_outcomes, changed, graph
from tests.passes.loops import body_text
from weft.passes.fuse_reductions import FuseReductions

STACK = ("array l: f8[] stack C", "array h: f8[] stack C")


def low_and_high(a, b):
    return a.min(), a.max()


def mean_and_squares(a, b):
    return a.mean(), (a * a).sum()


def mean_and_deviation(a, b):
    return a.mean(), a.std()


def weighted(a, b):
    return np.sum(a * b) / np.sum(b)


def under_a_mask(a, b):
    m = a > 0
    return np.sum(m), b[m].sum()


def mean_under_a_mask(a, b):
    return b[(a > -1) & (a < 1)].mean()


def five_of_them(a, b):
    return a.sum(), (a * b).sum(), b.max(), np.sum(a > b), a.min()


def products(a, b):
    return a @ b, b @ b


def rows(a, b):
    return a.sum(axis=-1), b.max(axis=-1), (a * b).sum(axis=-1)


def columns(a, b):
    return a.mean(axis=0), a.max(axis=0), (a - b).sum(axis=0)


def sums_of_columns(a, b):
    return (a * b).sum(axis=0), b.mean(axis=0)


def kept_axes(a, b):
    return a.mean(axis=-1, keepdims=True), a.min(axis=-1, keepdims=True)


def in_a_loop(a, b):
    total, most = 0.0, 0.0
    for x in a:
        total += x
        most = max(most, x)
    return total, most


def in_every_turn(a, b):
    found = np.zeros((3, 2))
    for i in range(3):
        low = i - 1.5
        found[i, 0] = np.sum(a > low)
        found[i, 1] = b[a > low].sum()
    return found


def grown_in_turns(a, b):
    total, most = np.zeros(a.shape[-1]), np.zeros(a.shape[-1])
    for i in range(3):
        total += (a * i).sum(axis=0)
        most += (a * i).max(axis=0)
    return total, most


def of_a_line(a, b):
    n = a.size
    return (n * (a * b).sum() - a.sum() * b.sum()) / (n * (a * a).sum() - a.sum() ** 2)


def seen_by_flags(a, b):
    return np.sum(1 / a > 1, axis=-1), np.max(a * b, axis=-1), np.sum(a / b, axis=-1)


def checked_one_by_one(a, b):
    return np.sum(np.exp(a) > 1), np.sum(np.exp(a)), np.sum(np.sqrt(abs(b)) > 1), np.sum(a * b)


def into_arguments(a, b):
    b[0] = a.min()
    b[-1] = a.max()
    return b.sum()


JOINED: list[tuple[Callable[..., Any], int]] = [
    (low_and_high, 1), (mean_and_squares, 1), (mean_and_deviation, 0), (weighted, 1), (under_a_mask, 1),
    (mean_under_a_mask, 1), (five_of_them, 4), (rows, 2), (columns, 2), (sums_of_columns, 1), (kept_axes, 1),
    (in_every_turn, 1), (grown_in_turns, 2), (of_a_line, 3), (seen_by_flags, 2),
    (checked_one_by_one, 3),
]  # fmt: skip

VECTORS = [products, in_a_loop]


def needs_the_first(a, b):
    return np.sum(np.exp(a - a.max()))


def written_between(a, b):
    low = a.min()
    a[0] = 3
    return low, a.max()


def other_extents(a, b):
    return a.sum(), a[1:].sum()


def nothing_in_common(a, b):
    return a.sum(), (b * b).sum()


def stops_early(a, b):
    return np.any(a > 2), np.all(a < 2)


def positions(a, b):
    return a.argmin(), a.argmax()


def in_order(a, b):
    return a.prod(), (a * a).prod()


APART = [
    needs_the_first, written_between, other_extents, nothing_in_common, stops_early, positions, in_order,
]  # fmt: skip


def joined(function: Callable[..., Any], *arguments: Any) -> int:
    program = weft.program(function, fallback="error")
    program(*arguments)
    return program.inspect_graph("fuse-reductions").count("reduce joined")


def numbers(shape: Any, dtype: Any, seed: int = 0) -> Any:
    found = np.random.default_rng(seed).normal(size=shape) * 3
    if np.dtype(dtype).kind == "c":
        found = found + 1j * np.random.default_rng(seed + 1).normal(size=shape)
    return (abs(found) if np.dtype(dtype).kind == "u" else found).astype(dtype)


# ---- what is joined -------------------------------------------------------------------------------------------------


def test_a_reduction_moves_up_with_its_memory(golden: Golden) -> None:
    before = graph(
        f"""
        {SITE}
        guard greater_equal(%n.1, 1): b1 else site 0 "empty"
        alloc l
        reduce minimum l[] = A[:] axes (0)
        %low.10: f8 = l[]
        alloc h
        reduce add h[] = elements at (%p.11: py_int) over [%n.1] {{
          %a.12: f8 = A[%p.11]
          yield multiply(%a.12, %a.12)
        }} axes (0) initial 0.0:f8 warn 0
        %high.13: f8 = h[]
        return tuple(%low.10, %high.13)
        """,
        *STACK,
    )
    made, session = changed(FuseReductions(), before)
    assert [record.text for record in session.records] == ["two reductions go through memory together"]
    assert body_text(made) == golden
    assert_same_outcomes(before, made)


BETWEEN = {
    "a guard": 'guard greater_equal(%m.2, 1): b1 else site 0 "empty"',
    "a value that is needed": "%k.20: f8 = l[]",
    "a write to what is read": "write A[0] = 2.0:f8",
    "a branch that leaves": "if greater(%k.5, 3): b1 { return slot 0 } else { yield }",
}


@pytest.mark.parametrize("between", [*BETWEEN])
def test_it_does_not_move_past(between: str) -> None:
    line = BETWEEN[between].replace("{ ", "{\n").replace(" }", "\n}")
    factor = "%k.20" if "value" in between else "%x.6"
    before = graph(
        f"""
        {SITE}
        guard greater_equal(%n.1, 1): b1 else site 0 "empty"
        alloc l
        alloc h
        reduce minimum l[] = A[:] axes (0)
        {line}
        reduce maximum h[] = elements at (%p.11: py_int) over [%n.1] {{
          %a.12: f8 = A[%p.11]
          yield multiply(%a.12, cast({factor}): f8)
        }} axes (0)
        %low.10: f8 = l[]
        %high.13: f8 = h[]
        return tuple(%low.10, %high.13)
        """,
        *STACK,
    )
    assert changed(FuseReductions(), before)[0] is before


@pytest.mark.parametrize(("function", "times"), JOINED)
def test_joined(function: Callable[..., Any], times: int) -> None:
    assert joined(function, numbers((6, 7), np.float64), numbers((6, 7), np.float64, 5)) == times


@pytest.mark.parametrize("function", VECTORS)
def test_joined_vectors(function: Callable[..., Any]) -> None:
    assert joined(function, numbers(50, np.float64), numbers(50, np.float64, 5)) == 1


@pytest.mark.parametrize("function", APART)
def test_apart(function: Callable[..., Any]) -> None:
    assert joined(function, numbers(50, np.float64), numbers(50, np.float64, 5)) == 0


def test_short_ones_of_known_length_stay_apart() -> None:
    def both(a, b):
        x = np.empty(8)
        x[:] = a[:8]
        return x.min(), x.max()

    assert joined(both, numbers(50, np.float64), 0) == 0


def test_no_more_than_six_go_together() -> None:
    def eight(a, b):
        low, high, total = a.min(), a.max(), a.sum()
        squares, cubes = (a * a).sum(), (a * a * a).sum()
        return low, high, total, squares, cubes, np.sum(a > 0), np.sum(a > 1), np.sum(a > 2)

    assert joined(eight, numbers(50, np.float64), 0) == 6


def test_one_sweep_reads_each_element_once() -> None:
    """One call of the thread pool for both, and one loop over the lanes."""
    program = weft.program(low_and_high, fallback="error")
    program(numbers(50, np.float64), 0)
    apart = weft.program(low_and_high, fallback="error", without=("fuse-reductions",))
    apart(numbers(50, np.float64), 0)
    assert program.inspect_source().count("ctx->parallel(ctx") * 2 == apart.inspect_source().count("ctx->parallel(ctx")


# ---- results --------------------------------------------------------------------------------------------------------

ALL = [*(function for function, _ in JOINED), *VECTORS, into_arguments, *APART]
LAYOUTS: list[Callable[[Any], Any]] = [
    np.ascontiguousarray, np.asfortranarray, lambda a: np.repeat(a, 2, axis=-1)[..., ::2], lambda a: a[::-1],
]  # fmt: skip


def told(function: Callable[..., Any], *arguments: Any) -> tuple[Any, set[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*arguments)
    return result, {str(item.message) for item in caught}


def assert_agrees(function: Callable[..., Any], program: Callable[..., Any], a: Any, b: Any) -> None:
    """The result, what is written to the arguments, and the warnings."""
    copies = [(a.copy(order="K"), b.copy(order="K")) for _ in range(2)]
    found, ours = told(program, *copies[0])
    wanted, theirs = told(function, *copies[1])
    assert ours == theirs
    eps = float(np.finfo(a.dtype).eps) if a.dtype.kind in "fc" else 1e-15
    left, right = ([*x, *y] if isinstance(x, tuple) else [x, *y] for x, y in zip((found, wanted), copies, strict=True))
    for x, y in zip(left, right, strict=True):
        assert type(x) is type(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=64 * eps, atol=64 * eps * a.size)


SHAPES = [(1,), (9,), (127,), (1000,), (20011,), (5, 9), (3, 700), (700, 3), (90, 130), (40, 0)]


@PLAINLY
@pytest.mark.parametrize("function", ALL)
def test_sizes(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    shapes = SHAPES[:5] if function in VECTORS else SHAPES if function in (weighted, under_a_mask) else SHAPES[:-1]
    for shape in shapes:
        assert_agrees(function, program, numbers(shape, np.float64), numbers(shape, np.float64, 5))


@PLAINLY
@pytest.mark.parametrize("function", ALL)
def test_layouts(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    shape = 6000 if function in VECTORS else (40, 150)
    for layout in LAYOUTS:
        a, b = (layout(numbers(shape, np.float64, seed)) for seed in (0, 5))
        assert_agrees(function, program, a, b)


@PLAINLY
@pytest.mark.parametrize("function", [low_and_high, mean_and_squares, under_a_mask, five_of_them, rows, columns])
def test_types(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    for dtype in (np.float32, np.int64, np.int32, np.uint8, np.bool_):
        if dtype is not np.bool_ or function is not columns:  # NumPy has no difference of bools
            assert_agrees(function, program, numbers((30, 200), dtype), numbers((30, 200), dtype, 5))


@pytest.mark.parametrize("function", [mean_and_squares, mean_and_deviation, weighted, sums_of_columns])
def test_complex_numbers(function: Callable[..., Any]) -> None:
    a, b = (numbers((30, 200), np.complex128, seed) for seed in (0, 5))
    assert_agrees(function, weft.program(function), a, b)


@pytest.mark.parametrize("function", [function for function, _ in JOINED])
def test_odd_numbers_spread_and_warn_as_in_numpy(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    for odd in (np.nan, np.inf, -np.inf, 1.7e308, 800.0, -0.0):
        for other in (1.0, -odd):
            a, b = numbers((20, 90), np.float64), numbers((20, 90), np.float64, 5)
            a[7, 30:32] = odd
            b[7, 31] = other
            assert_agrees(function, program, a, b)


@pytest.mark.parametrize("function", [mean_under_a_mask, mean_and_squares, mean_and_deviation])
def test_nothing_to_take_the_mean_of(function: Callable[..., Any]) -> None:
    a = np.full(300, 5.0)[: 300 if function is mean_under_a_mask else 0]
    assert_agrees(function, weft.program(function), a, a * 2)


def test_nothing_under_a_mask_in_a_later_turn() -> None:
    def rings(a, b):
        found = np.zeros(5)
        for i in range(5):
            found[i] = b[(a >= i) & (a < i + 1)].mean()
        return found

    assert_agrees(rings, weft.program(rings), numbers(900, np.float64) % 3, numbers(900, np.float64, 5))


def test_an_empty_array_has_no_minimum() -> None:
    with pytest.raises(ValueError, match="zero-size array"):
        weft.program(low_and_high)(np.empty(0), 0)


@pytest.mark.parametrize("function", [mean_and_squares, under_a_mask, five_of_them, rows, columns])
def test_the_same_bits_on_one_and_two_threads(function: Callable[..., Any]) -> None:
    a, b = numbers((700, 130), np.float64), numbers((700, 130), np.float64, 5)
    one, two = (weft.program(function, threads=threads, fallback="error")(a, b) for threads in (1, 2))
    assert len(one) == len(two)
    assert all(np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in zip(one, two, strict=True))
