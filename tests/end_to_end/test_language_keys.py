"""`min`, `max` and `sorted` with a key, and the methods of lists that look at all items."""

# The programs are written as users write them, so that each form occurs as it is.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.data import f8, i8
from tests.end_to_end.outcome import check
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_keys(row: Row) -> None:
    row.check()


def distance(p):
    return p[0] * p[0] + p[1] * p[1]


@TABLE.add(lambda: (f8(6) - 0.4, 0.5), lambda: (np.array([2.0, -2.0, 2.0, 1.0]), 0.0), lambda: (f8(1), 3.0))
def extremes(x, middle):
    near = min(x, key=lambda t: abs(t - middle))
    place = max(range(len(x)), key=lambda k: x[k])
    pair = min([(1, x[0]), (2, -x[0])], key=lambda p: p[1])
    return near, place, pair, max(x, key=abs), min(x[0], 0.25, key=abs), max((3.0, 4.0), (4.0, 3.0), key=distance)


@TABLE.add(lambda: (np.array([0.5, np.nan, 0.1, 0.9]),), lambda: (np.array([np.nan, 0.2]),))
def the_first_that_is_better_than_a_nan(x):
    return min(x, key=lambda t: -t), max(x, key=lambda t: t), min(range(len(x)), key=lambda i: x[i])


@TABLE.add(lambda: (np.array([3.0, 1.0, 2.0, 1.0, -3.0]), 2), lambda: (np.arange(9.0), -4))
def in_order(x, n):
    places = sorted(range(len(x)), key=lambda k: x[k])
    stable = sorted(range(len(x)), key=lambda k: abs(x[k]) // 2, reverse=True)
    few = sorted([n, 3, n - 2], key=lambda t: -t)
    few.append(n)
    return places, stable, few, sorted(x, key=abs)[1], sorted(x, key=lambda t: t > 1.5, reverse=False)


@TABLE.add(lambda: (f8(0),), lambda: (f8(1),), need="compiled")
def of_nothing(x):
    ordered = sorted(x, key=abs)
    return ordered, min(x, key=abs)


@TABLE.add(lambda: (np.array([0.5, np.nan, 0.1, -0.9]),), lambda: (f8(5),), need="compiled")
def nans_are_sorted_by_python(x):
    return sorted(range(len(x)), key=lambda i: x[i]), sorted(x, key=abs, reverse=True)


@TABLE.add(lambda: ([2, 2**53 + 1, 5],), lambda: ([1, 2, 3],), need="right")
def ints_and_floats_are_compared_as_they_are(v):
    return sorted(v, key=lambda t: float(2**53) if t == 5 else t)


@TABLE.add(lambda: (f8(3),), need="right")
def keys_that_are_tuples(x):
    return sorted(range(len(x)), key=lambda i: (x[i] > 0.5, -i))


@TABLE.add(lambda: (f8(6), i8(5)), lambda: (np.array([0.0, -0.0, 0.0]), i8(1)), lambda: (f8(0), i8(3)))
def sorted_in_place(x, m):
    a, b, c = list(x), list(m), [3, 1, 2]
    other = a
    none = a.sort()
    b.sort(reverse=True)
    c.sort()
    return a, other is a, none, b, c


@TABLE.add(
    lambda: (np.array([1.0, 2.0, 1.0, -0.0]), 2.0), lambda: (np.array([1.0, 5.0, 0.0]), 9.0), lambda: (f8(0), 1.0),
    need="compiled",
)  # fmt: skip
def looked_for(x, wanted):
    numbers = x.tolist()
    words = [1, 2, 3, 2]
    words.remove(2)
    times = numbers.count(1.0), numbers.count(wanted), words.count(2)
    return times, words, words.index(2), numbers.index(wanted)


@TABLE.add(lambda: (f8(3),), lambda: (f8(2),), need="compiled")
def a_nan_in_a_list(x):
    lost = float("nan")
    numbers = x.tolist()
    numbers.append(lost)
    return numbers.count(lost), numbers.index(lost)


def test_functions_of_the_users_are_not_pythons() -> None:
    def sorted(x, key):
        return key(x) + 1

    def own(x):
        return sorted(x, key=lambda t: t * 2)

    check(own, lambda: (f8(3),))


def test_a_default_is_left_to_python() -> None:
    def least(x):
        return min(x, key=abs, default=3)

    program: Any = weft.program(least)
    with pytest.warns(weft.FallbackWarning):
        assert program(f8(0)) == 3


# ---------------------------------------------------------------- the place of a number among a few


@TABLE.add(lambda: (np.arange(9).reshape(3, 3) - 4, 2), lambda: (np.zeros((2, 2), int), 0))
def first_of_the_best(table, gap):
    moves = np.zeros(table.shape, int)
    for i in range(1, table.shape[0]):
        for j in range(1, table.shape[1]):
            scores = [0, table[i - 1, j - 1] + 1, table[i - 1, j] - gap, table[i, j - 1] - gap]
            table[i, j] = max(scores)
            moves[i, j] = scores.index(max(scores))
    return moves


@TABLE.add(lambda: (2.0, 3), lambda: (3, 2.0), lambda: (np.int8(1), True), lambda: (7.5, 1), need="compiled")
def place_among_numbers(x, y):
    return [1, 2.0, np.int64(3)].index(x), (2, True, 0.5).index(y)


@TABLE.add(lambda: ("",), lambda: ("ACGT",))
def text_or_nothing(text):
    if not text:
        return -1
    counts = [0, 0]
    for character in text:
        counts[1 if character == "A" and character else 0] += 1
    return counts


# ---------------------------------------------------------------- keys made of the number of a turn


def layers(n):
    rng = np.random.default_rng(n)
    return {f"W{k}": rng.integers(-3, 4, (3, 3)).astype(float) for k in range(1, n + 1)}


class Network:
    def __init__(self, depth):
        self.depth = depth
        self.weights = layers(depth)

    def forward(self, x):
        for k in range(self.depth):
            x = np.maximum(self.weights[f"W{k + 1}"] @ np.round(x), 1.0)
        return x


@TABLE.add(lambda: (layers(3), f8(3, 2), 4), lambda: (layers(1), f8(3, 2), 1), lambda: (layers(2), f8(3, 2), 3))
def keys_of_turns_that_an_argument_counts(weights, x, n):
    for k in range(1, n):
        x = np.abs(weights["W" + str(k)].dot(np.round(x)))
    return x


@TABLE.add(lambda: (layers(3), f8(3, 2)), lambda: (layers(1), f8(3, 2)))
def keys_of_turns_backwards(weights, x):
    caches, gradients = [], {}
    depth = len(weights)
    for k in range(1, depth + 1):
        z = weights["W" + str(k)].dot(np.round(x))
        caches.append((x, z))
        x = np.maximum(z, 0)
    for k in reversed(range(depth)):
        before, z = caches[k]
        gradients["dW" + str(k + 1)] = np.dot(z, np.round(before).T)
    for k, name in enumerate(reversed(range(depth)), start=1):
        gradients[f"d{k}"] = gradients[f"dW{name + 1}"].sum()
    return x, gradients


@TABLE.add(lambda: (Network(3), f8(3)), lambda: (Network(0), f8(3)))
def keys_of_turns_that_an_object_counts(network, x):
    return network.forward(x)


@TABLE.add(lambda: (layers(2), 3), lambda: (layers(2), 40), need="right")
def keys_of_turns_that_are_not_there(weights, n):
    total = 0.0
    for k in range(1, n):
        total += weights[f"W{k}"].sum()
    return total


@TABLE.add(lambda: (list(range(25)), f8(3, 3)), need="right")
def keys_of_turns_that_are_too_many_to_write_out(inputs, w):
    states = {-1: np.zeros(3)}
    for t in range(len(inputs)):
        x = np.zeros(3)
        x[inputs[t] % 3] = 1.0
        states[t] = np.sign(w @ np.round(states[t - 1]) + x)
    total = np.zeros((3, 3))
    for t in reversed(range(len(inputs))):
        change = states[t] - 1.0
        total += change[:, None] * states[t - 1]
        change *= 2.0
        total -= change.sum()
    return total
