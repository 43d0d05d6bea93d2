"""Truth values counted in lanes of a byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same_outcome, run

# Around one round of the lanes, and around what fills them.
SIZES = (0, 1, 63, 64, 65, 1000, 64 * 255 - 1, 64 * 255, 64 * 255 + 1, 64 * 255 * 2 + 63, 600_001)


def total(m):
    return m.sum()


def false_ones(m):
    return np.count_nonzero(~m)


def of_every_third(m):
    return m[::3].sum() + m[::-1][1:].sum()


@pytest.mark.parametrize("function", [total, false_ones, of_every_third], ids=lambda f: f.__name__)
def test_of_a_vector(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    rng = np.random.default_rng(0)
    for size in SIZES:
        for share in (0.0, 0.5, 1.0):
            m = rng.random(size) < share
            assert_same_outcome(run(program, [m]), run(function, [m]), where=f"{size}, {share}")


def by_rows(m):
    return m.sum(axis=1), m.sum(axis=0), m.sum()


def test_of_a_matrix_in_any_order() -> None:
    program = weft.program(by_rows)
    m = np.random.default_rng(0).random((70, 1000)) < 0.9
    for x in (m, np.asfortranarray(m), m[::2, ::3], np.ones((3, 64 * 255 + 5), np.bool_)):
        assert_same_outcome(run(program, [x]), run(by_rows, [x]))


def test_a_lane_holds_what_it_counts() -> None:
    program = weft.program(total)
    program(np.ones(3, np.bool_))
    assert "uint8_t lane" in program.inspect_source()
