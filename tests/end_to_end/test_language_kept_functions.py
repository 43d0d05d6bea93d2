"""Functions and methods that are kept in attributes and dicts, and called from there."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.data import f8
from tests.end_to_end.outcome import assert_native, check

pytestmark = PLAINLY


def logistic(x):
    return 1 / (1 + np.exp(-x))


def double(x):
    return x * 2


FUNCTIONS = {"logistic": logistic, "tanh": np.tanh, "double": double}


class Layer:
    """Keeps a method of its own, and one of another object's."""

    def __init__(self, rate: float, other: Layer | None = None) -> None:
        self.rate = rate
        self.calls = 0
        self.step = self.stepped
        self.others = self.stepped if other is None else other.stepped
        self.count = self.counted
        self.table = {"step": self.stepped, "double": double}

    def stepped(self, x, power=1):
        return np.where(x >= 0.3, self.rate, 0.0) ** power

    def counted(self, x):
        self.calls += 1
        return x + self.calls


def agreeing(function: Any, *makers: Any, **options: Any) -> Any:
    """The program, after calls that gave what Python gives and left the layer as Python does."""
    chosen: Any = {"fallback": "error", **options}
    program: Any = weft.program(function, **chosen)
    for make in (*makers, *makers):
        (mine, *others), (its, *same) = make(), make()
        expected, got = function(mine, *others), program(its, *same)
        np.testing.assert_equal(got, expected)
        assert (its.rate, its.calls) == (mine.rate, mine.calls)
        assert its.step.__self__ is its
    return program


def test_a_method_that_was_kept() -> None:
    def run(layer, x):
        y = layer.step(x * 2)
        return y + layer.others(x, power=2) + layer.step(y)

    program = agreeing(run, lambda: (Layer(0.5), f8(4)), lambda: (Layer(0.5, Layer(3.0)), f8(4)))
    assert_native(program, calls=4)


def test_another_method_is_noticed() -> None:
    def run(layer, x):
        return layer.step(x)

    layer: Any = Layer(0.5)
    called: Any = weft.program(run, fallback="error")
    x = f8(4)
    np.testing.assert_array_equal(called(layer, x), run(layer, x))
    layer.rate = 7.0
    np.testing.assert_array_equal(called(layer, x), run(layer, x))
    layer.step = Layer(9.0).stepped
    np.testing.assert_array_equal(called(layer, x), run(layer, x))
    layer.step = layer.counted
    np.testing.assert_array_equal(called(layer, x), layer.counted(x) - 1)
    assert layer.calls == 2
    layer.step = double
    np.testing.assert_array_equal(called(layer, x), run(layer, x))


def test_what_a_kept_method_writes_is_seen_through_its_object() -> None:
    def run(layer, x):
        layer.calls += 10
        y = layer.count(x)
        layer.calls += 100
        return y, layer.calls, layer.count(x)

    agreeing(run, lambda: (Layer(0.5), f8(4)), fallback="warn")


def test_functions_in_dicts_and_tuples() -> None:
    def run(x, name, pair):
        first = FUNCTIONS["logistic"](x) + FUNCTIONS["tanh"](x)
        return first + FUNCTIONS[name](x) * pair[0](x) + pair[1](x, x)

    program = check(run, lambda: (f8(4), "double", (double, np.add)), lambda: (f8(3), "tanh", (np.sin, np.add)))
    assert_native(program, calls=2)


def test_a_dict_of_methods() -> None:
    def run(layer, x):
        return layer.table["step"](x) + layer.table["double"](x)

    assert_native(agreeing(run, lambda: (Layer(0.5), f8(4))), calls=2)
