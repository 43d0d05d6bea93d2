"""Arguments the compiled code was not made for: the answer or the exception is Python's and NumPy's own, never a crash.

Each odd argument is given to a program that was compiled for ordinary ones, to one that sees it first, and once more.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.data import b1, c16, f4, f8, i8, u1
from tests.end_to_end.outcome import assert_same_outcome, run

pytestmark = [PLAINLY, pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")]

# ---------------------------------------------------------------- odd arguments


def unaligned(*shape: int) -> np.ndarray:
    """float64 at an odd address."""
    array = np.zeros(f8(*shape).nbytes + 1, np.uint8)[1:].view(np.float64).reshape(shape)
    array[...] = f8(*shape)
    assert not array.flags.aligned
    return array


def big_endian(*shape: int) -> np.ndarray:
    return f8(*shape).astype(">f8")


def read_only(*shape: int) -> np.ndarray:
    array = f8(*shape)
    array.flags.writeable = False
    return array


def structured() -> np.ndarray:
    return np.zeros(3, dtype=[("x", "f8"), ("y", "i4")])


def field_of_a_structure() -> np.ndarray:
    """float64 with a stride that is no multiple of its size."""
    array = np.zeros(3, dtype=[("x", "f8"), ("y", "i4")])
    array["x"] = f8(3)
    return array["x"]


def masked() -> np.ndarray:
    return np.ma.array(f8(3), mask=[False, True, False])


def broadcast_view() -> np.ndarray:
    return np.broadcast_to(f8(1), (3,))


class Meters(np.ndarray):
    """A subclass with an operator of its own."""

    def __mul__(self, other: Any) -> Any:
        return "metres times something"


class ArrayLike:
    """Turns into an array when asked."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return f8(3)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayLike)

    __hash__ = None  # type: ignore[assignment]


class BrokenIndex:
    """An index that refuses."""

    def __index__(self) -> int:
        raise RuntimeError("no index today")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BrokenIndex)

    __hash__ = None  # type: ignore[assignment]


class Flag(int):
    """A subclass of int."""


ODD: dict[str, Callable[[], Any]] = {
    "rank 0": lambda: np.array(2.5),
    "rank 2": lambda: f8(3, 3),
    "rank 3": lambda: f8(2, 3, 2),
    "rank 20": lambda: f8(3).reshape((1,) * 19 + (3,)),
    "empty": lambda: f8(0),
    "size 1": lambda: f8(1),
    "longer": lambda: f8(5),
    "float32": lambda: f4(3),
    "float16": lambda: f8(3).astype(np.float16),
    "longdouble": lambda: f8(3).astype(np.longdouble),
    "int64": lambda: i8(3),
    "uint8": lambda: u1(3),
    "uint64": lambda: np.array([1, 2**63, 2**64 - 1], np.uint64),
    "bool": lambda: b1(3),
    "complex": lambda: c16(3),
    "object": lambda: np.array([1.5, 2, fractions.Fraction(1, 3)], dtype=object),
    "object with None": lambda: np.array([1.5, None, 2], dtype=object),
    "structured": structured,
    "field of a structure": field_of_a_structure,
    "unaligned": lambda: unaligned(3),
    "big-endian": lambda: big_endian(3),
    "read-only": lambda: read_only(3),
    "stride 0": broadcast_view,
    "datetime64": lambda: np.array(["2020-01-01", "2021-05-06", "NaT"], "M8[D]"),
    "timedelta64": lambda: np.array([1, 2, 3], "m8[s]"),
    "strings": lambda: np.array(["a", "bc", "def"]),
    "bytes array": lambda: np.array([b"a", b"bc"]),
    "masked": masked,
    "matrix": lambda: np.asmatrix(f8(3, 3)),
    "subclass": lambda: f8(3).view(Meters),
    "memmap-like record": lambda: np.rec.array([(1.0, 2)], dtype=[("x", "f8"), ("y", "i4")]),
    "array-like": ArrayLike,
    "memoryview": lambda: memoryview(f8(3).tobytes()).cast("d"),
    "list": lambda: [1.0, 2.0, 3.0],
    "nested list": lambda: [[1, 2], [3, 4]],
    "tuple": lambda: (1.0, 2, 3),
    "range": lambda: range(3),
    "dict": lambda: {0: 1.0, 1: 2.0},
    "None": lambda: None,
    "string": lambda: "abc",
    "bytes": lambda: b"abc",
    "bytearray": lambda: bytearray(b"abc"),
    "python int": lambda: 3,
    "python float": lambda: 2.5,
    "python complex": lambda: 2.5 - 1j,
    "python bool": lambda: True,
    "huge int": lambda: 10**30,
    "int64 edge": lambda: 2**63,
    "negative huge int": lambda: -(2**70),
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "numpy float32": lambda: np.float32(1.5),
    "numpy int8": lambda: np.int8(-7),
    "numpy bool": lambda: np.True_,
    "numpy uint64": lambda: np.uint64(2**64 - 1),
    "numpy float16": lambda: np.float16(0.5),
    "numpy string": lambda: np.str_("abc"),
    "datetime": lambda: datetime.date(2020, 1, 2),
    "decimal": lambda: decimal.Decimal("1.5"),
    "fraction": lambda: fractions.Fraction(1, 3),
    "subclass of int": lambda: Flag(2),
    "broken index": BrokenIndex,
    "class": lambda: int,
    "function": lambda: len,
    "ellipsis": lambda: ...,
    "slice": lambda: slice(1, 2),
}


# ---------------------------------------------------------------- programs


def scale(a, k):
    return a * k + 1


def update(a, b):
    a[:] = a + b


def accumulate(a, k):
    total = k
    for x in a:
        total = total + x
    return total


def pick(a, i):
    a[0] = 1.5
    return a[i]


def count(a, n):
    a[0] = 2
    t = n * len(a)
    return t * t - (n << 3)


# Each with ordinary arguments, in the order (array, other).
PROGRAMS: list[tuple[Callable[..., Any], Callable[[], tuple[Any, Any]]]] = [
    (scale, lambda: (f8(3), 2.0)),
    (update, lambda: (f8(3), f8(3))),
    (accumulate, lambda: (f8(3), 1.0)),
    (pick, lambda: (f8(3), 2)),
    (count, lambda: (f8(3), 4)),
]


def replace(ordinary: Callable[[], tuple[Any, Any]], position: int, odd: Callable[[], Any]) -> tuple[Any, ...]:
    arguments = list(ordinary())
    arguments[position] = odd()
    return tuple(arguments)


def crash_free(function: Callable[..., Any], ordinary: Callable[[], Any], make: Callable[[], tuple[Any, ...]]) -> None:
    """Odd arguments in a program that knows ordinary ones, in a new one, and ordinary ones afterwards."""
    expected, expected_ordinary = run(function, make()), run(function, ordinary())
    compiled, fresh = weft.program(function), weft.program(function)
    assert_same_outcome(run(compiled, ordinary()), expected_ordinary, where="ordinary")
    for turn in ("first", "second"):
        assert_same_outcome(run(compiled, make()), expected, where=f"compiled for others, {turn} time")
        assert_same_outcome(run(fresh, make()), expected, where=f"new, {turn} time")
    assert_same_outcome(run(compiled, ordinary()), expected_ordinary, where="ordinary again")


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize(("function", "ordinary"), PROGRAMS, ids=[function.__name__ for function, _ in PROGRAMS])
def test_odd_arguments(function: Any, ordinary: Any, position: int, odd: str) -> None:
    crash_free(function, ordinary, lambda: replace(ordinary, position, ODD[odd]))


def matvec(A, x):
    return A @ x


@pytest.mark.parametrize(
    "odd", ["rank 0", "rank 3", "longer", "object", "unaligned", "big-endian", "matrix", "masked", "None"]
)
@pytest.mark.parametrize("position", [0, 1])
def test_odd_factors(position: int, odd: str) -> None:
    def ordinary() -> tuple[Any, ...]:
        return f8(3, 3), f8(3)

    crash_free(matvec, ordinary, lambda: replace(ordinary, position, ODD[odd]))


# ---------------------------------------------------------------- signatures


def with_defaults(a, k=2.0, *, shift=0):
    return a * k + shift


def with_positions_only(a, /, b):
    return a - b


def with_stars(a, *rest, **named):
    return a, rest, named


CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "nothing": ((), {}),
    "one": ((3.0,), {}),
    "two": ((3.0, 4.0), {}),
    "three": ((3.0, 4.0, 5.0), {}),
    "all by name": ((), {"a": 3.0, "k": 4.0, "shift": 1}),
    "name only": ((3.0,), {"shift": 5}),
    "unknown name": ((3.0,), {"what": 1}),
    "given twice": ((3.0,), {"a": 1}),
    "position only by name": ((), {"a": 1, "b": 2}),
    "b by name": ((3.0,), {"b": 2}),
    "other order": ((), {"k": 1.5, "a": 2}),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("function", [with_defaults, with_positions_only, with_stars, scale], ids=lambda f: f.__name__)
def test_calls_that_do_not_fit_the_signature(function: Any, call: str) -> None:
    arguments, keywords = CALLS[call]
    program = weft.program(function)
    expected = run(function, arguments, keywords)
    for _ in range(2):
        assert_same_outcome(run(program, arguments, keywords), expected)


# ---------------------------------------------------------------- bounds and shapes


@pytest.mark.parametrize(
    "index", [3, -4, 2**31, -(2**31), 2**63 - 1, -(2**63), 2**64, 1.0, None, True, "1", (0,), (0, 0), ...]
)
def test_bad_indices(index: Any) -> None:
    crash_free(pick, lambda: (f8(3), 2), lambda: (f8(3), index))


def add(a, b):
    return a + b


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (4,)),
        ((3, 4), (3,)),
        ((2, 3), (3, 2)),
        ((0,), (2,)),
        ((0,), (1,)),
        ((1,), (5,)),
        ((2, 1), (1, 3)),
        ((), (3,)),
    ],
)
def test_shapes_that_may_not_broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    crash_free(add, lambda: (f8(*left), f8(*left)), lambda: (f8(*left), f8(*right)))


def test_more_kinds_of_arguments_than_variants() -> None:
    program = weft.program(add)
    dtypes = ("f8", "f4", "i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8", "c16", "?")
    for _ in range(2):
        for dtype in dtypes:
            for shape in ((3,), (3, 1), (1, 3)):
                arguments = f8(*shape).astype(dtype), f8(*shape).astype(dtype)
                assert_same_outcome(run(program, arguments), run(add, arguments), where=f"{dtype} {shape}")


def test_a_very_large_view() -> None:
    def corner(a):
        return a[-1, -1] + a[0, 1], a.shape

    huge = np.broadcast_to(f8(2)[1:], (2**40, 2**19))
    program = weft.program(corner)
    program(f8(3, 3))

    assert program(huge) == corner(huge)
