"""Loops, branches, memory, guards and exits, each in a program built by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.codegen.builders import Build, give, point, site
from tests.codegen.harness import UNSET, load
from weft.ir.dtypes import NP_BOOL, PY_BOOL, PY_FLOAT, PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Value, const, const_index, index, op
from weft.ir.nodes import (
    Alloc,
    Axis,
    Branch,
    Break,
    Carry,
    Choice,
    Constant,
    Container,
    Continue,
    Elementwise,
    Guard,
    Layout,
    Let,
    Loop,
    Map,
    Memlet,
    Missing,
    Pack,
    Region,
    Schedule,
    SlotObject,
    Storage,
    Tasklet,
    View,
    While,
    Yield,
)

F8 = ScalarType(DType.FLOAT64)
ONE, ZERO = const_index(1), const_index(0)


def less(a: Expr, b: Expr) -> Expr:
    return op("less", (a, b), PY_BOOL)


def fill(build: Build, view: View, number: float) -> Elementwise:
    params = tuple(build.value("p") for _ in view.shape)
    return Elementwise(output=view, params=params, inputs=(), expr=const(number, F8))


# ---- scalars and exits ----------------------------------------------------------------------------------------------


def test_scalars_of_every_type_come_in_and_go_out() -> None:
    build = Build()
    types = [*(ScalarType(dtype) for dtype in DType), PY_BOOL, PY_INT, PY_FLOAT, ScalarType(DType.COMPLEX128, True)]
    values = [build.scalar(f"v{k}", type_) for k, type_ in enumerate(types)]
    given: list[Any] = [
        np.array(3).astype(type_.dtype.value)[()] if type_.dtype.kind != "b" else True for type_ in types
    ]
    given[8] = np.uint64(2**64 - 1)
    outcome = load(build.program(give(Pack(tuple(values)))))(*given)
    for type_, got, expected in zip(types, outcome.value, given, strict=True):
        assert got == expected
        assert isinstance(got, (bool, int, float, complex) if type_.python else type_.dtype.numpy.type)


def test_a_result_of_many_parts() -> None:
    build = Build()
    a = build.array("a", DType.FLOAT64, 2)
    n = build.scalar("n", PY_INT)
    turned = View("a", a.shape[::-1], (Axis(ZERO, ((1, ONE),)), Axis(a.shape[1] - 1, ((0, const_index(-1)),))))
    choice = Choice(n, (Constant(0), Pack((index(n) * 2, Missing()), is_list=True), turned))
    program = build.program(give(Pack((choice, SlotObject(0), a))), constants=("zero",))
    kernel = load(program)
    values = np.arange(6.0).reshape(2, 3)
    assert kernel(values, 0).value[0] == "zero"
    assert kernel(values, 1).value[0] == [2, UNSET]
    got = kernel(values, 2).value
    np.testing.assert_array_equal(got[0], values[:, ::-1].T)
    assert got[1] is values
    np.testing.assert_array_equal(got[2], values)
    assert kernel(values, 1).info.out_count <= 4


def test_a_failed_guard_leaves_with_the_live_values() -> None:
    build = Build()
    n = build.scalar("n", PY_INT)
    double = build.value("d")
    program = build.program(
        Tasklet(lets=(Let(double, index(n) * 2),)),
        site(7, n=n, d=double, gone=Missing()),
        Guard(less(double, const_index(10)), 7, "too large"),
        Guard(op("logical_not", (op("add_overflows", (n, n), NP_BOOL),), PY_BOOL), 7, "overflow"),
        give(op("add", (double, ONE), PY_INT)),
    )
    kernel = load(program)
    assert kernel(4).value == 9
    failed = kernel(5)
    assert failed.value == ((5, 10, UNSET),)
    assert failed.exit.frames[0].names == ("n", "d", "gone")
    assert failed.exit.reason == "too large; overflow"
    assert kernel(2**62 - 1).exit.frames


# ---- loops ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, -1, 3, -4, "variable"])
def test_loops_count_as_range_does(step: int | str) -> None:
    build = Build()
    start, stop, by = (build.scalar(name, PY_INT) for name in ("start", "stop", "by"))
    total, count, var = build.value("total"), build.value("count"), build.value("i")
    body = Region((Continue((index(total) * 31 + index(var), index(count) + 1)),))
    loop = Loop(
        var=var, start=index(start), stop=index(stop), step=index(by if isinstance(step, str) else step),
        carries=(Carry(total, ZERO), Carry(count, ZERO)), body=body,
    )  # fmt: skip
    kernel = load(build.program(loop, give(Pack((total, count)))), "-O1")
    edges = [-(2**63), 2**63 - 1, 2**63 - 5, -(2**63) + 5]
    for begin, end in [
        (0, 10),
        (10, 0),
        (3, 3),
        (-7, 8),
        (0, 5000),
        (5000, 0),
        *((e, e + d) for e in edges for d in (4, -4)),
    ]:
        for real in [step] if isinstance(step, int) else [1, -1, 2, -7, 2**62]:
            if not -(2**63) <= end < 2**63 or len(range(begin, end, real)) > 10**5:
                continue
            expected = 0
            for i in range(begin, end, real):
                expected = (expected * 31 + i + 2**63) % 2**64 - 2**63
            assert kernel(begin, end, real).value == (expected, len(range(begin, end, real))), (begin, end, real)


def test_carries_are_assigned_at_once() -> None:
    build = Build()
    n = build.scalar("n", PY_INT)
    a, b, var = build.value("a"), build.value("b"), build.value("i")
    body = Region((Continue((b, index(a) + index(b))),))
    carries = (Carry(a, ZERO), Carry(b, ONE))
    loop = Loop(var=var, start=ZERO, stop=index(n), step=ONE, carries=carries, body=body)
    assert load(build.program(loop, give(a)))(30).value == 832040


def test_while_with_break_and_continue_inside_branches() -> None:
    """Collatz: how many steps to 1, giving up after 500."""
    build = Build()
    n = build.scalar("n", PY_INT)
    value, steps = build.value("value"), build.value("steps")
    odd = op("bitwise_and", (value, ONE), PY_INT)
    half = op("floor_divide", (value, const_index(2)), PY_INT)
    done = Branch(
        condition=op("logical_or", (op("equal", (value, ONE), PY_BOOL), less(const_index(500), steps)), PY_BOOL),
        then=Region((Break((value, steps)),)), orelse=Region((Yield(),)),
    )  # fmt: skip
    even = Branch(
        condition=op("equal", (odd, ZERO), PY_BOOL),
        then=Region((Continue((half, index(steps) + 1)),)), orelse=Region((Yield(),)),
    )  # fmt: skip
    body = Region((done, even, Continue((index(value) * 3 + 1, index(steps) + 1))))
    loop = While(carries=(Carry(value, n), Carry(steps, ZERO)), body=body)
    kernel = load(build.program(loop, give(Pack((value, steps)))))
    assert kernel(27).value == (1, 111)
    assert kernel(1).value == (1, 0)


@pytest.mark.parametrize("straight", [True, False])
def test_loops_can_be_interrupted(straight: bool) -> None:
    build = Build()
    n = build.scalar("n", PY_INT)
    total, var = build.value("total"), build.value("i")
    odd = Branch(condition=less(var, ZERO), then=Region((Break((total,)),)), orelse=Region((Yield(),)))
    body = Region((*(() if straight else (odd,)), Continue((op("bitwise_xor", (total, var), PY_INT),))))
    loop = Loop(var=var, start=ZERO, stop=index(n), step=ONE, carries=(Carry(total, ZERO),), body=body)
    kernel = load(build.program(loop, give(total)))
    assert kernel(10**5, polls=3).code == -1
    assert kernel(10**5).code == 0


# ---- memory ---------------------------------------------------------------------------------------------------------


def swap_program() -> tuple[Build, Region]:
    """Two arrays that change places in each iteration, and a third that is made and forgotten in it."""
    build = Build("swap")
    a, b = build.array("a", DType.FLOAT64, 1, written=True), build.array("b", DType.FLOAT64, 1, Layout.STRIDED)
    n = build.scalar("n", PY_INT)
    x, y = build.ref("x", DType.FLOAT64, 1, ("a", "b", "t")), build.ref("y", DType.FLOAT64, 1, ("a", "b", "t"))
    t = build.transient("t", DType.FLOAT64, (index(a.shape[0]),))
    k, u, v = build.value("k"), build.value("u", F8), build.value("v", F8)
    step = Elementwise(
        output=t, params=(k,), inputs=((u, x), (v, y)), expr=op("add", (u, op("multiply", (v, const(2.0, F8)), F8)), F8)
    )
    var = build.value("i")
    body = Region((Alloc(container="t", site=0), step, Continue((build.whole("y"), t))))
    loop = Loop(
        var=var, start=ZERO, stop=index(n), step=ONE, carries=(Carry("x", a), Carry("y", b)), body=body
    )  # fmt: skip
    return build, Region((site(0, n=n), loop, give(Pack((build.whole("x"), build.whole("y"))))))


def test_references_swap_and_memory_is_returned() -> None:
    build, region = swap_program()
    kernel = load(build.program(*region.nodes))
    for n in (0, 1, 2, 5):
        a, b = np.arange(5.0), np.repeat(np.arange(5.0) + 10, 2)[::-2]
        x, y = a, b
        for _ in range(n):
            x, y = y, x + 2 * y
        outcome = kernel(a, b, n)
        np.testing.assert_array_equal(outcome.value[0], x)
        np.testing.assert_array_equal(outcome.value[1], y)
        assert outcome.live == min(n, 2)
    assert kernel(a, b, 5, allocations=3).exit.frames, "the fourth allocation fails: on to Python"


def test_a_branch_yields_views_and_scalars() -> None:
    build = Build()
    a = build.array("a", DType.FLOAT64, 2, Layout.F)
    flag = build.scalar("flag", PY_BOOL)
    r = build.ref("r", DType.FLOAT64, 1, ("a", "t"))
    t = build.transient("t", DType.FLOAT64, (3,))
    number = build.value("number", PY_FLOAT)
    row = View("a", (a.shape[1],), (Axis(ONE), Axis(ZERO, ((0, ONE),))))
    branch = Branch(
        condition=flag,
        then=Region((Yield((row, const(1.5, PY_FLOAT))),)),
        orelse=Region((Alloc(container="t", site=1), fill(build, t, 4.0), Yield((t, const(2.5, PY_FLOAT))))),
        results=("r", number),
    )
    program = build.program(site(1), branch, give(Pack((r, number, index(r.shape[0])))))
    kernel = load(program)
    values = np.asfortranarray(np.arange(8.0).reshape(2, 4))
    got = kernel(values, True).value
    np.testing.assert_array_equal(got[0], values[1])
    assert got[1:] == (1.5, 4)
    outcome = kernel(values, False)
    np.testing.assert_array_equal(outcome.value[0], [4.0] * 3)
    assert outcome.value[1:] == (2.5, 3)
    assert outcome.live == 1


def test_sizes_that_do_not_fit_leave_like_a_failed_guard() -> None:
    build = Build()
    n = build.scalar("n", PY_INT)
    t = build.transient("t", DType.FLOAT64, (n, n, n))
    kernel = load(build.program(site(0, n=n), Alloc(container="t", site=0), fill(build, t, 1.0), give(t)))
    assert kernel(2).value.shape == (2, 2, 2)
    assert kernel(2**40).value == ((2**40,),)
    assert kernel(0).value.shape == (0, 0, 0)


def test_an_alias_is_the_same_memory_in_another_shape() -> None:
    build = Build()
    a = build.array("a", DType.FLOAT64, 1, written=True)
    half = build.value("half")
    build.containers["m"] = Container("m", DType.FLOAT64, (index(half), const_index(2)), Storage.ALIAS, base="a")
    m = build.whole("m")
    i = build.value("i")
    column = View("m", (index(half),), (Axis(ZERO, ((0, ONE),)), Axis(ONE)))
    program = build.program(
        Tasklet(lets=(Let(half, op("floor_divide", (a.shape[0], const_index(2)), PY_INT)),)),
        Elementwise(output=column, params=(i,), inputs=(), expr=const(-1.0, F8)),
        give(m),
    )
    values = np.arange(6.0)
    got = load(program)(values).value
    np.testing.assert_array_equal(got, [[0, -1], [2, -1], [4, -1]])
    np.testing.assert_array_equal(values, got.ravel())


# ---- maps -----------------------------------------------------------------------------------------------------------


def transposed_sum(schedule: Schedule) -> tuple[Build, Map]:
    build = Build(f"map_{schedule.value}")
    a = build.array("a", DType.FLOAT64, 2, Layout.STRIDED)
    r = build.array("r", DType.FLOAT64, 2, Layout.F, written=True)
    shift = build.scalar("shift", PY_FLOAT)
    i, j, u = build.value("i"), build.value("j"), build.value("u", F8)
    tasklet = Tasklet(
        reads=((u, Memlet("a", point(j, i))),),
        writes=((Memlet("r", point(i, j)), op("divide", (u, op("cast", (shift,), F8)), F8)),),
    )
    ranges = ((ZERO, a.shape[1]), (ONE, r.shape[1]))
    warn = build.warn("divide")
    return build, Map(params=(i, j), ranges=ranges, body=Region((tasklet,)), schedule=schedule, warn=warn)


@pytest.mark.parametrize("schedule", Schedule)
def test_maps_of_every_schedule(schedule: Schedule) -> None:
    build, node = transposed_sum(schedule)
    kernel = load(build.program(node, give(SlotObject(1))))
    for rows, columns in [(3, 4), (300, 400)]:
        values = np.random.default_rng(0).standard_normal((columns, rows * 2))[:, ::-2]
        result = np.zeros((rows, columns), order="F")
        outcome = kernel(values, result, 2.0)
        np.testing.assert_array_equal(result[:, 1:], values.T[:, 1:] / 2.0)
        assert (result[:, 0] == 0).all()
        assert (outcome.chunks > 1) == (schedule is Schedule.PARALLEL and rows == 300)
        assert outcome.warnings == {0: 0}
        assert kernel(values, result, 0.0).warnings == {0: 1}


def test_conflicting_writes_combine() -> None:
    """A histogram, and a maximum."""
    build = Build()
    a = build.array("a", DType.INT64, 1)
    build.array("h", DType.INT64, 1, written=True)
    build.array("top", DType.INT64, 0, written=True)
    i, u = build.value("i"), build.value("u", ScalarType(DType.INT64))
    k = build.value("k")
    tasklet = Tasklet(
        reads=((u, Memlet("a", point(i))),),
        lets=(Let(k, op("cast", (u,), PY_INT)),),
        writes=(
            (Memlet("h", point(k), "add"), const(1, ScalarType(DType.INT64))),
            (Memlet("top", (), "maximum"), u),
        ),
    )
    kernel = load(
        build.program(Map(params=(i,), ranges=((ZERO, a.shape[0]),), body=Region((tasklet,))), give(Pack(())))
    )
    values = np.random.default_rng(0).integers(0, 5, 100)
    counts, highest = np.zeros(5, np.int64), np.zeros((), np.int64)
    kernel(values, counts, highest)
    np.testing.assert_array_equal(counts, np.bincount(values, minlength=5))
    assert highest == values.max()


@pytest.mark.parametrize("layout", Layout)
def test_arguments_of_every_layout(layout: Layout) -> None:
    build = Build()
    a = build.array("a", DType.FLOAT64, 3, layout)
    r = build.array("r", DType.FLOAT64, 3, layout, written=True)
    params = tuple(build.value(name) for name in "ijk")
    u = build.value("u", F8)
    kernel = load(build.program(Elementwise(output=r, params=params, inputs=((u, a),), expr=u), give(r)))
    values = np.random.default_rng(0).standard_normal((3, 4, 5))
    result = np.empty((3, 4, 5))
    if layout is Layout.F:
        values, result = np.asfortranarray(values), np.asfortranarray(result)
    if layout is Layout.STRIDED:
        values, result = values[::-1, :, ::-1], np.empty((5, 4, 6)).transpose(2, 1, 0)[::2]
    got = kernel(values, result).value
    np.testing.assert_array_equal(result, values)
    np.testing.assert_array_equal(got, values)
    assert got.strides == result.strides or layout is Layout.STRIDED


def test_parallel_maps_may_share_names() -> None:
    """The same loop twice, as a pass that splits loops leaves it, on containers with awkward names."""
    build = Build()
    a, r = build.array("raw", DType.FLOAT64, 1), build.array("raw_s0", DType.FLOAT64, 1, Layout.STRIDED, written=True)
    i, u, k = build.value("i"), build.value("u", F8), build.scalar("env", PY_FLOAT)
    expr = op("add", (u, op("cast", (k,), F8)), F8)
    reads = ((u, Memlet("raw", point(i))),)
    body = Region((Tasklet(reads=reads, writes=((Memlet("raw_s0", point(i)), expr),)),))
    node = Map(params=(i,), ranges=((ZERO, a.shape[0]),), body=body, schedule=Schedule.PARALLEL)
    outer = Loop(
        var=build.value("t"), start=ZERO, stop=const_index(2), step=ONE, carries=(), body=Region((node, Continue()))
    )
    kernel = load(build.program(node, outer, give(r)))
    values, result = np.arange(50_000.0), np.zeros(50_000)
    assert kernel(values, result, 2.0).chunks > 3
    np.testing.assert_array_equal(result, values + 2)


def test_names_of_c_and_names_outside_ascii_do_no_harm() -> None:
    build = Build("für")
    a = build.array("double", DType.FLOAT64, 1)
    b = build.array("größe", DType.FLOAT64, 1, written=True)
    n = build.scalar("int", PY_INT)
    u = Value(999, "exp", F8)
    i = build.value("out")
    expr = op("add", (op("exp", (u,), F8), op("cast", (n,), F8)), F8)
    kernel = load(build.program(Elementwise(output=b, params=(i,), inputs=((u, a),), expr=expr), give(Pack(()))))
    result = np.empty(3)
    kernel(np.zeros(3), result, 2)
    np.testing.assert_array_equal(result, 3.0)
