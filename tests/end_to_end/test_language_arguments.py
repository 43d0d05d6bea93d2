"""Arguments and results of every kind: named tuples, dataclasses, lists, dicts, enums, slices, ranges, `*args`."""

# The programs are written as users write them.
# ruff: noqa: RUF005, SIM108

from __future__ import annotations

import enum
import functools
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.data import f4, f8, i8
from tests.end_to_end.outcome import assert_native, assert_same_outcome, check, run, stats_of
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


class Point(NamedTuple):
    x: Any
    y: Any = 2

    def norm(self):
        return self.x * self.x + self.y


Pair = namedtuple("Pair", "a b", defaults=(1.5,))


class Doubling(Pair):
    """Reads differently from a tuple."""

    def __getitem__(self, key):
        return tuple.__getitem__(self, key) * 2


class Checked(Point):
    """Made differently from a tuple."""

    def __new__(cls, x):
        return super().__new__(cls, x, 7)


@dataclass
class Grid:
    a: Any
    n: int = 3

    def total(self):
        return self.a.sum() * self.n


@dataclass(frozen=True, slots=True)
class Frozen:
    a: Any
    n: int = 3


@dataclass
class Prepared:
    a: Any

    def __post_init__(self):
        self.a = self.a * 2


@dataclass
class WithFactory:
    a: Any
    notes: list = field(default_factory=list)


class Color(enum.Enum):
    RED = 1
    BLUE = 2.5


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


LIMITS = [1.0, 5.0]
SETTINGS = {"factor": 2.0, "shift": 1}
WINDOW = slice(1, 3)


@TABLE.parametrize()
def test_arguments(row: Row) -> None:
    row.check()


# ---------------------------------------------------------------- named tuples


@TABLE.add(lambda: (Point(f8(3), 2.0),), lambda: (Point(f8(3)),), lambda: (Point(2, 3),))
def named_tuple_attributes(p):
    return p.x * p.y, p


@TABLE.add(lambda: (Point(f8(3), 2.0),), lambda: (Pair(1.5, f4(2)),))
def named_tuple_as_a_tuple(p):
    x, y = p
    return x * y + p[0], len(p), p[:1], p + (1,), isinstance(p, tuple), isinstance(p, Point)


@TABLE.add(lambda: (Point(1, 2),), lambda: (Point(1, 3.5),))
def named_tuple_compared(p):
    return p == (1, 2), p != Point(1, 2), 2 in p


@TABLE.add(lambda: (Point(f8(3), 2.0),))
def method_of_a_named_tuple(p):
    t = p.norm()
    return t + 1


@TABLE.add(lambda: (f8(3), 2.0))
def making_named_tuples(v, k):
    p = Point(v + k)
    q = Pair(b=p.x, a=v)
    return p, q, q._replace(a=k), Pair(k), p.y


@TABLE.add(lambda: (f8(3), True), lambda: (f8(3), False))
def named_tuple_out_of_a_branch(v, flag):
    if flag:
        p = Point(v + 1, 1.0)
    else:
        p = Point(v * 2, 2.0)
    return p


@TABLE.add(lambda: (Doubling(f8(2)),), lambda: (Checked(f8(2)),), need="right")
def named_tuples_with_methods_of_their_own(p):
    return p[0], p.x if hasattr(p, "x") else None


@TABLE.add(lambda: (f8(2),), need="right")
def making_a_named_tuple_with_a_new_of_its_own(v):
    return Checked(v)


@TABLE.add(lambda: (f8(2),), need="right")
def wrong_fields_of_a_named_tuple(v):
    return Point(v, z=1)  # type: ignore[reportCallIssue]


# ---------------------------------------------------------------- dataclasses


@TABLE.add(lambda: (Grid(f8(3)),), lambda: (Frozen(f8(3)),), lambda: (Grid(2, 5),))
def fields_of_a_dataclass(g):
    return g.a * g.n, g


@TABLE.add(lambda: (Grid(f8(3)),))
def method_and_stores(g):
    t = g.total()
    g.a[0] = t
    g.n += 1
    return g.n


@TABLE.add(lambda: (Frozen(f8(3)),), need="right")
def store_to_a_frozen_dataclass(g):
    g.a[0] = 5
    g.n = 7


@TABLE.add(lambda: (f8(3), 2.0))
def making_dataclasses(v, k):
    g = Grid(v * k)
    h = Frozen(n=2, a=g.a)
    return g, h, g.n + h.n, isinstance(g, Grid), g


@TABLE.add(lambda: (f8(3),), need="right")
def dataclasses_that_run_code(v):
    return Prepared(v), WithFactory(v)


@TABLE.add(lambda: (f8(3), 1), lambda: (f8(3), 7), need="right")
def an_object_is_one_object_under_two_names(v, k):
    g = Grid(v)
    same = g
    items = [v]
    again = items
    if k > 5:
        same.n = v[k - 5]
        again.append(k)
    return g, items, again


@TABLE.add(lambda: (f8(4), 1), lambda: (f8(4), 4), lambda: (f8(4), 7), need="right")
def a_list_is_one_object_behind_a_branch(v, n):
    a = [v]
    b = a
    if n > 3:
        a = [v + 1]
        b = a
    if n > 5:
        b.append(n)
    return a, b


# ---------------------------------------------------------------- lists and dicts


@TABLE.add(lambda: ([f8(3), f8(3) + 1],), lambda: ([1, 2.5],), lambda: ([],), lambda: ([f4(2), 3, True],))
def list_of_things(items):
    total = 0
    for item in items:
        total = total + item
    return total, len(items), items


@TABLE.add(lambda: ([1.0, 2.0, 4.0],), lambda: ([[1, 2], [3, 4]],))
def list_as_an_array(items):
    return np.array(items) * 2, np.sum(items), items[-1], items[1:]


@TABLE.add(lambda: ([f8(3), 2],), lambda: ([f8(3), 2, 5],), need="right")
def changed_list(items):
    items[0] = items[1]
    items.append(3)
    items += [4]


@TABLE.add(lambda: ([f8(3), 2], 1), lambda: ([f8(3), 2], 9), need="compiled")
def array_in_a_list_is_written(items, k):
    items[0][k] = items[1]


@TABLE.add(lambda: ([1.0], [2.0], True), lambda: ([1.0], [2.0], False), lambda: ([1.0], [2.0, 3], True))
def one_of_two_lists(a, b, flag):
    return a if flag else b


@TABLE.add(lambda: ({"v": f8(3), "k": 2},), lambda: ({"k": 3, "v": f4(2), "more": None},))
def dict_of_things(d):
    total = d["v"] * d["k"]
    for key in d:
        if key != "more":
            total = total + d[key]
    for key, value in d.items():
        if key == "k":
            total = total * value
    for value in d.values():
        if value is None:
            total = total + 1
    return total, d.get("z", 1), d.get("k"), "k" in d, "z" in d, len(d), d


@TABLE.add(lambda: ({"v": f8(3)},), lambda: ({},), need="right")
def missing_key(d):
    return d["v"] + d["w"]


@TABLE.add(lambda: ({"v": f8(3)},), lambda: ({1: 2.0},), need="right")
def changed_dict(d):
    d["w"] = 1
    return d.pop("v", None)


def changes(items):
    print(end="")
    items[0] = 100.0
    items.append(3.0)


@TABLE.add(lambda: ([1.0, 2.0], {"x": 3}, f8(3)), need="right")
def changed_in_between(items, d, v):
    """What comes after a statement that runs in Python sees what it changed."""
    w = v * 2
    changes(items)
    d["y"] = w + items[0]
    return w + items[0] + len(items), d["y"] * 2, len(d)


@TABLE.add(lambda: (f8(3),))
def global_list_dict_and_slice(v):
    return v[WINDOW] * LIMITS[0] + SETTINGS["factor"] + LIMITS[1]


@TABLE.add(lambda: ((f8(3), [1, {"k": (2.0, f8(3))}]),))
def nested_containers(t):
    v, (n, d) = t
    k, w = d["k"]
    return v * n + k * w, t


def test_lists_and_dicts_are_checked_on_every_call() -> None:
    program = check(list_of_things, lambda: ([1.0, 2.0],), lambda: ([3.0, 4.0],), lambda: ([5, 6],), lambda: ([1],))
    assert program.stats.variants == 3
    program = check(
        dict_of_things,
        lambda: ({"v": f8(3), "k": 2},),
        lambda: ({"v": f8(5), "k": 3},),
        lambda: ({"k": 3, "v": f8(5)},),
    )
    assert program.stats.variants == 2


def first_of(items, v):
    return v + items[0]


def test_a_long_list_is_left_to_python_at_once() -> None:
    program = weft.program(first_of)
    for items in ([1.0] * 129, [2.0] * 200_000, [3, *range(500)]):
        assert_same_outcome(run(program, (items, f8(3))), run(first_of, (items, f8(3))))
    assert stats_of(program)["native_calls"] == 0
    assert "a list of more than 128" in program.stats.reasons[0]


def table_of(items, limit):
    rows = [[0 for _ in range(limit + 1)] for _ in range(len(items) + 1)]
    for i in range(len(items) + 1):
        for w in range(limit + 1):
            if i > 0 and items[i - 1] <= w:
                rows[i][w] = max(rows[i - 1][w], items[i - 1] + rows[i - 1][w - items[i - 1]])
            elif i > 0:
                rows[i][w] = rows[i - 1][w]
    return rows[len(items)][limit]


def test_loops_around_loops_are_not_written_out_many_times() -> None:
    program = weft.program(table_of)
    items = tuple(range(2, 38))
    assert_same_outcome(run(program, (items, 60)), run(table_of, (items, 60)))
    assert program.stats.compiles == 0  # 37 copies of the loop would take ten seconds


def test_a_global_list_that_changes() -> None:
    program = weft.program(global_list_dict_and_slice, fallback="error")
    assert_same_outcome(run(program, (f8(4),)), run(global_list_dict_and_slice, (f8(4),)))
    LIMITS.append(3.0)
    SETTINGS["factor"] = 4.0
    try:
        assert_same_outcome(run(program, (f8(4),)), run(global_list_dict_and_slice, (f8(4),)))
    finally:
        LIMITS.pop()
        SETTINGS["factor"] = 2.0
    assert_native(program, 2)


# ---------------------------------------------------------------- what is known by its value


@TABLE.add(lambda: (f8(3), Color.RED), lambda: (f8(3), Color.BLUE))
def enums(v, color):
    if color is Color.RED:
        return v + color.value, color.name
    return v - color.value, color == Color.BLUE, color


@TABLE.add(lambda: (f8(3), Level.LOW), lambda: (f8(3), Level.HIGH), need="right")
def enums_that_are_integers(v, level):
    return v + level, level + 1, level


@TABLE.add(lambda: (f8(5), slice(1, 4)), lambda: (f8(5), slice(None, None, -1)), lambda: (f8(2, 3), slice(-1, None)))
def slices(v, s):
    return v[s], s.start, s.step, s


def test_slices_and_ranges_of_other_lengths_share_a_variant() -> None:
    program = check(slices, lambda: (f8(5), slice(1, 4)), lambda: (f8(9), slice(2, 7)), lambda: (f8(9), slice(-2, 70)))
    assert program.stats.variants == 1
    program = check(ranges, lambda: (f8(5), range(4)), lambda: (f8(9), range(2, 7)), lambda: (f8(2), range(0)))
    assert program.stats.variants == 1


@TABLE.add(lambda: (f8(5), range(1, 4)), lambda: (f8(5), range(4, -1, -2)), lambda: (f8(5), range(0)))
def ranges(v, r):
    total = 0.0
    for i in r:
        total += v[i]
    return total, len(r), r.start, r


@TABLE.add(lambda: (f8(5), range(2**62, 2**62 + 2)), lambda: (f8(5), range(2**70, 2**70 + 1)), need="right")
def ranges_far_away(v, r):
    total = 0
    for i in r:
        total += i
    return v * 1.0, total


@TABLE.add(
    lambda: (f8(3), np.float32), lambda: (f8(3), np.dtype("i4")), lambda: (f8(3), float), lambda: (f8(3), "c8"),
    lambda: (f8(3), None),
)  # fmt: skip
def dtypes(v, dtype):
    return np.zeros(3, dtype=dtype), v.astype(dtype or np.int8)


@TABLE.add(lambda: (f8(3), "sum", b"x"), lambda: (f8(3), "max", b""), lambda: (f8(3), "sum", None))
def text_and_bytes(v, how, mark):
    if how == "sum":
        return v.sum(), mark
    return v.max(), how, mark == b""


# ---------------------------------------------------------------- parameters of every kind


@TABLE.add(tuple, lambda: (f8(3),), lambda: (f8(3), 2, f4(3)))
def any_number(*args):
    total = 1
    for arg in args:
        total = total * arg
    return total, len(args)


@TABLE.add(lambda: (f8(3), 2), lambda: (f8(3), 2, 3, 4.0))
def first_and_the_rest(v, *rest):
    return v * rest[0] + rest[-1], rest


def with_keywords(v, k=2, /, m=3, *more, n=4, **options):
    total = v * k + m * n
    for extra in more:
        total = total + extra
    return total * options.get("scale", 1), options, more


@pytest.mark.parametrize(
    ("args", "keywords"),
    [((), {}), ((5,), {}), ((5, 6, 7), {"n": 1}), ((), {"scale": 2.0}), ((), {"k": 7, "m": 1, "other": None})],
)
def test_parameters_of_every_kind(args, keywords) -> None:
    program = weft.program(with_keywords, fallback="error")
    for _ in range(2):
        expected = run(with_keywords, (f8(3), *args), keywords)
        assert_same_outcome(run(program, (f8(3), *args), keywords), expected)
    assert_native(program, 2)


def test_a_call_that_does_not_bind_raises_the_error_of_cpython() -> None:
    program = weft.program(with_keywords, fallback="error")
    for args, keywords in (((), {}), ((f8(3),), {"v": 1}), ((f8(3), 1, 2), {"m": 2})):
        assert_same_outcome(run(program, args, keywords), run(with_keywords, args, keywords))


def spread(v, *factors, by=1):
    for factor in factors:
        v = v * factor
    return v / by


@TABLE.add(lambda: (f8(3), (2, 3.0), {"by": 4}), lambda: (f8(3), (), {}))
def stars_in_calls(v, factors, options):
    a = spread(v, *factors, **options)
    b = spread(v, 2)
    return a + b


@TABLE.add(lambda: (f8(3), {"dtype": np.float32}), lambda: (f8(3), {"axis": 0, "keepdims": True}))
def keywords_for_numpy(v, options):
    return np.sum(v, **options)


# ---------------------------------------------------------------- programs of every kind


class Holder:
    """Programs as methods."""

    factor = 3

    @weft.program
    def method(self, v):
        return v * self.factor

    @classmethod
    @weft.program
    def of_class(cls, v):
        return v * cls.factor

    @staticmethod
    @weft.program
    def alone(v):
        return v * 2

    @weft.program
    @classmethod
    def of_class_too(cls, v):
        return v * cls.factor

    @weft.program(threads=1)
    @staticmethod
    def alone_too(v):
        return v * 2

    def plain(self, v):
        return v * self.factor


@weft.program
def falling(v, n):
    if n <= 0:
        return v
    return falling(v * 2, n - 1)


@weft.program
def even(n):
    return True if n == 0 else odd(n - 1)


@weft.program
def odd(n):
    return False if n == 0 else even(n - 1)


def test_methods_of_all_kinds() -> None:
    calls = (Holder().method, Holder.of_class, Holder().of_class, Holder.alone, Holder().alone, Holder.of_class_too)
    for call in (*calls, Holder().of_class_too, Holder().alone_too, weft.program(Holder().plain)):
        assert_same_outcome(run(call, (f8(3),)), run(lambda v, c=call: v * (2 if "alone" in repr(c) else 3), (f8(3),)))
    assert_native(Holder.__dict__["method"])
    assert_native(Holder.alone, 2)


@pytest.mark.filterwarnings("ignore::weft.FallbackWarning")
def test_recursion() -> None:
    assert_same_outcome(run(falling, (f8(3), 3)), run(lambda v, n: v * 8, (f8(3), 3)))
    assert [even(n) for n in range(5)] == [True, False, True, False, True]


def test_partial_and_lambda() -> None:
    program = weft.program(lambda v, k, s=1: v * k + s, fallback="error")
    half = functools.partial(program, k=0.5)
    assert_same_outcome(run(half, (f8(3),)), run(lambda v: v * 0.5 + 1, (f8(3),)))
    assert_same_outcome(run(program, (i8(3), 2)), run(lambda v, k: v * k + 1, (i8(3), 2)))
    assert stats_of(program)["fallback_calls"] == 0
    third = weft.program(functools.partial(spread, by=3), fallback="error")
    assert_same_outcome(run(third, (f8(3), 2.0)), run(lambda v, k: v * k / 3, (f8(3), 2.0)))
    with pytest.raises(TypeError, match="Python function"):
        weft.program(len)


# ---------------------------------------------------------------- arrays that are not plain arrays


class HasArray:
    """Gives the array it holds."""

    def __init__(self, array):
        self.held = array

    def __array__(self, dtype=None, copy=None):
        return self.held


class HasCopies(HasArray):
    """Gives a new array every time."""

    def __array__(self, dtype=None, copy=None):
        return self.held.copy()


class HasInterface:
    def __init__(self, array):
        self.held = array

    @property
    def __array_interface__(self):
        return self.held.__array_interface__


class HasPack:
    def __init__(self, array):
        self.held = array

    def __dlpack__(self, **options):
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()


class Derived(np.ndarray):
    pass


@TABLE.add(lambda: (HasArray(f8(3)),), lambda: (HasInterface(f8(2, 3)),), lambda: (HasArray(i8(4)),))
def array_of_an_object(x):
    a = np.asarray(x)
    b = np.ascontiguousarray(x)
    a[0] = 7
    return a + b, np.asarray(x).sum()


@TABLE.add(lambda: (HasInterface(f4(3)),))
def copy_of_an_object(x):
    a = np.array(x)
    a[0] = 7
    return a, np.asarray(x, dtype=np.float64), np.array(x, np.int8)


@TABLE.add(lambda: (HasArray(f4(3)),), need="right")
def copy_that_the_object_makes(x):
    a = np.array(x)
    a[0] = 7
    return a, np.asarray(x)


@TABLE.add(lambda: (HasPack(f8(3)),))
def pack_of_an_object(x):
    return np.from_dlpack(x) * 2  # type: ignore[reportOperatorIssue]


@TABLE.add(lambda: (HasCopies(f8(3)),), lambda: (HasArray(f8(3)),), lambda: (HasPack(f8(3)),), need="right")
def objects_without_arithmetic(x):
    return np.sum(np.asarray(x)) if hasattr(x, "held") and x.held[0] > 0 else x + 1


@TABLE.add(lambda: (HasCopies(f8(3)),), need="right")
def object_that_copies(x):
    a = np.asarray(x)
    a[0] = 7
    return a, np.asarray(x)


def test_an_object_with_an_array_is_asked_on_every_call() -> None:
    program = weft.program(array_of_an_object, fallback="error")
    holder = HasArray(f8(3))
    for array in (f8(3), f8(5), i8(4)):
        holder.held = array.copy()
        expected = run(array_of_an_object, (HasArray(array.copy()),))
        assert_same_outcome(run(program, (holder,)), expected)
    assert program.stats.variants == 2


def unaligned():
    array = np.zeros(33, np.uint8)[1:].view(np.float64)
    array[:] = [1, 2, 3, 4]
    return array


def locked():
    array = f8(4)
    array.flags.writeable = False
    return array


ODD = {
    "MaskedArray": lambda: np.ma.MaskedArray([1.0, 2.0, 3.0], mask=[False, True, False]),
    "matrix": lambda: np.matrix([[1.0, 2.0], [3.0, 4.0]]),
    "recarray": lambda: np.rec.array([(1.0, 2)], dtype=[("x", "f8"), ("k", "i4")]),
    "Derived": lambda: f8(4).view(Derived),
    "dtype [('x', '<f8')]": lambda: np.zeros(3, dtype=[("x", "f8")]),
    "dtype object": lambda: np.array([1, 2.5, 3], dtype=object),
    "dtype datetime64": lambda: np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
    "dtype <U1": lambda: np.array(["a", "b"]),
    "dtype float16": lambda: f8(4).astype(np.float16),
    "dtype float128": lambda: f8(4).astype(np.longdouble),
    "dtype >f8": lambda: f8(4).astype(">f8"),
    "dtype int64 ('q')": lambda: i8(4).astype(np.longlong),
    "not aligned": unaligned,
    "more than 16 axes": lambda: np.ones((1,) * 17),
}


def unusual(a, k):
    b = a + a
    if k:
        a[0] = a[-1]
    return b, a[:1]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of np.matrix
@pytest.mark.parametrize("reason", ODD)
def test_odd_arrays_run_in_python_with_a_reason(reason) -> None:
    program = weft.program(unusual)
    for k in (0, 1):
        actual = run(program, (ODD[reason](), k))
        assert_same_outcome(actual, run(unusual, (ODD[reason](), k)))
        assert stats_of(program)["native_calls"] == 0
        assert all(reason in str(warning.message) for warning in actual.own_warnings)
    assert reason in "".join(program.stats.reasons)


def test_a_read_only_array_that_may_be_written() -> None:
    program = weft.program(unusual)
    for k in (0, 1, 0):
        assert_same_outcome(run(program, (locked(), k)), run(unusual, (locked(), k)))
    assert program.stats.variants == 1
    assert "read-only" in "".join(program.stats.reasons)


@TABLE.add(
    lambda: (np.broadcast_to(f8(3), (2, 3)),),
    lambda: (np.broadcast_to(f8(2, 1), (2, 3)),),
    lambda: (np.broadcast_to(f8(2, 1, 4), (2, 3, 4)),),
    lambda: (np.broadcast_to(f8(3, 1), (2, 3, 4)).transpose(1, 2, 0),),
    lambda: (np.lib.stride_tricks.as_strided(f8(9), (4, 3), (8, 16)),),
)
def repeated_axes(a):
    return a + 1, np.array(a), a.copy(), a.sum(axis=0), a.T * 2, np.zeros_like(a)


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
def test_strides_of_results_with_many_variants() -> None:
    """Beyond eight variants arrays of all strides share one, as far as their axes are in the same order."""
    program = weft.program(repeated_axes, fallback="error")
    for dtype in ("f8", "f4", "i4", "i8", "u1", "i2", "u4", "c8"):
        program(f8(2, 3).astype(dtype))
    turned = (f8(2, 3, 4).T, f8(2, 3, 4)[:, ::2], f8(2, 3, 4)[::-1].transpose(1, 0, 2), f8(4, 3, 2).T[:, ::2])
    for array in turned:
        assert_same_outcome(run(program, (array,)), run(repeated_axes, (array,)))
    assert program.stats.variants == 8 + 3


class Held:
    """An array in an object."""

    def __init__(self, held: Any) -> None:
        self.held = held


def rows(a):
    return a.sum(axis=1) * 2, a + 1


def rows_of_an_object(x):
    return rows(x.held)


def test_dense_arrays_after_strided_ones() -> None:
    """They get a variant of their own, unless they are small; the calls between do not matter."""
    program = weft.program(rows, fallback="error")
    strided, dense, small = f8(40, 20)[::2], f8(20, 20), f8(5, 5)
    for array, variants in (
        (strided, 1),
        (small, 1),
        (f8(0, 3), 1),
        (dense, 2),
        (strided, 2),
        (dense, 2),
        (dense.T, 3),
    ):
        assert_same_outcome(run(program, (array,)), run(rows, (array,)), ulps=4)
        assert program.stats.variants == variants
    assert_native(program, calls=7)


@pytest.mark.parametrize("what", ["compiled", "from disk"])
def test_dense_arrays_in_an_object(what: str) -> None:
    """What is stored for the same types of arguments must not be taken for the other layout."""
    program = weft.program(rows_of_an_object, fallback="error")
    for array in (f8(40, 20)[::2], f8(20, 20), f8(40, 20)[::2]):
        assert_same_outcome(run(program, (Held(array),)), run(rows_of_an_object, (Held(array),)), ulps=4)
    assert program.stats.variants == 2, what
    assert_native(program, calls=3)
