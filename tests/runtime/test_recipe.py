"""What the kernel stored becomes the Python object of the exit."""

from __future__ import annotations

import gc
import importlib
import sys
import warnings
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from tests.runtime.conftest import array
from weft.runtime.native import UNBOUND
from weft.support.abi import (
    ArgKind,
    ArgSpec,
    Array,
    Const,
    Exit,
    Frame,
    FromSlot,
    Scalar,
    Sequence,
    Unbound,
    Union,
    WriteBack,
)

ALLOCATE = """
    weft_block *block = ctx->alloc(ctx, 6 * 8);
    if (!block) return WEFT_NO_MEMORY;
    for (int i = 0; i < 6; i++) ((double *)block->data)[i] = i;
    int64_t *e = ctx->extents(ctx, 8);
"""


def nothing(*args: Any) -> None:
    raise AssertionError("Python ran")


def make(harness, body, recipe, *, args=(), out_count=4, **more):
    function = [lambda: None, lambda a: None, lambda a, b: None][len(args)]
    return harness.program(function, body, args, (Exit(recipe),), out_count=out_count, **more).call


def test_every_scalar(harness):
    body = """out[0].i = -5; out[1].f = 0.5; out[2].c[0] = 1; out[2].c[1] = -2; out[3].i = 1; return 0;"""
    recipe = Sequence(
        (
            Const(1), Scalar(0, "py_int"), Scalar(1, "py_float"), Scalar(2, "py_complex"), Scalar(3, "py_bool"),
            Scalar(0, "int16"), Scalar(0, "uint64"), Scalar(1, "float32"), Scalar(2, "complex64"), Scalar(3, "bool"),
        )
    )  # fmt: skip
    result = make(harness, body, recipe, constants=(None, "text"))()
    expected = (
        "text", -5, 0.5, 1 - 2j, True,
        np.int16(-5), np.uint64(2**64 - 5), np.float32(0.5), np.complex64(1 - 2j), np.True_,
    )  # fmt: skip
    assert result == expected
    assert [type(item) for item in result] == [type(item) for item in expected]


def test_tuples_lists_unions_and_unbound(harness):
    choice = Union(0, (Const(0), Sequence((Scalar(1, "py_int"), Unbound())), Sequence((), is_list=True)))
    body = "out[0].i = args[0].i; out[1].i = 9; return 0;"
    call = make(harness, body, Sequence((choice, FromSlot(0)), is_list=True), args=[ArgSpec(ArgKind.PY_INT)])
    assert call(0) == [None, 0]
    assert call(1) == [(9, UNBOUND), 1]
    assert call(2) == [[], 2]
    with pytest.raises(SystemError, match="alternative 3"):
        call(3)


def test_calls_and_objects_made_once(harness):
    pair = namedtuple("pair", "a b")
    first_kind, second_kind = (
        Sequence((Scalar(0, "py_int"), Sequence((), is_list=True)), share=share, cls=1) for share in (1, 2)
    )
    body = "out[0].i = 7; return 0;"
    recipe = Sequence((first_kind, second_kind, first_kind))
    call = make(harness, body, recipe, constants=(None, pair))
    first, second, third = call()
    assert first is third
    assert first is not second
    assert first == second == pair(7, [])
    assert type(first) is pair


def test_a_call_that_raises(harness):
    call = make(harness, "return 0;", Sequence((Sequence((Const(0),), share=1, cls=1),)), constants=("x", int))
    with pytest.raises(ValueError, match="invalid literal"):
        call()


def test_objects_of_slots_come_back_themselves(harness):
    call = make(harness, "return 0;", FromSlot(0), args=[ArgSpec(ArgKind.IGNORED)])
    thing = object()
    before = sys.getrefcount(thing)
    assert call(thing) is thing
    assert sys.getrefcount(thing) == before


# ---------------------------------------------------------------- arrays


def test_a_new_array_owns_its_memory(harness):
    body = (
        ALLOCATE
        + "e[0] = 2; e[1] = 3; e[2] = 24; e[3] = 8; out[0].a = (weft_array){block->data, block, e, e + 2}; return 0;"
    )
    call = make(harness, body, Array(0, "float64", 2))
    result = call()
    assert type(result) is np.ndarray
    assert (result == np.arange(6.0).reshape(2, 3)).all()
    flags = result.flags
    assert flags.owndata
    assert flags.c_contiguous
    assert flags.writeable
    assert flags.aligned
    assert result.base is None
    assert result.ctypes.data % 64 == 0
    result.resize((4, 5), refcheck=False)
    assert result.sum() == 15
    another = call()
    assert sys.getrefcount(another) == 2


def test_no_warning_under_a_strict_memory_policy(harness):
    """NumPy can be asked to warn about arrays that own memory without a handler."""
    umath = importlib.import_module("numpy._core._multiarray_umath")
    body = ALLOCATE + "e[0] = 6; e[1] = 8; out[0].a = (weft_array){block->data, block, e, e + 1}; return 0;"
    result = make(harness, body, Array(0, "float64", 1))()
    before = umath._set_numpy_warn_if_no_mem_policy(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            del result
    finally:
        umath._set_numpy_warn_if_no_mem_policy(before)
    assert caught == []


def test_fortran_and_permuted_arrays_own_their_memory(harness):
    fortran = (
        "e[0] = 2; e[1] = 3; e[2] = 8; e[3] = 16; out[0].a = (weft_array){block->data, block, e, e + 2}; return 0;"
    )
    result = make(harness, ALLOCATE + fortran, Array(0, "float64", 2))()
    assert result.flags.owndata
    assert result.flags.f_contiguous
    assert (result == np.arange(6.0).reshape(3, 2).T).all()
    permuted = """e[0] = 1; e[1] = 3; e[2] = 2; e[3] = 999; e[4] = 8; e[5] = 24;
        out[0].a = (weft_array){block->data, block, e, e + 3}; return 0;"""
    result = make(harness, ALLOCATE + permuted, Array(0, "float64", 3))()
    assert result.flags.owndata
    assert (result[0] == np.arange(6.0).reshape(2, 3).T).all()


def test_an_empty_array_and_a_zero_dimensional_one(harness):
    body = """weft_block *block = ctx->alloc(ctx, 0), *one = ctx->alloc(ctx, 8); int64_t *e = ctx->extents(ctx, 4);
        e[0] = 0; e[1] = 3; e[2] = 24; e[3] = 8; *(double *)one->data = 5;
        out[0].a = (weft_array){block->data, block, e, e + 2}; out[1].a = (weft_array){one->data, one, e, e};
        return 0;"""
    empty, scalar = make(harness, body, Sequence((Array(0, "float64", 2), Array(1, "float64", 0))))()
    assert empty.shape == (0, 3)
    assert scalar.shape == ()
    assert scalar[()] == 5.0
    assert type(scalar) is np.ndarray


def test_part_of_a_block_keeps_the_block_alive(harness):
    body = (
        ALLOCATE
        + """e[0] = 3; e[1] = -16;
        out[0].a = (weft_array){(char *)block->data + 40, block, e, e + 1}; return 0;"""
    )
    result = make(harness, body, Array(0, "float64", 1))()
    assert list(result) == [5, 3, 1]
    assert result.base.dtype == np.uint8
    assert result.base.flags.owndata
    assert result.flags.writeable


def test_two_arrays_of_one_block(harness):
    body = (
        ALLOCATE
        + """e[0] = 6; e[1] = 8; e[2] = 2; e[3] = 16;
        out[0].a = (weft_array){block->data, block, e, e + 1}; out[1].a = out[0].a;
        out[2].a = (weft_array){(char *)block->data + 8, block, e + 2, e + 3}; return 0;"""
    )
    recipe = Sequence(tuple(Array(k, "float64", 1) for k in range(3)))
    whole, again, part = make(harness, body, recipe)()
    assert whole is again
    assert part.base is whole
    part[0] = 100
    assert whole[1] == 100
    recipe = Sequence(tuple(Array(k, "float64", 1) for k in (2, 0)))
    part, whole = make(harness, body, recipe)()
    assert part.base is whole.base
    del part
    assert list(whole) == [0, 1, 2, 3, 4, 5]


def test_an_argument_comes_back_itself(harness):
    body = "out[0].a = args[0].a; return 0;"
    call = make(harness, body, Array(0, "float64", 1), args=[array()])
    for x in (np.zeros(4), np.zeros(8)[::2], np.zeros(4)[::-1], np.zeros(0)):
        before = sys.getrefcount(x)
        assert call(x) is x
        assert sys.getrefcount(x) == before


VIEW = """int64_t *e = ctx->extents(ctx, 2); e[0] = 2; e[1] = -args[0].a.strides[0];
    out[0].a = args[0].a; out[0].a.data = (char *)args[0].a.data + 2 * args[0].a.strides[0];
    out[0].a.shape = e; out[0].a.strides = e + 1; return 0;"""


def test_views_of_arguments(harness):
    call = make(harness, VIEW, Array(0, "float64", 1), args=[array()])
    x = np.arange(4.0)
    before = sys.getrefcount(x)
    view = call(x)
    assert view.base is x
    assert not view.flags.owndata
    view[0] = 50
    assert x[2] == 50
    del view
    assert sys.getrefcount(x) == before
    x.flags.writeable = False
    assert not call(x).flags.writeable
    outer = np.arange(9.0)
    assert call(outer[::2]).base is outer


def test_a_view_of_one_argument_that_is_another_argument(harness):
    body = """int64_t *e = ctx->extents(ctx, 2); e[0] = 2; e[1] = 8;
        out[0].a = args[0].a; out[0].a.shape = e; out[0].a.strides = e + 1; return 0;"""
    call = make(harness, body, Array(0, "float64", 1), args=[array(), array()])
    x = np.zeros(4)
    head = x[:2]
    assert call(x, head) is head


# ---------------------------------------------------------------- exits


def test_exits_with_frames_call_on_resume(harness):
    seen: list[Any] = []

    def on_resume(index: int, decoded: Any, slots: tuple[Any, ...]) -> str:
        seen.append((index, decoded, slots))
        return "resumed"

    frame = Frame(0, (1, 2), ("x",))
    exits = (Exit(Const(0)), Exit(Sequence((Sequence((Scalar(0, "py_int"),)),)), (frame,), 3, "bounds"))
    program = harness.program(
        lambda a: None,
        "out[0].i = 4; return args[0].i;",
        [ArgSpec(ArgKind.PY_INT)],
        exits,
        out_count=1,
        on_resume=on_resume,
    )
    assert program.call(0) is None
    assert program.call(1) == "resumed"
    assert seen == [(1, ((4,),), (1,))]
    assert program.dispatcher.counters().resumes == 1
    with pytest.raises(SystemError, match="exit 2 of 2"):
        program.call(2)
    with pytest.raises(MemoryError):
        program.call(-2)


def test_writebacks_call_on_finish(harness):
    seen: list[Any] = []

    def on_finish(index: int, decoded: Any, slots: tuple[Any, ...]) -> str:
        seen.append((index, decoded, slots))
        return "finished"

    recipe = Sequence((Const(0), Sequence((Scalar(0, "py_int"),))))
    program = harness.program(
        lambda a: None,
        "out[0].i = 4; return 0;",
        [ArgSpec(ArgKind.IGNORED)],
        (Exit(recipe),),
        out_count=1,
        on_finish=on_finish,
        writebacks=[WriteBack(0, "x")],
    )
    assert program.call("self") == "finished"
    assert seen == [(0, (None, (4,)), ("self",))]


def test_recorded_warnings_arrive_once_per_site_before_the_result(harness):
    seen: list[Any] = []
    body = """for (int i = 0; i < 40; i++) ctx->warn(ctx, i & 1 ? WEFT_FP_DIVIDE : WEFT_FP_INVALID, i / 2);
        ctx->warn(ctx, 0, 99); return 0;"""
    program = harness.program(lambda: None, body, [], on_warn=seen.append)
    assert program.call() is None
    assert seen == [[(9, site) for site in range(20)]]

    def fail(_warnings: object) -> None:
        raise RuntimeWarning("as an error")

    program = harness.program(lambda: None, body, [], on_warn=fail)
    with pytest.raises(RuntimeWarning, match="as an error"):
        program.call()


# ---------------------------------------------------------------- memory


def test_whatever_the_kernel_leaves_is_freed(harness):
    body = """weft_block *kept[40];
        for (int i = 0; i < 40; i++) if (!(kept[i] = ctx->alloc(ctx, 1000 * (i + 1)))) return WEFT_NO_MEMORY;
        for (int i = 0; i < 40; i += 3) ctx->release(ctx, kept[i]);
        for (int i = 0; i < 20; i++) ctx->extents(ctx, 16)[15] = i;
        return args[0].i;"""
    program = harness.program(lambda a: None, body, [ArgSpec(ArgKind.PY_INT)])
    program.call(0)
    counters = program.dispatcher.counters()
    assert counters.allocations == 40
    assert counters.allocated_bytes == counters.peak_bytes == 1000 * 820
    program.call(0)
    with pytest.raises(MemoryError):
        program.call(-2)


def resident_kilobytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4


def test_nothing_leaks(harness):
    whole = ALLOCATE + "e[0] = 6; e[1] = 8; out[0].a = (weft_array){block->data, block, e, e + 1};"
    extra = """weft_block *big = ctx->alloc(ctx, 300000); ((char *)big->data)[299999] = 1;
        out[1].a = out[0].a; out[1].a.shape = args[0].a.shape; return 0;"""
    part = Sequence(
        (Array(0, "float64", 1), Array(1, "float64", 1), FromSlot(0), Scalar(0, "py_int"), Scalar(0, "float32"))
    )
    call = make(harness, whole + extra, part, args=[array()])
    x = np.zeros(2)
    frames = (Exit(Sequence((FromSlot(0),)), (Frame(0, (), ("x",)),)),)
    resume = harness.program(lambda a: None, "return 0;", [array()], frames, on_resume=lambda *arguments: None).call

    def run(times: int) -> None:
        for _ in range(times):
            call(x)
            resume(x)
            call("miss")

    run(2000)
    gc.collect()
    before, references = resident_kilobytes(), sys.getrefcount(x)
    run(20000)
    assert resident_kilobytes() - before < 2000
    assert sys.getrefcount(x) == references


def test_a_dispatcher_in_a_cycle_is_collected(harness):
    import weakref

    class Holder:
        program: Any = None

    def make_cycle() -> weakref.ref[Holder]:
        holder = Holder()
        holder.program = harness.program(
            lambda a: holder, "return 0;", [ArgSpec(ArgKind.PY_INT)], on_warn=lambda warnings: holder
        )
        assert holder.program.call(1) is None
        return weakref.ref(holder)

    watch = make_cycle()
    gc.collect()
    assert watch() is None
