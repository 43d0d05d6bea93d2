"""Programs that once gave another answer than Python, each as small as it could be made."""

from __future__ import annotations

import builtins
import math
import warnings
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same_outcome, run


class Thing:
    def __init__(self) -> None:
        self.x = 1.0
        self.a = np.ones(3)

    def twice(self):
        return self.x * 2


def compared(function: Any, *makers: Any) -> None:
    """The program and the function give the same; each maker makes the arguments of one call."""
    program = weft.program(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.FallbackWarning)
        for make in makers:
            actual, expected = run(program, make()), run(function, make())
            assert_same_outcome(actual, expected)


def test_the_same_object_twice() -> None:
    def through_two_names(a, b):
        a.x = 5.0
        a.a = np.zeros(2)
        return b.x, b.a.sum()

    def same() -> tuple[Thing, Thing]:
        thing = Thing()
        return thing, thing

    program = weft.program(through_two_names)
    assert program(Thing(), Thing()) == (1.0, 3.0)
    assert program(*same()) == (5.0, 0.0)


def test_a_new_attribute_is_written_back_from_a_loop() -> None:
    def count(thing, n):
        for i in range(n):
            thing.z = i

    program = weft.program(count, fallback="error")
    thing = Thing()
    program(thing, 3)
    assert thing.z == 2  # type: ignore[attr-defined]
    program(thing, 0)
    assert thing.z == 2  # type: ignore[attr-defined]


def test_lists_change_in_place() -> None:
    def extended(a):
        first = [1, 2]
        second = first
        first += [a]
        return second

    compared(extended, lambda: (3,))


def test_an_array_is_no_element() -> None:
    def store(a, y):
        a[0] = y
        return a

    compared(store, lambda: (np.zeros(2), np.ones(1)), lambda: (np.zeros(2), np.array(3.0)))


def absolute(a):
    return abs(a[0])


def test_a_builtin_may_be_hidden_later(monkeypatch: pytest.MonkeyPatch) -> None:
    program = weft.program(absolute, fallback="warn")
    assert program(np.array([-2.0])) == 2.0
    monkeypatch.setitem(globals(), "abs", lambda x: "hidden")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.FallbackWarning)
        assert program(np.array([-2.0])) == "hidden"
    assert builtins.abs is not globals()["abs"]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_the_least_integer_has_no_absolute_value(dtype: Any) -> None:
    def by_name(a):
        return a[np.abs(a) < 1], a[np.abs(a) > 0]

    def by_sign(a):
        return a[np.where(a < 0, -a, a) <= 0]

    def one_by_one(a):
        found = 0
        for i in range(len(a)):
            x = a[i]
            if x < 0:
                x = -x
            found += x < 1
        return found

    for function in (by_name, by_sign, one_by_one):
        compared(function, lambda: (np.array([np.iinfo(dtype).min, 0, 3, -1] * 20, dtype),))


class Constants:
    N = 3


def scaled_by_class(a):
    return a * Constants.N


def call_twice(thing):
    return thing.twice()


def with_default(x, k=2.0):
    return x * k


def call_default(a):
    return with_default(a[0])


def test_classes_methods_and_defaults_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    program = weft.program(scaled_by_class, fallback="error")
    assert program(2.0) == 6.0
    monkeypatch.setattr(Constants, "N", 5)
    assert program(2.0) == 10.0

    program = weft.program(call_twice, fallback="error")
    assert program(Thing()) == 2.0
    monkeypatch.setattr(Thing, "twice", lambda self: self.x * 3)
    assert program(Thing()) == 3.0

    program = weft.program(call_default, fallback="error")
    assert program(np.ones(1)) == 2.0
    monkeypatch.setattr(with_default, "__defaults__", (7.0,))
    assert program(np.ones(1)) == 7.0


def test_the_nested_function_that_was_defined() -> None:
    def one_of_two(a, k):
        if a.ndim == 1:

            def g(x):
                return x + 1
        else:

            def g(x):
                return x - 1

        n = k * 4611686018427387904
        return g(n)

    def on_one_line(k):
        g = lambda x: x + 1; n = k * 4611686018427387904; return g(n)  # fmt: skip  # noqa: E702, E731

    compared(one_of_two, lambda: (np.ones(1), 5), lambda: (np.ones((1, 1)), 5), lambda: (np.ones(1), 1))
    compared(on_one_line, lambda: (5,), lambda: (1,))


def test_an_int_has_no_negative_zero() -> None:
    def truncated(x):
        return float(int(x)), int(x) * 1.0, int(x) / 2

    result = weft.program(truncated, fallback="error")(-0.5)
    assert [math.copysign(1.0, part) for part in result] == [1.0, 1.0, 1.0]


def test_keywords_that_do_not_exist() -> None:
    def stepped(a):
        total = 0
        for i in range(5, step=2):  # type: ignore[call-overload]
            total += i
        return total + a

    def counted(a):
        for i, x in enumerate(a, foo=3):  # type: ignore[call-overload]
            a[0] = i + x
        return a

    compared(stepped, lambda: (1,))
    compared(counted, lambda: (np.ones(2),))


def test_identity_comes_before_equality() -> None:
    def contained(x):
        return x in (x, 1.0)

    assert weft.program(contained, fallback="error")(float("nan")) is True


def test_a_bool_is_no_axis() -> None:
    def summed(a, axis):
        return a.sum(axis=axis)

    compared(summed, lambda: (np.ones((2, 3)), True))


def test_only_operators_on_scalars_speak_of_scalars() -> None:
    def root(a):
        return np.sqrt(a[0])

    def added(a, b):
        return np.add(a, b)

    def doubled(z):
        return z + z

    compared(root, lambda: (np.array([-1.0]),))
    compared(added, lambda: (np.uint8(200), np.uint8(100)))
    compared(doubled, lambda: (np.array(200, "u1"),), lambda: (np.uint8(200),))


def test_a_helper_that_always_leaves() -> None:
    def double(p):
        p *= 2

    def caller(a):
        double(a)
        return a

    def loop_over_nothing(a):
        for i in z:  # noqa: F821  # type: ignore[name-defined]
            a += i
        return a

    compared(caller, lambda: (np.ones(2, bool),), lambda: (np.ones(2),))
    compared(loop_over_nothing, lambda: (np.ones(2),))


def test_a_choice_on_the_right_of_an_in_place_update() -> None:
    def factor(p):
        if p[0] > 0:
            return 2.0
        return 4

    def divide(a, b):
        b /= factor(a)
        return b

    program = weft.program(divide, fallback="error")
    for first in (1.0, -1.0):
        a = np.full(2, first)
        np.testing.assert_array_equal(program(a, np.ones(2)), divide(a, np.ones(2)))


def test_shapes_are_compared() -> None:
    def square(a):
        return a.shape == (2, 2), a.shape != (2,), a.shape[:1] == (2,)

    program = weft.program(square, fallback="error")
    for shape in ((2, 2), (3, 2)):
        assert program(np.ones(shape)) == square(np.ones(shape))


def test_errors_of_python_in_a_branch_that_is_not_taken() -> None:
    def odd(a):
        x = None + None if a[0] > 5 else 1  # type: ignore[operator]
        y = (1, 2)[::0] if a[0] > 5 else 2
        return x + y if a[0] < 9 else 0  # type: ignore[operator]

    compared(odd, lambda: (np.ones(1),), lambda: (np.full(1, 7.0),))


def test_a_reversed_slice_added_in_place() -> None:
    def folded(a):
        a[::2] += a[3::-2]
        return a

    compared(folded, *(lambda n=n: (np.arange(1, n + 1),) for n in (2, 3, 4, 5)))


def test_stores_through_parts_of_an_axis_that_memory_does_not_have() -> None:
    def framed(a, k):
        x = a[None, :, None]
        x[k:, ::2, :k] += 5.0
        x[::k] -= 4.0
        return x, x[k:]

    def flat(a, k):
        w = a.ravel()
        w[k:] = 3.0
        w[2:] = w[1:-1] / 2
        return w

    for function, shape in ((framed, (4,)), (flat, (1, 1))):
        program = weft.program(function, fallback="error")
        for k in (0, 1, 2, -1, -2):
            assert_same_outcome(run(program, (np.ones(shape), k)), run(function, (np.ones(shape), k)))


def test_squeezing_nothing_gives_the_very_array() -> None:
    def squeezed(a):
        return np.squeeze(a), a.squeeze(), np.squeeze(a, axis=())

    program = weft.program(squeezed, fallback="error")
    for shape in ((3,), (3, 4), (1, 3)):
        a = np.ones(shape)
        assert [made is a for made in program(a)] == [made is a for made in squeezed(a)]


def test_squares_of_complex_numbers_overflow_with_a_warning() -> None:
    def spread(a):
        return a.var(), np.std(a, axis=0), np.var(a, axis=1, ddof=1)

    def lengths(a: Any) -> Any:
        return np.linalg.norm(a), np.linalg.norm(a, axis=1), np.linalg.norm(a[0]), np.linalg.norm(a, None, None, True)

    whole = np.array([[1, -1, 2], [3, -1, 1]])
    for function in (spread, lengths):
        program = weft.program(function, fallback="error")
        for scale in (2.0, 1e200, 1e154, 1.5 + 0.5j, 1e200 + 0j, 1e200 - 2e200j, np.complex64(1e30)):
            actual, expected = told(program, whole * scale), told(function, whole * scale)
            assert actual[1] == expected[1]
            for mine, other in zip(actual[0], expected[0], strict=True):
                np.testing.assert_allclose(mine, other, rtol=1e-6 if np.result_type(scale) == np.complex64 else 1e-14)


def told(function: Any, a: Any) -> tuple[Any, set[str]]:
    """What a function gives, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return function(a), {str(item.message) for item in caught}
