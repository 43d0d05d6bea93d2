"""`choice` and `permutation` of a range or a list: NumPy makes an array of it, and so does the compiled program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY

pytestmark = PLAINLY

MAKERS: tuple[Callable[[int], Any], ...] = (np.random.default_rng, np.random.RandomState)


def drawn(rng, n, w):
    total = 0
    for i in range(3):
        total += rng.choice(range(n)) * 10**i
    one = rng.choice(range(3, n + 3, 2)), rng.choice(range(n, 0, -1), p=w)
    many = rng.choice(range(n), size=(2, 3)), rng.choice(a=range(-n, 0), size=2, replace=False)
    return total, one, many, rng.permutation(range(2, n + 2)), rng.random()


@pytest.mark.parametrize("make", MAKERS)
def test_a_draw_from_a_range_is_that_of_numpy(make: Callable[[int], Any]) -> None:
    program = weft.program(drawn, fallback="error")

    for n in (2, 3, 7):
        w = np.arange(1.0, n + 1) / np.arange(1.0, n + 1).sum()
        expected, found = drawn(make(n), n, w), program(make(n), n, w)
        assert _flat(found) == _flat(expected)


def drawn_from_lists(rng, n):
    taken = []
    for j in range(n):
        others = [k for k in range(n) if k != j]
        a, b, c = rng.choice(others, 3, replace=False)
        taken.append(a * 100 + b * 10 + c)
    weights = [1.0 / (k + 1) for k in range(n)]
    one = rng.choice(taken), rng.choice(n, p=weights / np.sum(weights))
    return taken[0], one, rng.permutation(taken), rng.random()


@pytest.mark.parametrize("make", MAKERS)
def test_a_draw_from_a_list_is_that_of_numpy(make: Callable[[int], Any]) -> None:
    program = weft.program(drawn_from_lists, fallback="error")

    for n in (4, 9):
        assert _flat(program(make(n), n)) == _flat(drawn_from_lists(make(n), n))


def _flat(result: Any) -> list[tuple[type, Any]]:
    """Numbers with their types, out of nested tuples and arrays."""
    if isinstance(result, tuple):
        return [entry for item in result for entry in _flat(item)]
    return [(np.ndarray, (result.dtype, result.tolist())) if isinstance(result, np.ndarray) else (type(result), result)]


@pytest.mark.parametrize("make", MAKERS)
def test_an_empty_range_raises_what_numpy_raises(make: Callable[[int], Any]) -> None:
    def one(rng, n):
        return rng.choice(range(n)) + 1

    program, rng = weft.program(one), make(1)
    assert program(rng, 4) == one(make(1), 4)

    with pytest.raises(ValueError, match=r"empty|greater than 0") as expected:
        one(make(1), 0)
    with pytest.raises(ValueError, match=r"empty|greater than 0") as found:
        program(rng, 0)

    assert str(found.value) == str(expected.value)
