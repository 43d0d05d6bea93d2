"""Programs that are cut in inner loops: no slower than Python where there is little to win."""

from __future__ import annotations

import sys
from collections import deque
from random import Random
from types import FrameType
from typing import Any

import numpy as np
import pytest

import weft

pytestmark = pytest.mark.filterwarnings("ignore::weft.FallbackWarning")


def levels(neighbours, source):
    distance = np.full(len(neighbours), -1)
    distance[source] = 0
    queue = deque([source])
    order = []
    while queue:
        u = queue.popleft()
        order.append(int(u))
        for v in np.nonzero(neighbours[u])[0]:
            if distance[v] < 0:
                distance[v] = distance[u] + 1
                queue.append(v)
    return distance, order


def hits(rng, n):
    inside = 0
    for _ in range(n):
        x, y = rng.uniform(-1, 1), rng.uniform(-1, 1)
        if x * x + y * y <= 1:
            inside += 1
    total = np.zeros(n)
    for k in range(n):
        total[k] = np.sum(np.arange(k) * 0.5)
    return inside, total


def sums(rng, x):
    result = []
    for k in range(len(x)):
        shift = rng.uniform(0, 1)
        y = x[k] * 2.0 + shift
        z = np.sqrt(y * y + 1.0) * x.sum(axis=1)
        result.append(z + rng.uniform(0, 1) * y)
    return np.array(result)


def python_calls(program: Any, *given: Any) -> int:
    """How many functions of this file Python enters during a call."""
    count = 0

    def note(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call" and frame.f_code.co_filename == __file__

    sys.setprofile(note)
    try:
        program(*given)
    finally:
        sys.setprofile(None)
    return count


def test_pieces_of_pieces_become_one_function() -> None:
    neighbours = np.random.default_rng(0).random((30, 30)) < 0.2
    program: Any = weft.program(levels)
    expected = levels(neighbours, 0)
    for _ in range(5):
        distance, order = program(neighbours, 0)
        np.testing.assert_array_equal(distance, expected[0])
        assert order == expected[1]
    assert python_calls(program, neighbours, 0) <= 2


def test_a_handful_of_numbers_is_left_to_python() -> None:
    program: Any = weft.program(hits)
    for seed in range(4):
        inside, total = program(Random(seed), 50)
        expected = hits(Random(seed), 50)
        assert inside == expected[0]
        np.testing.assert_allclose(total, expected[1], rtol=1e-15)
    assert 0 < program.stats.native_calls < 50


def test_pieces_with_arrays_stay_compiled() -> None:
    program: Any = weft.program(sums)
    x = np.random.default_rng(5).random((7, 7))
    for seed in range(5):
        ours, theirs = program(Random(seed), x), sums(Random(seed), x)
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    assert program.stats.native_calls >= 7


def test_exceptions_in_a_settled_program() -> None:
    neighbours = np.eye(4)
    program: Any = weft.program(levels)
    for _ in range(4):
        with pytest.raises(IndexError, match="out of bounds"):
            program(neighbours, 9)
        program(neighbours, 1)
