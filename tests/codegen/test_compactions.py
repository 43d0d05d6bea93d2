"""What a mask chooses, collected in blocks, on threads, and in the memory of what it is collected from."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same_outcome, run
from weft.runtime.toolchain import find_toolchain

# Around one block, and around what threads share.
SIZES = (0, 1, 5, 127, 128, 129, 1000, 32767, 32768, 100_003)
SHARES = (0.0, 0.001, 0.5, 0.999, 1.0)


def numbers(size: int, share: float, seed: int = 0) -> Any:
    """Positive ones are that share of them, together here and there."""
    rng = np.random.default_rng(seed + size)
    x = rng.random(size) * np.where(rng.random(size) < share, 1.0, -1.0)
    x[size // 3 : size // 2] = np.abs(x[size // 3 : size // 2])
    return x


# ---- ways to choose -------------------------------------------------------------------------------------------------


def chosen(x):
    return x[x > 0]


def named(x):
    x = x[x > 0]
    return x, len(x)


def both_sides(x):
    m = x > 0
    return x[m], x[~m]


def several(x):
    m = x > 0
    y, c = x * 2, np.arange(len(x), dtype=np.int32)
    return x[m], y[m], c[m]


def by_nonzero(x):
    return x[np.nonzero(x > 0)]


def by_where(x):
    return x[np.where(x > 0)[0]]


def by_flatnonzero(x):
    i = np.flatnonzero(x > 0)
    return i, x[i]


def by_compress(x):
    return np.compress(x > 0, x)


def by_extract(x):
    return np.extract(x > 0, x)


def by_argwhere(x):
    return np.argwhere(x > 0)


def by_delete(x):
    return np.delete(x, np.nonzero(x <= 0)[0])


def by_delete_of_a_mask(x):
    i = np.flatnonzero(x <= 0)
    return np.delete(x, x <= 0), np.delete(x, i), np.delete(x, i + 0)


def by_take(x):
    i = np.flatnonzero(x > 0)
    return x.take(i), np.take(x, i), x[[i]]


def by_positions_that_change(x):
    i = np.nonzero(x > 0)[0]
    a = x[i]
    i[:1] = 0
    return a, x[i]


def by_positions_of_a_mask_that_changes(x):
    m = x > 0
    i = np.nonzero(m)[0]
    m[:] = False
    return x[i], x[m]


def of_longer_ones_by_positions(x):
    i = np.nonzero(x[:-1] > 0)[0]
    return x[i], x[1:][i], (x * 2)[i + 1]


def of_shorter_ones_by_positions(x):
    y = x[: len(x) // 2]
    return y[np.nonzero(x[::-1] > 0)]


def by_a_loop(x):
    out = np.empty(len(x))
    at = 0
    for i in range(len(x)):
        if x[i] > 0:
            out[at] = x[i]
            at += 1
    return out[:at], at


def to_the_front_of_itself(x):
    at = 0
    for i in range(len(x)):
        if x[i] > 0:
            x[at] = x[i]
            at += 1
    return at


def two_to_the_front(x):
    y, m = x * 2 + 1, x > 0
    at = 0
    for i in range(len(x)):
        if m[i]:
            y[at] = y[i]
            x[at] = x[i]
            at += 1
    return y, at


def to_the_front_and_elsewhere(x):
    y, m = np.zeros(len(x)), x > 0
    at = 0
    for i in range(len(x)):
        if m[i]:
            x[at] = x[i]
            y[at] = x[i]
            at += 1
    return y, at


def to_the_front_from_further_on(x):
    y, at = np.r_[x, x[:3]], 0
    for i in range(len(x)):
        if x[i] > 0:
            y[at] = y[i + 3]
            at += 1
    return y, at


def behind_the_first(x):
    at = 1
    for i in range(len(x) - 1):
        if x[i] > 0:
            x[at] = x[i]
            at += 1
    return at


def squares_to_the_front(x):
    at = 0
    for i in range(len(x)):
        if x[i] > 0:
            x[at] = x[i] * x[i]
            at += 1
    return at


def by_a_mask_that_moves_too(x):
    m = x > 0
    at = 0
    for i in range(len(x)):
        if m[i]:
            m[at] = m[i]
            x[at] = x[i]
            at += 1
    return m, at


def computed_first(x):
    return np.sqrt(np.abs(x))[x > 0]


def computed_after(x):
    return np.exp(x[x > 0]) + 1


def of_products(x):
    z = x + 1j * x[::-1]
    w = z * z
    return w[(w * z).real > 0.1]


def of_every_other(x):
    return x[::2][x[::2] > 0], x[::-1][x > 0]


def of_itself(x):
    m = x > 0
    return m[m]


def mean_of(x):
    y = x[x > 0]
    return len(y), y.max() if len(y) else 0.0


WAYS = [
    chosen, named, both_sides, several, by_nonzero, by_where, by_flatnonzero, by_compress, by_extract, by_argwhere,
    by_delete, by_delete_of_a_mask, by_take, by_positions_that_change, by_positions_of_a_mask_that_changes,
    of_longer_ones_by_positions, of_shorter_ones_by_positions, by_a_loop,
    to_the_front_of_itself, two_to_the_front, to_the_front_and_elsewhere, to_the_front_from_further_on,
    behind_the_first, squares_to_the_front, by_a_mask_that_moves_too,
    computed_first, computed_after, of_products, of_every_other, of_itself, mean_of,
]  # fmt: skip


@pytest.mark.parametrize("function", WAYS, ids=lambda f: f.__name__)
def test_it_chooses_as_numpy_does(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    for size in SIZES:
        for share in SHARES:
            x = numbers(size, share)
            ours, expected = run(program, [x.copy()]), run(function, [x])
            assert_same_outcome(ours, expected, ulps=2, where=f"{size}, {share}")


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int64, np.float32, np.complex64, np.complex128])
def test_elements_of_any_type_are_moved(dtype: Any) -> None:
    program = weft.program(choose_by)
    for size in (0, 1, 3, 4, 7, 8, 9, 15, 17, 63, 65, 129, 255, 40_000):
        for share in (0.3, 0.7):
            m = numbers(size, share) > 0
            x = (np.arange(size) % 100).astype(dtype)
            assert_same_outcome(run(program, [x, m]), run(choose_by, [x, m]))


def choose_by(x, m):
    return x[m], (x + x)[m]


def into_longer_ones(x, m):
    places, values, pairs = np.full(len(x), -1), np.full(len(x) + 9, x.dtype.type(77)), np.full(len(x) + 2, 5 + 5j)
    at = 0
    for i in range(len(x)):
        if m[i]:
            places[at] = i + 3
            values[at + 9] = x[i]
            pairs[at] = 2j
            at += 1
    return places, values, pairs, at


@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.int64, np.complex128])
def test_nothing_behind_what_is_collected_is_written(dtype: Any) -> None:
    program = weft.program(into_longer_ones)
    for size in (0, 1, 8, 100, 129, 300, 40_000):
        for share in (0.02, 0.3, 0.7):
            m = numbers(size, share) > 0
            x = (np.arange(size) % 100).astype(dtype)
            assert_same_outcome(run(program, [x, m]), run(into_longer_ones, [x, m]), where=f"{size}, {share}")


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128])
def test_processors_without_wide_vectors_choose_the_same(
    dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain = find_toolchain()
    if toolchain.kind != "gcc" or platform.machine() != "x86_64":
        pytest.skip("only gcc on x86 has the option")
    script = tmp_path / "narrow-cc"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(toolchain.command)} "$@" -mno-avx512f\n', encoding="utf-8")
    script.chmod(0o700)
    monkeypatch.setenv("WEFT_CC", str(script))
    test_elements_of_any_type_are_moved(dtype)
    test_nothing_behind_what_is_collected_is_written(dtype)


def test_a_matrix_in_any_order_is_gone_through_by_rows() -> None:
    program = weft.program(choose_by)
    rng = np.random.default_rng(0)
    whole = rng.random((210, 260))
    for x in (whole, np.asfortranarray(whole), whole[::2, ::3], whole[::-1]):
        for m in (np.ascontiguousarray(x > 0.5), x > 2, x > -1):
            assert_same_outcome(run(program, [x, m]), run(choose_by, [x, m]))


def test_rows_are_chosen_by_a_mask_of_one_axis() -> None:
    program = weft.program(choose_by)
    x = np.random.default_rng(0).random((300, 7))
    for m in (x[:, 0] > 0.5, x[:, 0] > 2, x[:, 0] > -1, x[:, 0][:-1] > 0.5):
        assert_same_outcome(run(program, [x, m]), run(choose_by, [x, m]))


def test_a_mask_of_another_length_is_an_error_in_numpys_words() -> None:
    program = weft.program(choose_by)
    for size, other in ((5, 4), (4, 5), (0, 1), (40_000, 39_999)):
        x, m = numbers(size, 0.5), numbers(other, 0.5) > 0
        assert_same_outcome(run(program, [x, m]), run(choose_by, [x, m]))


def test_threads_change_nothing() -> None:
    x = numbers(1_000_003, 0.6)
    results = [weft.program(several, threads=threads)(x) for threads in (1, 2, 5)]
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


# ---- in memory that is there already --------------------------------------------------------------------------------


def shrinking(x, turns):
    y, place = x * 3.0, np.arange(len(x))
    for _ in range(turns):
        y = y - 0.1
        keep = y > 0
        y, place = y[keep], place[keep]
    return y, place


def shrinking_by_half(x, turns):
    y = x * 3.0
    total = 0.0
    for turn in range(turns):
        y = y[y > turn * 0.2]
        total += len(y)
    return total, y + 1


def with_the_start_kept(x, turns):
    start = x * 3.0
    y = start
    for _ in range(turns):
        y = y[y > 0.1]
    return y, start


def with_the_last_kept(x, turns):
    y = x * 3.0
    before = y
    for _ in range(turns):
        before = y
        y = y[y > 0.1]
    return y, before


def swapped(x, turns):
    a, b = x * 3.0, x + 1.0
    for _ in range(turns):
        m = a > -2.0
        a, b = b[m], a[m]
    return a, b


def twice_by_one_mask(x, turns):
    y = x * 3.0
    z = y
    for _ in range(turns):
        m = y > -2.0
        y, z = y[m], y[m] + 1.0
    return y, z


def kept_and_lost(x, turns):
    y = x * 3.0
    lost = y
    for _ in range(turns):
        m = y > -2.5
        y, lost = y[m], y[~m]
    return y, lost


def listed(x, turns):
    y = x * 3.0
    seen = [y]
    for _ in range(3):
        y = y[y > -2.5]
        seen.append(y)
    return seen


def through_a_reshape(x, turns):
    grid = (x * 3.0)[: len(x) // 2 * 2].reshape(-1, 2)
    y = grid.ravel()
    for _ in range(turns):
        y = y[y > -2.5]
    return y, len(y)


def straight_on(x, turns):
    y = x * 3.0
    y = y[y > -2.5]
    y = y[y < 2.5]
    return y * 2.0


def returned(x, turns):
    y = x * 3.0
    return y[y > -2.5]


def in_a_branch(x, turns):
    y = x * 3.0
    z = y if turns > 1 else x
    y = y[y > -2.5]
    return y + 1.0, z


def of_the_mask_itself(x, turns):
    m = x > -0.9
    for _ in range(turns):
        m = m[m]
    return len(m), m


def until_it_fails(x, turns):
    y = x * 3.0
    for turn in range(turns):
        y = y[y > -2.5]
        y[turn * 300] = 0.0
    return y


KEEPING = [
    shrinking, shrinking_by_half, with_the_start_kept, with_the_last_kept, swapped, twice_by_one_mask, kept_and_lost,
    listed, through_a_reshape, straight_on, returned, in_a_branch, of_the_mask_itself, until_it_fails,
]  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function", KEEPING, ids=lambda f: f.__name__)
def test_nobody_sees_what_takes_over_memory(function: Callable[..., Any], threads: int) -> None:
    program = weft.program(function, threads=threads)
    for size in (0, 1, 130, 1000, 40_000):
        for share in (0.0, 0.5, 0.999):
            for turns in (0, 1, 2, 6):
                x = numbers(size, share)
                ours, expected = run(program, [x.copy(), turns]), run(function, [x, turns])
                assert_same_outcome(ours, expected, ulps=2, where=f"{size}, {share}, {turns}")


def test_a_loop_that_shrinks_needs_no_second_set_of_arrays() -> None:
    x = np.abs(numbers(200_000, 1.0)) + 1.0
    program = weft.program(shrinking, threads=1)  # more of them share the work, with a second set
    program(x, 3)
    program(x, 3)
    arrays = 3 * x.nbytes  # y, the next y, and place
    assert program.stats.peak_bytes < arrays + x.nbytes // 4


def test_a_result_does_not_keep_memory_it_does_not_need() -> None:
    assert "weft_takes(" in source_of(straight_on)
    assert "weft_takes(" not in source_of(returned)


def source_of(function: Callable[..., Any]) -> str:
    program = weft.program(function)
    program(numbers(10, 0.5), 2)
    return program.inspect_source()
