"""Calls: plain, decorated and nested functions, lambdas, defaults; globals and closures; methods; static arguments."""

# The programs are written as users write them; lambdas bound to names are among what is tested.
# ruff: noqa: E731, PLC3002, RET504

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.data import f4, f8, i8, parts
from tests.end_to_end.outcome import assert_native, assert_same, assert_same_outcome, check, run
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()

FACTOR = 3
OFFSETS = (1.5, -2)
WEIGHTS = np.array([1.0, 2.0, 4.0])
N, M = weft.symbols("N M")


@TABLE.parametrize()
def test_calls(row: Row) -> None:
    row.check()


# ---------------------------------------------------------------- functions


def double(x):
    return x * 2


def halves(x, by=2.0, *, plus=0):
    """A default, and a keyword alone."""
    return x / by + plus


def fill(v, value):
    """Changes its argument and returns nothing."""
    v[:] = value


def weighted(x, weights=WEIGHTS, bias=0.5, powers=[1, 2], *, more={"gain": 2.0}):  # noqa: B006
    """Defaults that are objects."""
    return (x * weights).sum() * more["gain"] + bias + sum(x[0] ** p for p in powers)


def counted(v, calls=np.zeros(2)):  # noqa: B008
    """A default that keeps what is written to it."""
    calls[0] += 1
    return v * calls[0]


def early(x):
    if x > 3:
        return x
    for i in range(10):
        if i > x:
            return -i
    return 0


def two(x):
    return x + 1, x - 1


@weft.program
def decorated(v):
    return v + 1


@TABLE.add(lambda: (3,), lambda: (1.5,), lambda: (f8(3),))
def plain_function(x):
    return double(x) + double(double(x))


@TABLE.add(lambda: (f8(3),), lambda: (f4(3),))
def decorated_function(v):
    return decorated(v) * decorated(v)


@TABLE.add(lambda: (f8(4), 2.5))
def function_that_changes_its_argument(v, x):
    w = v[1:3]
    result = fill(w, x)
    return result


@TABLE.add(lambda: (8.0,), lambda: (f8(3),))
def keywords_and_defaults(x):
    return halves(x), halves(x, 4), halves(by=3, x=x), halves(x, plus=1)


@TABLE.add(lambda: (5,), lambda: (2,), lambda: (2.5,))
def function_with_early_returns(x):
    return early(x) + early(x + 1)


@TABLE.add(lambda: (5,))
def several_results(x):
    up, down = two(x)
    return up * down, two(down)


@TABLE.add(lambda: (f8(5), 3))
def nested_function(v, k):
    def scaled(x):
        return x * k

    k = k + 1  # the closure sees the name, not its value at the definition
    total = 0.0
    for x in v:
        total += scaled(x)
    return total


@TABLE.add(lambda: (f8(5), 3))
def lambdas(v, k):
    shift = lambda x, by=k: x - by
    k = 100
    return shift(v), shift(v, 1), (lambda: k)()


@TABLE.add(lambda: (f8(5),))
def function_passed_to_a_function(v):
    def apply(f, x):
        return f(x)

    return apply(double, v), apply(lambda x: x - 1, v)


@TABLE.add(lambda: (f8(5),), lambda: (i8(3),))
def the_same_function_for_several_types(v):
    return double(v), double(v[0]), double(3), double(2.5)


@TABLE.add(lambda: (2.0, 3, -4), lambda: (2, 3.5, 1), lambda: (True, 2, 3))
def builtin_functions(x, y, z):
    return abs(z), min(x, y, z), max(x, y), int(y), float(x), bool(z)


@TABLE.add(lambda: (2.5, 3, -4), lambda: (2, 3.5, 3), need="right")
def rarer_builtin_functions(x, y, z):
    return sum(f8(3)), round(y), divmod(7, z), pow(x, 3), sum((x, y)), any((x, y)), sorted((x, y, z)), complex(x, y)


@TABLE.add(lambda: (parts(3),))
def builtin_functions_on_arrays(v):
    return abs(-v), len(v), float(v[0]), int(v[1]), max(v[0], v[1])


@TABLE.add(lambda: (0.5,), ulps=8)
def math_functions(x):
    return math.sin(x), math.exp(x), math.log(x), math.sqrt(x), math.pi, math.atan2(x, 2.0), math.hypot(x, 1.0)


@TABLE.add(lambda: (2.5,), lambda: (-2.5,), lambda: (7,))
def math_functions_that_are_exact(x):
    return math.floor(x), math.ceil(x), math.fabs(x), math.isnan(x), math.inf, math.trunc(x)


@TABLE.add(lambda: (f8(3, 4) + 1, 2), lambda: (f4(3, 1) + 1, 0), lambda: (f8(2, 4) + 1, 2), ulps=4, need="compiled")
def nested_functions_that_call_each_other(U, n, gamma=1.4):
    def pressure(U):
        density, momentum, energy = U
        return density, (gamma - 1) * (energy - momentum / density)

    def flux(U):
        density, p = pressure(U)
        return np.array([density * p, p * 2])

    total = 0.0
    for _ in range(n):
        left, right = flux(U[:, :-1]), flux(U[:, 1:])
        total += left.sum() - right.sum()
    return total


@TABLE.add(lambda: (f8(3, 4), 1), lambda: (f8(3, 4), 7), need="right")
def nested_functions_left_in_the_middle(U, n, gamma=1.4):
    def scaled(x):
        return x * gamma + shifted(x)

    def shifted(x):
        return x + n

    def picked(x, i):
        y = scaled(x)
        z = y[i]
        return scaled(z)

    gamma = 2.5
    total = 0.0
    for i in range(n):
        total = total + picked(U, i).sum()
    return total


@TABLE.add(lambda: (3,), lambda: (2**40,), need="right")
def nested_functions_and_large_integers(n, gamma=1.4):
    def scaled(x):
        return x * gamma

    def grown(k):
        for _ in range(40):
            k = k * 2
        return scaled(k)

    def hidden(k):
        gamma = 5
        for _ in range(40):
            k = k * 2 + gamma
        return scaled(k) + gamma

    found = []
    for k in (1.5, 2.5, 3):
        gamma = k
        found.append(grown(n))
    return found, hidden(n)


# ---------------------------------------------------------------- globals and closures


@TABLE.add(lambda: (f8(3),), lambda: (2,))
def reads_globals(x):
    return x * FACTOR + OFFSETS[0] - OFFSETS[1]


@TABLE.add(lambda: (f8(3),))
def reads_a_global_array(x):
    return x * WEIGHTS + WEIGHTS.sum()


def changing_global(x):
    return x + SETTING


SETTING: Any = 1


@pytest.mark.parametrize("values", [[1, 2, 10**6], [1, 2.5, 3], [2.5, np.float32(1), True], [f8(3), f4(3), 1]])
def test_a_global_changed_between_calls(values: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    program = weft.program(changing_global, fallback="error")
    for value in [*values, values[0]]:
        monkeypatch.setitem(globals(), "SETTING", value)
        assert_same_outcome(run(program, (f8(3),)), run(changing_global, (f8(3),)), where=f"SETTING = {value!r}")

    assert_native(program, calls=4)


def test_a_global_function_changed_between_calls() -> None:
    program = weft.program(plain_function, fallback="error")
    assert program(5) == plain_function(5) == 30
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "double", lambda x: x + 100)
        assert program(5) == plain_function(5) == 310
    assert program(5) == 30


def test_a_global_deleted_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    program = weft.program(changing_global, fallback="error")
    assert program(1) == changing_global(1)
    monkeypatch.delitem(globals(), "SETTING")
    assert isinstance(run(changing_global, (1,)).error, NameError)
    assert_same_outcome(run(program, (1,)), run(changing_global, (1,)))


@pytest.mark.parametrize("values", [[1, 2, -5], [1, 2.5, f8(3)], [f8(3), f8(4)[:3], None]])
def test_a_closure_changed_between_calls(values: list[Any]) -> None:
    held = values[0]

    def add(x):
        return x if held is None else x + held

    program = weft.program(add, fallback="error")
    for value in [*values, values[0]]:
        held = value
        assert_same_outcome(run(program, (f8(3),)), run(add, (f8(3),)), where=f"held = {value!r}")


def test_an_array_in_a_closure_is_written() -> None:
    log, log_python = f8(4), f8(4)

    def maker(target: np.ndarray) -> Any:
        def note(i, x):
            target[i] = x
            return target[0]

        return note

    program, function = weft.program(maker(log), fallback="error"), maker(log_python)
    for i, x in ((1, 5.0), (-1, 6.0), (4, 1.0)):
        assert_same_outcome(run(program, (i, x)), run(function, (i, x)))
    assert_same(log, log_python)


# ---------------------------------------------------------------- methods


class Particle:
    """Arrays and numbers in attributes."""

    def __init__(self, position: Any, mass: Any) -> None:
        self.position, self.mass, self.steps = position, mass, 0

    def move(self, by):
        self.position += by
        self.steps += 1
        return self.position.sum() * self.mass

    def swap(self, other):
        self.position, old = other * 2, self.position
        self.mass = self.mass / 2
        return old

    def count(self, n):
        for _ in range(n):
            self.steps = self.steps + 1
            if self.steps > 5:
                return self.steps
        return -1

    def fails_late(self, v, i):
        self.mass = 9.5
        self.steps += 1
        v[i] = self.mass
        self.mass = 1.0

    def calls(self, by):
        return self.move(by) + self.move(by)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        (Particle.move, (2.0,)),
        (Particle.swap, (f8(3),)),
        (Particle.swap, (f8(5),)),
        (Particle.count, (3,)),
        (Particle.count, (30,)),
        (Particle.fails_late, (f8(3), 1)),
        (Particle.fails_late, (f8(3), 7)),
        (Particle.calls, (1.5,)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.parametrize("mass", [2.0, 3, np.float32(1.5)], ids=["float", "int", "float32"])
def test_methods(method: Any, arguments: tuple[Any, ...], mass: Any) -> None:
    def make() -> tuple[Any, ...]:
        copies = [item.copy() if isinstance(item, np.ndarray) else item for item in arguments]
        return (Particle(f8(3), mass), *copies)

    check(method, make, make)


def test_attributes_changed_between_calls() -> None:
    program = weft.program(Particle.move, fallback="error")
    one, other = Particle(f8(3), 2.0), Particle(f8(3), 2.0)
    for change in ({}, {"mass": 3}, {"position": f4(5)}, {"position": f8(2, 2), "mass": 1.5}, {"steps": 0.5}):
        for particle in (one, other):
            for name, value in change.items():
                setattr(particle, name, value.copy() if isinstance(value, np.ndarray) else value)
        assert_same_outcome(run(program, (one, 2)), run(Particle.move, (other, 2)), where=str(change))


def test_a_missing_attribute() -> None:
    one, other = Particle(f8(3), 2.0), Particle(f8(3), 2.0)
    program = weft.program(Particle.move)
    assert_same_outcome(run(program, (one, 1)), run(Particle.move, (other, 1)))
    for particle in (one, other):
        del particle.mass
    assert_same_outcome(run(program, (one, 1)), run(Particle.move, (other, 1)))


# ---------------------------------------------------------------- static arguments


@TABLE.add(*(lambda axis=axis: (f8(2, 3), axis) for axis in (0, 1, -1, None, (0, 1), 2)))
def axis_as_an_argument(A, axis):
    return np.sum(A, axis=axis)


@TABLE.add(lambda: (f8(2, 3), True), lambda: (f8(2, 3), False))
def keepdims_as_an_argument(A, keep):
    return A.max(axis=1, keepdims=keep)


@TABLE.add(lambda: (f8(3), "sum"), lambda: (f8(3), "max"), lambda: (f8(3), "what"))
def string_as_an_argument(v, mode):
    if mode == "sum":
        return v.sum()
    if mode == "max":
        return v.max()
    return mode


@TABLE.add(lambda: (3, np.float32), lambda: (3, np.dtype("int8")), lambda: (3, "float64"), lambda: (3, int))
def dtype_as_an_argument(n, dtype):
    return np.ones(n, dtype=dtype)


@TABLE.add(lambda: (f8(3, 4), (4, 3)), lambda: (f8(3, 4), (2, -1)), need="compiled")
def tuple_as_an_argument(A, shape):
    return A.reshape(shape)


@TABLE.add(lambda: (f8(3), np.sin), lambda: (f8(3), np.abs), ulps=8)
def function_as_an_argument(v, f):
    return f(v)


@TABLE.add(lambda: (f8(4), slice(1, 3)), lambda: (f8(4), slice(None, None, -1)), need="right")
def slice_as_an_argument(v, s):
    return v[s]


# ---------------------------------------------------------------- annotations


def annotated(A: weft.float64[N, M], b: weft.float64[M], k: int) -> weft.float64[N]:
    return (A * b).sum(axis=1) * k


def test_annotations_are_accepted() -> None:
    assert_native(check(annotated, lambda: (f8(3, 4), f8(4), 2), lambda: (f8(5, 2), f8(2), 3)), calls=2)


@pytest.mark.parametrize(
    "arguments", [(f8(3, 4), f8(5), 2), (f4(3, 4), f8(4), 2), (f8(3), f8(3), 2)], ids=["extents", "dtype", "rank"]
)
def test_annotations_are_checked(arguments: tuple[Any, ...]) -> None:
    program = weft.program(annotated)

    with pytest.raises((TypeError, ValueError)) as caught:
        program(*arguments)
    assert str(caught.value)


# ---------------------------------------------------------------- defaults that are objects


def test_defaults_may_be_arrays_lists_and_dicts() -> None:
    def program(x, w):
        return (
            weighted(x),
            weighted(x, w),
            weighted(x, w, powers=[3]),
            weighted(x, more={"gain": 1.0}),
            WEIGHTS[0] + x[1],
        )

    check(program, lambda: (f8(3), f8(3)))


def test_a_default_array_is_written_as_python_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(v):
        return counted(v) + counted(v)

    compiled = weft.program(program, fallback="error")
    for make in (lambda: np.zeros(2), lambda: np.zeros(4, dtype=np.float32), lambda: np.zeros(3)):
        held = make()
        monkeypatch.setattr(counted, "__defaults__", (held,))
        ours = [compiled(f8(3)) for _ in range(3)]
        assert held[0] == 6
        monkeypatch.setattr(counted, "__defaults__", (make(),))
        for left, right in zip(ours, [program(f8(3)) for _ in range(3)], strict=True):
            assert_same(left, right)
    monkeypatch.setattr(counted, "__defaults__", ())
    with pytest.raises(TypeError, match="missing 1 required"):
        compiled(f8(3))


# ---------------------------------------------------------------- functions given to a name that had something else


def advanced(v, source, kind):
    x = np.linspace(0, 1, len(v))
    if source is None or source == 0:
        source = (lambda x, t: np.zeros(x.shape[0])) if kind == "zero" else lambda x, t: x + t
    for t in range(3):
        v = v + source(x, t)
    return v + source(x, v[0])


@TABLE.add(lambda: (f8(4), 2.0))
def sources_by_default(v, rate):
    def decaying(x, t):
        return rate * x - t

    return advanced(v, None, "zero"), advanced(v, 0, "ramp"), advanced(v, decaying, "zero")


@TABLE.add(lambda: (f8(4), 2), lambda: (f8(4), 0))
def functions_beside_numbers(v, n):
    def own(x):
        return x + n

    return own == 0, own != 0, own == n, double == 1.5, np.sin == 0, own == None, own != "own", own(v)  # noqa: E711
