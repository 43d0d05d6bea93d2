"""Statements that are not compiled, in branches that may never be reached; views NumPy does not let one write."""

from __future__ import annotations

import copy
import operator
import pickle
import warnings

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same_outcome, run


def talkative(x, verbose):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        if verbose:
            print("at", i, total)
        x[i] = -total
    return total


def test_a_branch_that_is_not_reached_costs_nothing() -> None:
    program = weft.program(talkative)
    x = np.arange(4.0)
    assert_same_outcome(run(program, (x.copy(), False)), run(talkative, (x.copy(), False)))
    assert program.stats.native_calls == 1
    assert program.stats.resumes == program.stats.fallback_calls == 0


def test_a_branch_that_is_reached_goes_on_in_python_and_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    program = weft.program(talkative)
    x, y = np.arange(4.0), np.arange(4.0)
    expected = talkative(y, True)
    said = capsys.readouterr().out
    with pytest.warns(weft.FallbackWarning, match="print is not compiled") as caught:
        assert program(x, True) == expected
    assert capsys.readouterr().out == said
    np.testing.assert_array_equal(x, y)
    assert [w.lineno for w in caught] == [talkative.__code__.co_firstlineno + 5]
    with warnings.catch_warnings():
        warnings.simplefilter("error", weft.FallbackWarning)
        program(np.arange(4.0), True)
    assert program.stats.resumes == 2


def test_under_error_even_a_branch_must_be_compiled() -> None:
    with pytest.raises(weft.CompileError, match="print is not compiled"):
        weft.program(talkative, fallback="error")(np.arange(4.0), False)


def writes_the_diagonal(a):
    d = np.diag(a)
    d[0] = 9
    return a


def writes_a_broadcast(a):
    d = np.broadcast_to(a, (2, 3))
    d[0, 0] = 9
    return a


def gives_the_diagonal(a):
    return np.diagonal(a)


@pytest.mark.parametrize(
    ("function", "argument"),
    [(writes_the_diagonal, np.eye(2)), (writes_a_broadcast, np.ones(3)), (gives_the_diagonal, np.eye(3))],
)
def test_read_only_views_stay_read_only(function, argument) -> None:
    program = weft.program(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.FallbackWarning)
        actual = run(program, (argument.copy(),))
    expected = run(function, (argument.copy(),))
    assert_same_outcome(actual, expected)
    if isinstance(expected.result, np.ndarray):
        assert actual.result.flags.writeable == expected.result.flags.writeable


@pytest.mark.parametrize("rank", [1, 2])
def test_a_first_statement_that_overlaps_itself(rank: int) -> None:
    def reverse(x):
        x[...] = x[::-1]

    x = np.arange(6.0).reshape((6,) if rank == 1 else (3, 2))
    y = x.copy()
    weft.program(reverse, fallback="error")(x)
    reverse(y)
    np.testing.assert_array_equal(x, y)


def test_a_tuple_is_stored_into_a_row() -> None:
    def trajectory(n):
        t = np.zeros((n, 2))
        for i in range(n):
            t[i] = i, i * 2.5
        return t

    program = weft.program(trajectory, fallback="error")
    np.testing.assert_array_equal(program(4), trajectory(4))


class Slotted:
    factor = 2
    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 3.0


class WithProperty:
    size = property(operator.attrgetter("side"))
    side = 3.0


def test_class_attributes_and_slots_are_read() -> None:
    def scaled(shape, x):
        return shape.size * shape.factor * x

    program = weft.program(scaled, fallback="error")
    assert program(Slotted(), 1.5) == scaled(Slotted(), 1.5) == 9.0


def test_a_property_that_no_python_function_computes_runs_in_python() -> None:
    def scaled(shape, x):
        return shape.size * x

    with pytest.warns(weft.FallbackWarning, match="plain attribute"):
        assert weft.program(scaled)(WithProperty(), 2.0) == 6.0


@weft.program
def pickled(x):
    return x + 1


def test_programs_are_pickled_and_copied_as_functions_are() -> None:
    pickled(1)
    assert pickle.loads(pickle.dumps(pickled)) is pickled
    assert copy.copy(pickled) is copy.deepcopy(pickled) is pickled


def test_what_python_raises_has_no_other_exception_behind_it() -> None:
    def add(a, b):
        return a + b

    with pytest.warns(weft.FallbackWarning), pytest.raises(TypeError) as caught:
        weft.program(add)(np.ones(3), "text")
    assert caught.value.__context__ is None


def test_one_unusual_value_does_not_keep_the_others_in_python() -> None:
    def double(n):
        return n * 2

    program = weft.program(double, fallback="error")
    assert program(10**30) == 2 * 10**30
    assert program(21) == 42
    assert (program.stats.native_calls, program.stats.fallback_calls) == (1, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_strict_gives_the_bits_of_numpy(dtype: type) -> None:
    def functions(x, y):
        return np.exp(x), np.sin(x) * np.cos(y), np.tanh(x), np.abs(x) ** y, np.arctan2(x, y), np.hypot(x, y)

    x = (np.random.default_rng(0).normal(size=1001) * 5).astype(dtype)
    y = x[::-1].copy()
    for actual, expected in zip(weft.program(functions, strict=True)(x, y), functions(x, y), strict=True):
        np.testing.assert_array_equal(actual, expected)
