"""Loops over points that become fewer: those that run strip by strip, those that do not, and all as NumPy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.end_to_end.outcome import assert_same_outcome, run
from tests.passes.loops import assert_agrees, body_text, reasons, through, unguarded
from weft.passes import strip_survivors
from weft.passes.inline_producers import InlineProducers
from weft.passes.simplify import Simplify
from weft.passes.strip_survivors import StripSurvivors

# pyright: reportUnknownArgumentType=false


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Strips of few points."""
    monkeypatch.setattr(strip_survivors, "_LENGTHS", (8,))
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))


# ---- in strips ------------------------------------------------------------------------------------------------------


def shrinking(x, place, out):
    for turn in range(1, 12):
        x = x * 0.75
        gone = x < 2
        out[place[gone]] = turn
        place, x = place[~gone], x[~gone]
    return out


def until_none_is_left(x, place, out):
    while len(x):
        x = x - 1.5
        left = x > 1
        out[place[~left]] = x[~left]
        x, place = x[left], place[left]
    return out


def counted(x, place, out):
    turn = 0
    while place.size > 0 and turn < 9:
        turn += 1
        x = np.sqrt(x + turn)
        left = x > 2.5
        out[place[~left]] = turn
        place = place[left]
        x = x[left]
    return out


def left_in_the_middle(x, place, out):
    turn = 0
    while True:
        if len(place) == 0 or turn >= 7:
            break
        x = x / 1.5
        left = x > turn
        out[place] = x
        turn = turn + 2
        x, place = x[left], place[left]
    return out


def left_at_the_end(x, place, out):
    for _ in range(40):
        new = 0.5 * (out[place] + x[place] / (out[place] + 1))
        moved = np.abs(new - out[place]) > 1e-3
        out[place] = new
        place = place[moved]
        if place.size == 0:
            break
    return out


def added_to(x, place, out):
    for turn in range(9):
        out[place] += x[place] * turn
        place = place[out[place] < 9]
    return out


def in_place(x, place, out):
    z = x + 1
    for turn in range(9):
        if not len(z):
            break
        np.multiply(z, 1.25, z)
        gone = z > 9
        out[place[gone]] = turn
        np.logical_not(gone, gone)
        z, place = z[gone], place[gone]
    return out


def by_masks_of_what_is_left(x, place, out):
    steps = 0
    while len(place):
        steps += 1
        x = x - 1
        done = x <= 0
        out[place[done]] = steps
        x, place = x[~done], place[~done]
        odd = np.floor(x) % 2 == 1
        x[odd] = x[odd] - 2
        x[~odd] = x[~odd] / 2
    return out


def two_masks(x, place, out):
    for _ in range(6):
        high, low = x > 7, x < 1
        out[place[high]] = -1
        out[place[low]] = -2
        keep = ~(high | low)
        x, place = x[keep] * 1.2, place[keep]
    return out


def from_a_table(x, place, out):
    table = np.linspace(0.5, 0.9, len(out) + 60)
    for _ in range(12):
        x = x * table[place]
        out[place] = x
        left = x > 1
        x, place = x[left], place[left]
    return out


def one_after_the_other(x, place, out):
    a, b = x + 1, x + 2
    for turn in range(9):
        after = a + b
        left = after < 100
        out[place[~left]] = turn
        place = place[left]
        a, b = b[left], after[left]
    return out


def one_before_the_other(x, place, out):
    b, a = x + 1, x + 2
    for turn in range(9):
        after = a + b
        left = after < 100
        out[place[~left]] = turn
        place = place[left]
        b, a = a[left], after[left]
    return out


def asked_of_positions(x, place, out):
    for turn in range(9):
        fine = np.all(place < 200)
        x = x * 1.5 + fine
        gone = x > 20
        out[place[gone]] = turn
        place, x = place[~gone], x[~gone]
    return out


def left_where_positions_are_small(x, place, out):
    for _ in range(9):
        x = x * 1.5
        out[place] = x
        if np.all(place < 20):
            break
        gone = x > 20
        place, x = place[~gone], x[~gone]
    return out


def by_a_mask_of_the_turn_before(x, place, out):
    gone = x > 6
    for turn in range(7):
        out[place[gone]] = turn + 1
        place, x = place[~gone], x[~gone] - 0.5
        gone = x < 3
    return out


STRIPPED = [
    shrinking, until_none_is_left, counted, left_in_the_middle, left_at_the_end, added_to, in_place,
    by_masks_of_what_is_left, two_masks, from_a_table, one_after_the_other, one_before_the_other,
    asked_of_positions, left_where_positions_are_small, by_a_mask_of_the_turn_before,
]  # fmt: skip


# ---- as they are ----------------------------------------------------------------------------------------------------


def looked_at_afterwards(x, place, out):
    for turn in range(5):
        left = x > turn
        out[place[~left]] = turn
        x, place = x[left], place[left]
    return out, x


def number_looked_at_afterwards(x, place, out):
    turn = 0
    while len(x) and turn < 5:
        turn += 1
        left = x > turn
        out[place[~left]] = turn
        x, place = x[left], place[left]
    return out, turn


def compared(x, place, out):
    for _ in range(5):
        x = x - x.max() / 9 if len(x) else x
        left = x > 0
        out[place[~left]] = x[~left]
        x, place = x[left], place[left]
    return out


def divided_by_their_number(x, place, out):
    for _ in range(5):
        x = x - 1 / (len(x) + 1)
        left = x > 0
        out[place[~left]] = x[~left]
        x, place = x[left], place[left]
    return out


def neighbours(x, place, out):
    for turn in range(5):
        x = x - x[::-1] / 2
        left = x > 0
        out[place[~left]] = turn
        x, place = x[left], place[left]
    return out


def places_of_their_own(x, place, out):
    for turn in range(5):
        x = x - np.arange(len(x)) / 9
        left = x > 0
        out[place[~left]] = turn
        x, place = x[left], place[left]
    return out


def other_places(x, place, out):
    for turn in range(5):
        x = x - 1.5
        left = x > 0
        out[place[~left] // 2] = x[~left] + turn
        x, place = x[left], place[left]
    return out


def places_that_move(x, place, out):
    for turn in range(5):
        x = x - 1.5
        left = x > 0
        out[place[~left]] = turn
        x, place = x[left], place[left]
        place = np.maximum(place - 1, 0)
    return out


def read_elsewhere(x, place, out):
    for _ in range(5):
        x = x - out[place // 2]
        left = x > 1
        out[place] = x
        x, place = x[left], place[left]
    return out


def the_arguments_themselves(x, place, out):
    for turn in range(9):
        x *= 0.75
        gone = x < 2
        out[place[gone]] = turn
        place, x = place[~gone], x[~gone]
    return out


def left_while_there_are_some(x, place, out):
    for turn in range(9):
        x = x * 0.75
        gone = x < 2
        out[place[gone]] = turn
        place, x = place[~gone], x[~gone]
        if len(x) < 5:
            break
    return out


def left_when_none_has_gone(x, place, out):
    for turn in range(9):
        x = x * 0.75
        gone = x < 2
        if len(place[gone]) == 0:
            break
        out[place[gone]] = turn
        place, x = place[~gone], x[~gone]
    return out


def one_array_stays(x, place, out):
    y = x + 1
    for _ in range(3):
        left = x > 3
        out[place[~left]] = y[~left]
        place, x, y = place[left], x[left] - 1, y[: left.sum()]
    return out


def arrays_that_take_turns(x, place, out):
    for turn in range(4):
        for _ in range(turn):
            x, out = out, x
        out[1:] = x[:-1]
    return x


def one_array_by_two_names(x, place, out):
    z = y = x + 1
    for turn in range(5):
        z *= 1.5
        gone = y > 9
        out[place[gone]] = turn + 1
        place, z, y = place[~gone], z[~gone], y[~gone]
    return out


def arrays_that_overlap(x, place, out):
    both = np.repeat(x, 2)
    z, y = both[: len(x)], both[1 : len(x) + 1]
    for turn in range(5):
        z *= 1.5
        gone = y > 9
        out[place[gone]] = turn + 1
        place, z, y = place[~gone], z[~gone], y[~gone]
    return out


def one_array_left_for_two(x, place, out):
    z, y = x + 1, x + 2
    for turn in range(5):
        z *= 1.5
        gone = y > 9
        out[place[gone]] = turn
        place = place[~gone]
        z = y = z[~gone]
    return out


def changed_and_kept(x, place, out):
    z, other = x + 1, x + 2
    either = z if x.sum() > 3 else other
    for turn in range(5):
        z *= 1.5
        gone = z > 9
        out[place[gone]] = turn
        place, z = place[~gone], z[~gone]
    return out, either


STAYING = [
    looked_at_afterwards, number_looked_at_afterwards, compared, divided_by_their_number, neighbours,
    places_of_their_own, other_places, places_that_move, read_elsewhere, the_arguments_themselves,
    left_while_there_are_some, left_when_none_has_gone, one_array_stays, one_array_by_two_names,
    arrays_that_overlap, one_array_left_for_two, changed_and_kept,
]  # fmt: skip


def arguments(size: int, dtype: Any = np.float64, seed: int = 3) -> list[Any]:
    rng = np.random.default_rng(seed + size)
    return [(rng.random(size) * 12).astype(dtype), np.arange(size), np.zeros(size + 3, dtype)]


def outcomes(function: Callable[..., Any], given: Callable[[], list[Any]], where: str) -> None:
    expected = run(function, given())
    for threads in (1, 2):
        program = weft.program(function, fallback="error", threads=threads)
        for _ in range(2):
            assert_same_outcome(run(program, given()), expected, where=f"{where}, {threads} threads")


def runs_in_strips(function: Callable[..., Any], given: list[Any]) -> bool:
    program = weft.program(function, fallback="error")
    program(*given)
    return "map (%strip." in program.inspect_graph("strip-survivors")


def test_points_go_through_all_turns_strip_by_strip(golden: Golden, short: None) -> None:
    program, session = through(
        unguarded(shrinking, arguments(20)), Simplify(), InlineProducers(), StripSurvivors(), Simplify()
    )
    assert "the loop runs strip by strip, each until no point of it is left" in reasons(session, done=True)
    assert body_text(program) == golden
    for size in (0, 1, 7, 8, 9, 40):
        assert_agrees(shrinking, program, lambda size=size: arguments(size))


@pytest.mark.parametrize("function", STRIPPED, ids=lambda f: f.__name__)
def test_strips_give_what_numpy_gives(function: Callable[..., Any], short: None) -> None:
    assert runs_in_strips(function, arguments(5))
    for size in (0, 1, 7, 8, 9, 17, 300):
        outcomes(function, lambda size=size: arguments(size), f"{size} points")


@pytest.mark.parametrize("function", STAYING, ids=lambda f: f.__name__)
def test_other_loops_stay_as_they_are(function: Callable[..., Any], short: None) -> None:
    assert not runs_in_strips(function, arguments(5))
    for size in (1, 9, 60):
        outcomes(function, lambda size=size: arguments(size), f"{size} points")


def test_arrays_of_one_element_that_take_turns() -> None:
    for size in (1, 2):
        outcomes(arrays_that_take_turns, lambda size=size: [np.ones(size), None, np.zeros(size)], f"{size}")


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128, np.int64, np.int16])
def test_other_types(dtype: Any, short: None) -> None:
    def moduli(x, place, out):
        for turn in range(6):
            x = x + x
            gone = np.abs(x) > 50
            out[place[gone]] = turn
            place, x = place[~gone], x[~gone]
        return out

    assert runs_in_strips(moduli, arguments(5, dtype))
    outcomes(moduli, lambda: arguments(41, dtype), str(dtype))


@pytest.mark.parametrize(
    "place",
    [
        np.arange(30)[::-1],
        np.full(30, 4),
        np.arange(30) - 5,
        np.arange(30) * 2,
        np.arange(30) + 3,
        np.r_[np.arange(29), 27],
        np.arange(29),
        np.arange(31),
        np.arange(60)[::2],
        np.arange(30).astype(np.int32),
        np.arange(30).astype(np.uint64),
        np.arange(30) / 2,
    ],
    ids=str,
)
@pytest.mark.parametrize("function", [shrinking, left_at_the_end, added_to, from_a_table], ids=lambda f: f.__name__)
def test_positions_of_all_kinds(function: Callable[..., Any], place: Any, short: None) -> None:
    def given() -> list[Any]:
        x, _, out = arguments(30)
        return [x, place.copy(), out]

    outcomes(function, given, "positions")


def test_what_python_says_in_a_later_turn(short: None) -> None:
    """Only points that have gone are looked for: one out of bounds that stays for a while fails in its turn."""

    def given() -> list[Any]:
        x, place, out = arguments(30)
        x[20], place[20] = 11.9, 99
        return [x, place, out]

    outcomes(shrinking, given, "out of bounds")
    x, place, out = given()
    x[20] = np.inf
    outcomes(shrinking, lambda: [x, place, out.copy()], "out of bounds, but never used")


def test_arrays_of_two_coordinates(short: None) -> None:
    def of_a_grid(x, n, m):
        rows, columns = np.mgrid[0:n, 0:m]
        found = np.zeros((n, m), np.int32)
        rows, columns, x = rows.ravel(), columns.ravel(), x.ravel()
        for turn in range(9):
            x = x * 1.5
            gone = x > 20
            found[rows[gone], columns[gone]] = turn
            rows, columns, x = rows[~gone], columns[~gone], x[~gone]
        return found

    x = np.random.default_rng(2).random((9, 7)) * 9
    assert runs_in_strips(of_a_grid, [x, 9, 7])
    outcomes(of_a_grid, lambda: [x, 9, 7], "grid")
    outcomes(of_a_grid, lambda: [x.T, 7, 9], "transposed")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308, -1.0])
def test_turns_warn_as_numpy_warns(value: float, short: None) -> None:
    def roots(x, place, out):
        for _ in range(4):
            x = np.sqrt(x) * 1e200
            left = x < 1e250
            out[place] = x - x
            place, x = place[left], x[left] / 1e200
        return out

    def given() -> list[Any]:
        x, place, out = arguments(50)
        x[[3, 44]] = value
        return [x, place, out]

    assert runs_in_strips(roots, given())
    for function in (roots, shrinking, added_to, left_at_the_end):
        outcomes(function, given, str(value))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zero", [0, 7])
def test_numbers_warn_in_turns_without_points(zero: int, short: None) -> None:
    def by_a_table(x, place, out, table):
        for turn in range(8):
            x = x * (1 / table[turn])
            left = x < 6
            out[place[~left]] = turn
            x, place = x[left], place[left]
        return out

    table = np.full(8, 0.5)
    table[zero] = 0
    for size in (0, 1, 9):
        outcomes(by_a_table, lambda size=size: [*arguments(size), table], f"{size} points")


def test_arrays_that_share_memory(short: None) -> None:
    """Python sees every other call."""

    def given() -> list[Any]:
        whole = np.random.default_rng(5).random(80) * 12
        return [whole[:40], np.arange(40), whole[30:75]]

    outcomes(added_to, given, "shared")


def test_many_points_share_threads() -> None:
    assert runs_in_strips(shrinking, arguments(50))
    outcomes(shrinking, lambda: arguments(70_000), "many")
    outcomes(left_at_the_end, lambda: arguments(70_001), "many")


def test_a_second_loop_around_them(short: None) -> None:
    def again_and_again(x, place, out):
        total = np.zeros_like(out)
        for start in range(4):
            y, at = x + start, place
            for turn in range(6):
                y = y * 1.5
                gone = y > 30
                out[at[gone]] = turn
                at, y = at[~gone], y[~gone]
            total += out
        return total

    assert runs_in_strips(again_and_again, arguments(5))
    outcomes(again_and_again, lambda: arguments(77), "twice")
