"""Which calls fit a variant: every kind of argument, matched and not."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from tests.runtime.conftest import MISS, Harness, array
from weft.support.abi import ArgKind, ArgSpec, Const, Exit, Scalar, Slot, SlotKind

RETURN_SLOT_0 = {
    "int": "out[0].i = args[0].i; return 0;",
    "float": "out[0].f = args[0].f; return 0;",
    "complex": "out[0].c[0] = args[0].c[0]; out[0].c[1] = args[0].c[1]; return 0;",
}
BIG = 2**63


def identity(x):
    return ("python", x)


def echo(harness: Harness, spec: ArgSpec, kind: str, result: str):
    exits = (Exit(Scalar(0, result)),)
    return harness.program(identity, RETURN_SLOT_0[kind], [spec], exits, out_count=1)


SCALARS = [
    (ArgKind.PY_BOOL, "int", "py_bool", [True, False], [1, np.True_, None]),
    (ArgKind.PY_INT, "int", "py_int", [0, -1, BIG - 1, -BIG, 10**12], [True, BIG, -BIG - 1, 1.0, np.int64(1), 10**40]),
    (ArgKind.PY_FLOAT, "float", "py_float", [0.0, -1.5, math.inf], [1, np.float64(1), True, "1"]),
    (ArgKind.PY_COMPLEX, "complex", "py_complex", [1j, 2 + 3j], [1.0, np.complex128(1)]),
]


@pytest.mark.parametrize(("kind", "field", "result", "good", "bad"), SCALARS, ids=lambda v: getattr(v, "name", None))
def test_python_scalars_match_by_exact_type(harness, kind, field, result, good, bad):
    program = echo(harness, ArgSpec(kind), field, result)
    for value in good:
        returned = program.call(value)
        assert (type(returned), returned) == (type(value), value)
    assert program.misses == []
    for value in bad:
        assert program.call(value) == MISS
    assert [type(miss[0]) for miss in program.misses] == [type(value) for value in bad]


NUMPY_SCALARS = [
    np.bool_(True), np.int8(-3), np.int16(-300), np.int32(-70000), np.int64(-(2**40)), np.uint8(200), np.uint16(60000),
    np.uint32(2**32 - 1), np.uint64(2**64 - 1), np.float32(0.1), np.float64(0.1), np.complex64(1 - 2j),
    np.complex128(3j),
]  # fmt: skip


@pytest.mark.parametrize("value", NUMPY_SCALARS, ids=lambda v: v.dtype.name)
def test_numpy_scalars_keep_type_and_value(harness, value):
    dtype = value.dtype.name
    field = {"f": "float", "c": "complex"}.get(value.dtype.kind, "int")
    program = echo(harness, ArgSpec(ArgKind.NP_SCALAR, dtype), field, dtype)
    returned = program.call(value)
    assert (type(returned), returned) == (type(value), value)
    for other in NUMPY_SCALARS:
        if other.dtype != value.dtype:
            assert program.call(other) == MISS
    assert program.call(value.item()) == MISS
    assert program.call(np.array(value)) == MISS


def test_static_values_compare_type_and_bits(harness):
    def check(value: object, good: list[object], bad: list[object]) -> None:
        program = harness.program(identity, "return 0;", [ArgSpec(ArgKind.STATIC)], values=(value,))
        for item in good:
            assert program.call(item) is None, item
        for item in bad:
            assert program.call(item) == MISS, item

    check(1, [1], [True, 1.0, 2, np.int64(1)])
    check(1000, [int("1000")], [1001])
    check(0.0, [0.0], [-0.0, 0])
    check(math.nan, [float("nan")], [0.0])
    check("sum", ["".join(["su", "m"])], ["max", b"sum"])
    check(None, [None], [0, False])
    check((0, 1.0), [(0, 1.0)], [(0, 1), (False, 1.0), (0,), [0, 1.0]])
    check(slice(1, None), [slice(1, None)], [slice(1.0, None), slice(1, 2)])
    check(np.dtype("f4"), [np.dtype("float32")], [np.dtype("f8"), np.float32])
    check(np.float32, [np.float32], [np.float64])
    check(np.add, [np.add], [np.multiply, None])
    check(np.zeros(2), [], [np.ones(2)])


class Point:
    def __init__(self, x: object) -> None:
        self.x = x


class Derived(Point):
    pass


def test_objects_and_their_attributes(harness):
    slots = [Slot(SlotKind.PARAM, 0), Slot(SlotKind.ATTRIBUTE, 0, "x")]
    args = [ArgSpec(ArgKind.OBJECT), ArgSpec(ArgKind.PY_FLOAT)]
    body = "out[0].f = 2 * args[1].f; return 0;"
    exits = (Exit(Scalar(0, "py_float")),)
    program = harness.program(identity, body, args, exits, slots=slots, out_count=1, values=(Point, None))
    assert program.call(Point(1.5)) == 3.0
    without = Point(1.0)
    del without.x
    for other in (Derived(1.5), Point(1), without, 1.5):
        assert program.call(other) == MISS


def test_tuples_and_their_items(harness):
    slots = [Slot(SlotKind.PARAM, 0), Slot(SlotKind.ITEM, 1, parent=0), Slot(SlotKind.ITEM, 0, parent=0)]
    args = [ArgSpec(ArgKind.TUPLE, length=2), ArgSpec(ArgKind.PY_INT), ArgSpec(ArgKind.IGNORED)]
    exits = (Exit(Scalar(0, "py_int")),)
    program = harness.program(identity, "out[0].i = args[1].i; return 0;", args, exits, slots=slots, out_count=1)
    assert program.call(("any", 7)) == 7
    for other in ((7,), ("any", 7, 8), ["any", 7], ("any", 7.0)):
        assert program.call(other) == MISS


def test_named_tuples_are_of_their_very_class(harness):
    pair = namedtuple("pair", "a b")
    slots = [Slot(SlotKind.PARAM, 0), Slot(SlotKind.ITEM, 1, parent=0)]
    args = [ArgSpec(ArgKind.TUPLE, length=2), ArgSpec(ArgKind.PY_INT)]
    body, exits = "out[0].i = args[1].i; return 0;", (Exit(Scalar(0, "py_int")),)
    program = harness.program(identity, body, args, exits, slots=slots, out_count=1, values=(pair, None))
    assert program.call(pair(3, 4)) == 4
    for other in ((3, 4), namedtuple("pair", "a b")(3, 4), pair(3, 4.0)):
        assert program.call(other) == MISS


def test_lists_and_dicts_and_their_items(harness):
    slots = [Slot(SlotKind.PARAM, 0), Slot(SlotKind.ITEM, 1, parent=0)]
    args = [ArgSpec(ArgKind.LIST, length=2), ArgSpec(ArgKind.PY_INT)]
    body, exits = "out[0].i = args[1].i; return 0;", (Exit(Scalar(0, "py_int")),)
    program = harness.program(identity, body, args, exits, slots=slots, out_count=1)
    given = ["any", 7]
    assert program.call(given) == 7
    given[1] = 8
    assert program.call(given) == 8
    given.append(9)
    for other in (given, ("any", 7), ["any"], ["any", 7.0]):
        assert program.call(other) == MISS

    slots = [Slot(SlotKind.PARAM, 0), Slot(SlotKind.MAPPING, name="b", parent=0)]
    args = [ArgSpec(ArgKind.DICT), ArgSpec(ArgKind.PY_INT)]
    program = harness.program(identity, body, args, exits, slots=slots, out_count=1, values=(("a", "b"), None))
    assert program.call({"a": None, "b": 7}) == 7
    for other in ({"b": 7, "a": None}, {"a": None}, {"a": 1, "b": 7, "c": 1}, {1: 1, 2: 7}, {"a": 1, "b": 7.0}, 5):
        assert program.call(other) == MISS


FACTOR = 3.0


def test_globals_builtins_and_closure_cells(harness):
    offset = 1.0

    def scaled(x):
        return FACTOR * x + offset + len("")  # noqa: F821 - deleted at the end, on purpose

    slots = [
        Slot(SlotKind.PARAM, 0),
        Slot(SlotKind.GLOBAL, 0, "FACTOR"),
        Slot(SlotKind.CELL, 0),
        Slot(SlotKind.GLOBAL, 0, "len"),
    ]
    args = [ArgSpec(ArgKind.PY_FLOAT)] * 3 + [ArgSpec(ArgKind.STATIC)]
    body = "out[0].f = args[1].f * args[0].f + args[2].f; return 0;"
    exits = (Exit(Scalar(0, "py_float")),)
    program = harness.program(scaled, body, args, exits, slots=slots, out_count=1, values=(None, None, None, len))
    assert program.call(2.0) == 7.0
    offset = 2.0
    assert program.call(2.0) == 8.0
    globals()["FACTOR"] = 10.0
    try:
        assert program.call(2.0) == 22.0
        globals()["FACTOR"] = 10
        assert program.call(2.0) == MISS
        del globals()["FACTOR"]
        assert program.call(2.0) == MISS
    finally:
        globals()["FACTOR"] = 3.0
    del offset
    assert program.call(2.0) == MISS


# ---------------------------------------------------------------- arrays

SUM = """
    const weft_array *a = &args[0].a; double s = 0;
    for (int64_t i = 0; i < a->shape[0]; i++)
        for (int64_t j = 0; j < a->shape[1]; j++) {
            const char *p = (const char *)a->data + i * a->strides[0] + j * a->strides[1];
            s += (i + 1) * (j + 2) * *(const double *)p;
        }
    out[0].f = s; return 0;"""


def weighted(x: np.ndarray[Any, Any]) -> float:
    i, j = np.indices(x.shape)
    return float(((i + 1) * (j + 2) * x).sum())


def sum_program(harness: Harness, **fields: Any):
    return harness.program(identity, SUM, [array(ndim=2, **fields)], (Exit(Scalar(0, "py_float")),), out_count=1)


def test_strided_arrays_of_every_form(harness):
    program = sum_program(harness)
    x = np.arange(60.0).reshape(6, 10)
    for view in (
        x,
        x.T,
        x[::2, ::3],
        x[::-1, ::-2],
        x[1:4, 2:7].T,
        np.asfortranarray(x),
        x[:0],
        x[:, :0],
        np.zeros((0, 0)),
    ):
        assert program.call(view) == weighted(view)
    broadcast = np.broadcast_to(np.arange(3.0), (4, 3))
    assert program.call(broadcast) == weighted(broadcast)
    assert program.misses == []


def test_layouts_are_those_of_the_flags(harness):
    c_order, f_order = sum_program(harness, layout="C"), sum_program(harness, layout="F")
    x = np.arange(12.0).reshape(3, 4)
    assert c_order.call(x) == weighted(x)
    assert f_order.call(x.T) == weighted(x.T)
    assert c_order.call(x.T) == c_order.call(x[:, ::2]) == f_order.call(x) == f_order.call(x.T[::-1]) == MISS


def test_extents_of_exactly_one_are_part_of_the_type(harness):
    neither, first, both = (sum_program(harness, ones=ones) for ones in (0, 1, 3))
    assert neither.call(np.ones((2, 3))) == weighted(np.ones((2, 3)))
    assert first.call(np.ones((1, 3))) == weighted(np.ones((1, 3)))
    assert both.call(np.ones((1, 1))) == weighted(np.ones((1, 1)))
    assert neither.call(np.ones((1, 3))) == first.call(np.ones((2, 3))) == first.call(np.ones((1, 1))) == MISS
    assert first.call(np.ones((1, 0))) == 0.0


class Matrix(np.ndarray):
    pass


def unaligned() -> np.ndarray[Any, Any]:
    return np.zeros(65, np.uint8)[1:].view(np.float64).reshape(2, 4)


@pytest.mark.parametrize(
    "other",
    [
        np.zeros(4),
        np.zeros((2, 2, 2)),
        np.zeros(()),
        np.zeros((2, 2), np.float32),
        np.zeros((2, 2), np.int64),
        np.zeros((2, 2), ">f8"),
        np.zeros((2, 2), object),
        np.zeros((2, 2), [("x", "f8")]),
        np.zeros((2, 2), "M8[s]"),
        np.zeros((2, 2)).view(Matrix),
        np.ma.zeros((2, 2)),
        unaligned(),
        [[0.0]],
        None,
        np.float64(1),
    ],
    ids=lambda v: f"{type(v).__name__}-{getattr(v, 'dtype', '')}-{getattr(v, 'ndim', '')}",
)
def test_other_arrays_do_not_match(harness, other):
    assert sum_program(harness).call(other) == MISS


def test_huge_extents_go_to_python(harness):
    program = sum_program(harness)
    assert program.call(np.broadcast_to(np.float64(1), (2**41, 0))) == MISS


def test_zero_dimensional_arrays(harness):
    body = "out[0].f = *(double *)args[0].a.data; return 0;"
    program = harness.program(identity, body, [array(ndim=0)], (Exit(Scalar(0, "float64")),), out_count=1)
    assert program.call(np.array(2.5)) == 2.5
    assert program.call(2.5) == MISS


def test_written_arrays_must_be_writeable(harness):
    program = harness.program(identity, "*(double *)args[0].a.data = 1; return 0;", [array(written=True)])
    x = np.zeros(3)
    program.call(x)
    assert x[0] == 1
    x.flags.writeable = False
    assert program.call(x) == MISS


# ---------------------------------------------------------------- aliases

ADD = """
    const weft_array *a = &args[0].a, *b = &args[1].a;
    for (int64_t i = 0; i < b->shape[0]; i++)
        *(double *)((char *)b->data + i * b->strides[0]) += *(double *)((char *)a->data + i * a->strides[0]);
    return 0;"""


def add(a, b):
    b += a
    return "python"


def test_the_same_array_twice_needs_its_own_variant(harness):
    program = harness.program(add, ADD, [array(), array(written=True)])
    x, y = np.arange(4.0), np.arange(4.0)
    assert program.call(x, y) is None
    assert program.call(x, x) == MISS
    assert program.call(x, x[:]) == MISS
    program.dispatcher.add_variant(harness.variant(ADD, [array(), array(written=True, same_as=0)]))
    assert program.call(x, x) is None
    assert program.call(x, x[:]) is None
    assert list(x) == [0, 4, 8, 12]
    assert program.call(x, y) is None
    assert program.dispatcher.counters().variant_calls == (2, 2)


def test_the_same_array_three_times(harness):
    specs = [array(written=True), array(same_as=0), array(same_as=0)]
    program = harness.program(lambda a, b, c: "python", "return 0;", specs)
    x = np.zeros(4)
    assert program.call(x, x, x) is None
    assert program.call(x, x, np.zeros(4)) == MISS


def test_arrays_that_are_only_read_may_be_anything(harness):
    program = harness.program(lambda a, b: "python", "return 0;", [array(), array()])
    x = np.zeros(9)
    assert program.call(x, x) is program.call(x, x[:5]) is program.call(x[1:], x[:-1]) is None


def test_partial_overlap_runs_in_python(harness):
    program = harness.program(add, ADD, [array(), array(written=True)])
    x = np.arange(8.0)
    expected = x.copy()
    expected[1:] += expected[:-1]
    assert program.call(x[:-1], x[1:]) == "python"
    assert (x == expected).all()
    assert program.call(x[::-1], x) == "python"
    assert program.call(x[::-1][:4], x[3:7]) == "python"
    assert program.call(x[:4], x[4:]) is None
    assert program.call(x[4:][::-1], x[:4]) is None
    assert program.call(x[3:3], x[2:2]) is None
    assert program.dispatcher.counters().python_calls == 3


def test_disjoint_views_of_one_array_are_no_overlap(harness):
    flat = harness.program(add, ADD, [array(), array(written=True)])
    x = np.zeros(12)
    assert flat.call(x[::2], x[1::2]) is None
    assert flat.call(x[1::2][::-1], x[::2]) is None
    assert flat.call(x[::3], x[1::3]) is flat.call(x[::2][:3], x[7::2][:3]) is None
    assert flat.call(x[::2][:4], x[::3][:4]) == "python"
    matrix = np.zeros((6, 8))
    assert flat.call(matrix[:, 2], matrix[:, 3]) is flat.call(matrix[2], matrix[3]) is None
    assert flat.call(matrix[:, 2], matrix[:, 2][::-1]) == "python"
    assert flat.call(matrix[1, :6], matrix[:, 1]) == "python"
    planes = harness.program(lambda a, b: "python", "return 0;", [array(ndim=2), array(ndim=2, written=True)])
    assert planes.call(matrix[:, :4], matrix[:, 4:]) is planes.call(matrix[:3], matrix[3:]) is None
    assert planes.call(matrix[:, :5], matrix[:, 4:]) == "python"
    assert planes.call(matrix[:3, 4:].T, matrix[3:, :4].T) is None


def test_disjointness_agrees_with_numpy_on_random_views(harness):
    program = harness.program(lambda a, b: "python", "return 0;", [array("uint8", 2), array("uint8", 2, written=True)])
    random = np.random.default_rng(0)
    base = np.zeros(200, np.uint8)
    apart = 0
    for _ in range(3000):
        views = []
        for _ in range(2):
            shape = tuple(int(n) for n in random.integers(2, 5, 2))
            strides = tuple(int(n) for n in random.integers(-20, 21, 2))
            low = sum(min(0, stride * (extent - 1)) for stride, extent in zip(strides, shape, strict=True))
            high = sum(max(0, stride * (extent - 1)) for stride, extent in zip(strides, shape, strict=True))
            offset = int(random.integers(-low, 200 - high))
            views.append(np.ndarray(shape, np.uint8, base, offset, strides))
        ran_compiled = program.call(*views) is None
        apart += ran_compiled
        if ran_compiled:
            assert not np.shares_memory(*views)
    assert 300 < apart < 3000


def test_a_written_array_that_overlaps_itself_runs_in_python(harness):
    program = harness.program(lambda a: "python", "return 0;", [array(ndim=2, written=True)])
    x = np.zeros(20)
    windows = np.lib.stride_tricks.as_strided(x, (5, 4), (8, 8))
    assert program.call(windows) == "python"
    assert program.call(np.lib.stride_tricks.as_strided(x, (5, 4), (0, 8))) == "python"
    assert program.call(np.lib.stride_tricks.as_strided(x, (5, 4), (32, 8))) is None
    assert program.call(x.reshape(4, 5)[::-1, ::2].T) is None
    assert program.call(np.lib.stride_tricks.as_strided(x, (0, 4), (0, 8))) is None


def test_variants_of_different_types_and_most_recent_first(harness):
    program = harness.program(identity, "return 0;", [array("float64")], constants=("f8",))
    program.dispatcher.add_variant(harness.variant("return 0;", [array("float32")], constants=("f4",)))
    program.dispatcher.add_variant(harness.variant("return 0;", [ArgSpec(ArgKind.PY_INT)], constants=("int",)))
    for _ in range(2):
        assert program.call(np.zeros(2)) == "f8"
        assert program.call(np.zeros(2, "f4")) == "f4"
        assert program.call(3) == "int"
    assert program.call("x") == MISS
    assert program.dispatcher.counters().variant_calls == (2, 2, 2)
    program.dispatcher.clear_variants()
    assert program.call(3) == MISS


def test_python_integers_never_match_floats_by_value(harness):
    program = harness.program(identity, "return 0;", [ArgSpec(ArgKind.PY_FLOAT)], (Exit(Const(0)),))
    assert program.call(1) == MISS
