"""Objects that are called, objects in lists and in other objects, and what is assigned to their attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.data import f8
from tests.end_to_end.outcome import assert_native, check
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_objects(row: Row) -> None:
    row.check()


class Dense:
    """Remembers what it was given."""

    def __init__(self, weights: Any) -> None:
        self.weights, self.given, self.calls = weights, None, 0

    def forward(self, x):
        self.given = x
        self.calls += 1
        return x * self.weights

    def backward(self, g):
        return g * self.given


class Bounded:
    """Has no weights."""

    def __init__(self) -> None:
        self.mask = None

    def forward(self, x):
        self.mask = x > 1
        return x * self.mask

    def backward(self, g):
        return g * self.mask


class Scale:
    """An object that is called."""

    def __init__(self, by: float, kind: str = "linear") -> None:
        self.by, self.kind, self.calls = by, kind, 0

    def __call__(self, x, plus=0.0):
        self.calls += 1
        if self.kind == "square":
            return x * x * self.by + plus
        return x * self.by + plus


class Model:
    """Objects and functions in an object."""

    def __init__(self, kind: str) -> None:
        self.scale, self.dense, self.rectify = Scale(2.0, kind), Dense(3.0), np.abs

    def run(self, x):
        y = self.scale(x, plus=1.0) + self.scale(x)
        return self.rectify(self.dense.forward(y))


SCALE = Scale(1.5)


def layers(*shared: Any) -> list[Any]:
    return [Dense(2.0), Bounded(), Dense(0.5), *shared]


@TABLE.add(lambda: (layers(), f8(4)), lambda: (layers(), f8(0)), lambda: (layers(Bounded()), f8(2, 3)))
def layers_in_a_list(items, x):
    for layer in items:
        x = layer.forward(x)
    g = x * 2
    for layer in reversed(items):
        g = layer.backward(g)
    return x, g


@TABLE.add(lambda: (layers(), f8(4), 2), lambda: (layers(), f8(4), 0))
def one_of_the_list(items, x, i):
    return items[2].forward(x) + items[0].forward(x) * i


@TABLE.add(lambda: (f8(3), Scale(2.0)), lambda: (f8(3), Scale(2.0, "square")), lambda: (f8(0), Scale(3)))
def called_object(x, scale):
    for _ in range(3):
        x = scale(x) + scale(x, plus=0.5)
    return x, scale.calls


@TABLE.add(lambda: (Model("linear"), f8(3)), lambda: (Model("square"), f8(3)))
def objects_in_an_object(model, x):
    return model.run(x) - model.dense.given


@TABLE.add(lambda: (f8(3), 1), lambda: (f8(3), 9), need="compiled")
def object_from_outside(v, i):
    SCALE.by = 2.5
    v[i] = SCALE(v[0])
    SCALE.by = 1.5
    return SCALE.by


@TABLE.add(lambda: (Scale(2.0), f8(3), 1), lambda: (Scale(2.0), f8(3), 7), lambda: (Model("a"), f8(3), 1))
def wrong_calls(scale, v, i):
    scale.by = 9.0
    return scale(v[i], minus=1)


class Momentum:
    """Its methods have names that dicts, lists and arrays have methods of, too."""

    def __init__(self) -> None:
        self.rate = 0.5
        self.before: Any = None

    def update(self, w, g):
        if self.before is None:
            self.before = np.zeros(np.shape(w))
        self.before = self.before * 0.25 + g
        return w - self.rate * self.before

    @staticmethod
    def sort(x):
        return x[::-1] * 2.0


class Trained:
    def __init__(self) -> None:
        self.w, self.rule = np.ones((2, 3)), Momentum()

    def learn(self, g, n):
        for _ in range(n):
            self.w = self.rule.update(self.w, self.rule.sort(g))
        return self.w.sum(axis=0) + self.rule.before.sum()


@TABLE.add(lambda: (Trained(), f8(2, 3), 2), lambda: (Trained(), f8(1, 3), 1), need="compiled")
def names_that_containers_have_too(model, g, n):
    return model.learn(g, n)


def test_the_same_object_twice() -> None:
    """Two names for one object: what is assigned through one is seen through the other."""

    def make() -> tuple[Any, ...]:
        shared = Dense(3.0)
        return [shared, Bounded(), shared], f8(4)

    check(layers_in_a_list, make, make)


def test_objects_are_compiled_once() -> None:
    program = check(layers_in_a_list, *[lambda: (layers(), f8(4))] * 4)
    assert_native(program, calls=4)
    assert program.stats.variants == 1


class Account:
    def __init__(self) -> None:
        self.sum = 0


def pays_twice(first, second, n):
    for _ in range(n):
        first.sum += 1
        second.sum += 10
    return first.sum, second.sum


def test_one_object_by_two_names_without_any_array() -> None:
    program = weft.program(pays_twice)
    account = Account()

    assert program(Account(), Account(), 3) == (3, 30)
    assert program.stats.native_calls
    assert program(account, account, 3) == (33, 33)


# ---------------------------------------------------------------- whether there is something


class Shelf:
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)


class Plain:
    def __init__(self, items):
        self.items = items


@TABLE.add(lambda: (Shelf(f8(0)), f8(3)), lambda: (Shelf(f8(2)), f8(3)), need="right")
def objects_with_a_length_may_be_false(shelf, v):
    return v * 2.0 if shelf else v + 1.0


@TABLE.add(lambda: (Plain(f8(0)), f8(3)), lambda: (Plain(f8(2)), f8(3)))
def plain_objects_and_functions_are_true(plain, v):
    def twice(x):
        return x * 2.0

    return twice(v) if plain and twice else v
