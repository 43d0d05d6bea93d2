"""Reductions of elements that are computed where they are needed, against NumPy: operations, types, axes, threads."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

from tests.codegen.builders import Build, give, point
from tests.codegen.harness import Module, load
from tests.codegen.test_reductions import OPS, axes_of, check, expect, result_type, sample
from weft.interp import Returned, interpret
from weft.ir.dtypes import NP_BOOL, DType, ScalarType
from weft.ir.exprs import const, index, op
from weft.ir.nodes import (
    Elements,
    Layout,
    Let,
    Memlet,
    Pack,
    Program,
    Reduce,
    Schedule,
    Tasklet,
)
from weft.ir.parser import parse_program
from weft.ir.printer import print_program
from weft.ir.verifier import verify

F8, F4, I8 = ScalarType(DType.FLOAT64), ScalarType(DType.FLOAT32), ScalarType(DType.INT64)
LENGTHS = (0, 1, 7, 8, 9, 31, 32, 127, 128, 129, 511, 513, 1000, 5000, 100_000)
SHAPES = {
    2: [(3, 5), (1, 300), (300, 2), (9, 17), (5, 64), (0, 4), (4, 0), (40, 1100)],
    3: [(3, 4, 5), (2, 1, 150), (7, 60, 80)],
}
INITIAL = {"add": 0, "multiply": 1, "logical_and": True, "logical_or": False}
PARALLEL, SEQUENTIAL = Schedule.PARALLEL, Schedule.SEQUENTIAL


def combination(dtype: DType) -> str:
    """An operation of which NumPy has one answer; its products of complex numbers differ in the last bit."""
    return {"b": "logical_xor", "c": "subtract"}.get(dtype.kind, "multiply")


def product(
    name: str, dtype: DType, axes: tuple[int, ...], rank: int, keepdims: bool, schedule: Schedule = SEQUENTIAL
) -> Program:
    """Reduce `a[::-1] * b`, where b is as long as the last axis and its strides are known at run time."""
    build = Build(f"{name}_{dtype.text}")
    a, b = build.array("a", dtype, rank), build.array("b", dtype, 1, Layout.STRIDED)
    result, type_ = result_type(name, dtype), ScalarType(dtype)
    output = build.array("r", result, rank if keepdims else rank - len(axes), written=True)
    params = [build.value("ijk"[axis]) for axis in range(rank)]
    u, v, p = build.value("u", type_), build.value("v", type_), build.value("p", type_)
    backwards = (a.shape[0] - 1 - index(params[0]), *point(*params[1:]))
    first = Tasklet(reads=((u, Memlet("a", backwards)), (v, Memlet(b.container, point(params[-1])))))
    second = Tasklet(lets=(Let(p, op(combination(dtype), (u, v), NP_BOOL if dtype is DType.BOOL else type_)),))
    elements = Elements(tuple(params), a.shape, (first, second), p)
    initial = const(INITIAL[name], ScalarType(result)) if name in INITIAL else None
    node = Reduce(op=name, output=output, input=elements, axes=axes, initial=initial, schedule=schedule)
    program = build.program(node, give(Pack(())))
    verify(program)
    return program


def check_close(name: str, got: Any, expected: Any, values: Any, axes: tuple[int, ...]) -> None:
    """Sums within the bound of pairwise summation, products in NumPy's order, everything else exact."""
    if name == "add" and got.dtype.kind in "fc":
        sizes = np.abs(values).sum(axes, dtype=np.float64).reshape(got.shape)
        assert (np.abs(got - expected) <= 60 * np.finfo(got.dtype).eps * sizes).all()
    else:
        check(name, got, expected.astype(got.dtype), 50)


@functools.cache
def module(dtype: DType, rank: int, keepdims: bool) -> tuple[Module, dict[Any, int]]:
    cases = list(itertools.product(OPS, axes_of(rank), (SEQUENTIAL, PARALLEL)))
    cases = [(name, axes, schedule) for name, axes, schedule in cases if not name.startswith("arg") or len(axes) < 2]
    programs = [product(name, dtype, axes, rank, keepdims, schedule) for name, axes, schedule in cases]
    vectorised = rank == 1 or (rank == 2 and dtype.kind == "f")  # the others take gcc ten times as long as at -O0
    kernels = load(programs, "-O3" if rank == 1 else "-O1" if vectorised else "-O0")
    return kernels, {case: number for number, case in enumerate(cases)}


CASES = [
    *((dtype, 1, False) for dtype in (DType.FLOAT64, DType.FLOAT32, DType.COMPLEX128, DType.COMPLEX64)),
    *((dtype, 1, True) for dtype in (DType.INT8, DType.UINT16, DType.INT64, DType.BOOL)),
    *((dtype, 2, False) for dtype in (DType.FLOAT64, DType.COMPLEX64, DType.INT32)),
    (DType.FLOAT32, 2, True),
    (DType.FLOAT64, 3, False),
]


@pytest.mark.parametrize(("dtype", "rank", "keepdims"), CASES, ids=lambda value: getattr(value, "text", str(value)))
def test_every_operation_over_every_combination_of_axes(dtype: DType, rank: int, keepdims: bool) -> None:
    kernels, numbers = module(dtype, rank, keepdims)
    for shape in [(length,) for length in LENGTHS] if rank == 1 else SHAPES[rank]:
        a, b = sample(dtype, shape), np.repeat(sample(dtype, shape[-1:]), 2)[::2]
        with np.errstate(all="ignore"):
            values = getattr(np, combination(dtype))(a[::-1], b)
        for (name, axes, schedule), number in numbers.items():
            count = int(np.prod([shape[axis] for axis in axes]))
            if schedule is PARALLEL or (count == 0 and name not in INITIAL):
                continue
            with np.errstate(all="ignore"):
                expected = expect(name, values, axes, keepdims)
            runs = [np.empty(expected.shape, result_type(name, dtype).value) for _ in range(3)]
            kernels(a, b, runs[0], number=number)
            for threads, got in enumerate(runs[1:], 1):
                kernels(a, b, got, number=numbers[name, axes, PARALLEL], threads=threads)
            for got in runs[:2]:
                check_close(name, got, expected, values, axes)
            assert runs[1].tobytes() == runs[2].tobytes(), (name, axes, shape)


@pytest.mark.parametrize("shape", [(3, 5), (0, 4), (4, 0)])
def test_the_interpreter_and_the_text_agree(shape: tuple[int, int]) -> None:
    for name, axes in itertools.product(("add", "maximum", "argmin", "logical_or"), [(0,), (1,)]):
        program = product(name, DType.FLOAT64, axes, 2, False)
        assert parse_program(print_program(program)) == program
        a, b = sample(DType.FLOAT64, shape), sample(DType.FLOAT64, shape[-1:])
        if shape[axes[0]] == 0 and name not in INITIAL:
            continue
        expected = expect(name, a[::-1] * b, axes, False)
        got = np.empty(expected.shape, result_type(name, DType.FLOAT64).value)
        assert isinstance(interpret(program, [a, b, got]), Returned)
        np.testing.assert_allclose(got, expected, rtol=1e-14)


# ---- large inputs, and threads --------------------------------------------------------------------------------------


def of_view(name: str, dtype: DType, axes: tuple[int, ...], rank: int, schedule: Schedule) -> Program:
    build = Build(f"{name}_{dtype.text}")
    a, result = build.array("a", dtype, rank), result_type(name, dtype)
    output = build.array("r", result, rank - len(axes), written=True)
    node = Reduce(op=name, output=output, input=a, axes=axes, initial=None, schedule=schedule)
    return build.program(node, give(Pack(())))


LARGE = [
    ("add", DType.FLOAT64, (0,), (1_000_003,)),
    ("add", DType.FLOAT32, (0,), (3_000_001,)),
    ("add", DType.COMPLEX128, (0, 1), (401, 1003)),
    ("add", DType.FLOAT64, (0,), (301, 1409)),
    ("add", DType.FLOAT64, (0, 2), (31, 40, 700)),
    ("add", DType.FLOAT64, (1, 2), (31, 40, 700)),
    ("add", DType.INT16, (0, 1), (401, 1003)),
    ("maximum", DType.FLOAT64, (0,), (1_000_003,)),
    ("minimum", DType.INT8, (0,), (1_000_003,)),
    ("argmax", DType.FLOAT64, (0,), (1_000_003,)),
    ("argmin", DType.FLOAT32, (0,), (700, 900)),
    ("argmin", DType.UINT8, (1,), (700, 900)),
    ("multiply", DType.FLOAT64, (0,), (1_000_003,)),
    ("logical_and", DType.BOOL, (0,), (1_000_003,)),
]


@functools.cache
def large() -> Module:
    return load([
        of_view(name, dtype, axes, len(shape), schedule)
        for name, dtype, axes, shape in LARGE
        for schedule in (SEQUENTIAL, PARALLEL)
    ])  # fmt: skip


@pytest.mark.parametrize("case", range(len(LARGE)), ids=lambda case: f"{LARGE[case][0]}-{LARGE[case][1].text}-{case}")
def test_threads_change_no_bits(case: int) -> None:
    name, dtype, axes, shape = LARGE[case]
    random = np.random.default_rng(case)
    values = sample(dtype, shape) if dtype.kind in "biu" else random.standard_normal(shape).astype(dtype.value)
    if name == "multiply":
        values = 1.0 + 1e-8 * values
    expected = expect(name, values, axes, False)
    runs = [np.empty(expected.shape, result_type(name, dtype).value) for _ in range(3)]
    large()(values, runs[0], number=2 * case)
    outcome = large()(values, runs[1], number=2 * case + 1)
    large()(values, runs[2], number=2 * case + 1, threads=2)
    for got in runs[:2]:
        check_close(name, got, expected, values, axes)
    assert runs[1].tobytes() == runs[2].tobytes()
    alone = axes == (0,) and len(shape) == 1
    assert (outcome.chunks > 1) is not (alone and name in ("argmax", "multiply", "logical_and"))


def test_small_reductions_stay_on_their_thread() -> None:
    got = np.empty(())
    assert large()(np.ones(15_000), got, number=1).chunks == 0
    assert got == 15_000


def test_sums_of_products_are_as_good_as_pairwise_ones() -> None:
    kernels, numbers = module(DType.FLOAT32, 1, False)
    a, b = np.full(10_000_019, 0.1, np.float32), np.ones(10_000_019, np.float32)
    got = np.empty((), np.float32)
    kernels(a, b, got, number=numbers["add", (0,), SEQUENTIAL])
    true = float(a[0]) * a.size
    assert abs(float(got) - true) <= 2 * abs(float(a.sum()) - true) + true * 1e-7


# ---- positions ------------------------------------------------------------------------------------------------------


@functools.cache
def positions() -> tuple[Module, list[tuple[str, DType]]]:
    cases = [(n, d) for n in ("argmin", "argmax") for d in (DType.FLOAT64, DType.FLOAT32, DType.UINT8, DType.BOOL)]
    return load([of_view(name, dtype, (0,), 1, SEQUENTIAL) for name, dtype in cases]), cases


@pytest.mark.parametrize("length", [1, 15, 16, 17, 63, 64, 100, 511, 513, 2048, 70_000])
def test_positions_of_the_first_best(length: int) -> None:
    kernels, cases = positions()
    random, got = np.random.default_rng(length), np.empty((), np.int64)
    for number, (name, dtype) in enumerate(cases):
        for high in (1, 2, 5, 200):
            values = random.integers(0, high, length).astype(dtype.value)
            kernels(values, got, number=number)
            assert got == getattr(np, name)(values), (name, dtype, high)
        if dtype.kind == "f":
            for place in {0, length // 3, length - 1}:
                for other in (np.nan, np.inf, -np.inf):
                    values[place], values[-1] = np.nan, other
                    kernels(values, got, number=number)
                    assert got == getattr(np, name)(values), (name, dtype, place, other)
            for fill in (np.inf, -np.inf):
                values[:] = fill
                values[length // 2] = -fill
                kernels(values, got, number=number)
                assert got == getattr(np, name)(values), (name, dtype, fill)


# ---- odd inputs -----------------------------------------------------------------------------------------------------


def test_elements_of_parameters_and_of_indices_that_are_read() -> None:
    build = Build()
    a, at = build.array("a", DType.FLOAT64, 1), build.array("at", DType.INT64, 1)
    r = build.array("r", DType.FLOAT64, 0, written=True)
    i, where, k, u = build.value("i"), build.value("w", I8), build.value("k"), build.value("u", F8)
    first = Tasklet(reads=((where, Memlet("at", point(i))),), lets=(Let(k, op("cast", (where,), k.type)),))
    second = Tasklet(reads=((u, Memlet("a", point(k))),))
    expr = op("multiply", (u, op("cast", (index(i) + 1,), F8)), F8)
    elements = Elements((i,), at.shape, (first, second), expr)
    node = Reduce(op="add", output=r, input=elements, axes=(0,), initial=const(0.0, F8))
    kernel = load(build.program(node, give(Pack(()))))
    random = np.random.default_rng(0)
    values, places, got = random.random(50), random.integers(0, 50, 777), np.empty(())
    kernel(values, places, got)
    np.testing.assert_allclose(got, (values[places] * np.arange(1, 778)).sum(), rtol=1e-14)
    assert a.rank == 1


def test_the_input_is_cast_to_the_type_of_the_result() -> None:
    build = Build()
    a = build.array("a", DType.FLOAT32, 2)
    r = build.array("r", DType.FLOAT64, 0, written=True)
    i, j, u = build.value("i"), build.value("j"), build.value("u", F4)
    elements = Elements((i, j), a.shape, (Tasklet(reads=((u, Memlet("a", point(i, j))),)),), op("square", (u,), F4))
    node = Reduce(op="add", output=r, input=elements, axes=(0, 1), initial=const(7.0, F8))
    kernel = load(build.program(node, give(Pack(()))))
    values, got = np.random.default_rng(1).random((30, 40)).astype(np.float32), np.empty(())
    kernel(values, got)
    np.testing.assert_allclose(got, np.square(values).sum(dtype=np.float64), rtol=1e-15)
    kernel(values[:0].copy(), got)
    assert got == 7.0


@pytest.mark.parametrize("schedule", [SEQUENTIAL, PARALLEL])
def test_extents_that_are_sums(schedule: Schedule) -> None:
    """sum(a[1:-1, 1:-1] * a[:-2, :-2]) over either axis, or both."""
    for name, axes in itertools.product(("add", "maximum", "argmax", "logical_and"), [(0,), (1,), (0, 1)]):
        if name == "argmax" and len(axes) > 1:
            continue
        build = Build(name)
        a = build.array("a", DType.FLOAT64, 2)
        r = build.array("r", result_type(name, DType.FLOAT64), 2 - len(axes), written=True)
        i, j, u, v = build.value("i"), build.value("j"), build.value("u", F8), build.value("v", F8)
        reads = ((u, Memlet("a", (index(i) + 1, index(j) + 1))), (v, Memlet("a", point(i, j))))
        shape = tuple(extent - 2 for extent in a.shape)
        elements = Elements((i, j), shape, (Tasklet(reads=reads),), op("multiply", (u, v), F8))
        node = Reduce(op=name, output=r, input=elements, axes=axes, initial=None, schedule=schedule)
        kernel = load(build.program(node, give(Pack(()))), "-O1")
        values = np.random.default_rng(2).standard_normal((40, 1000))
        expected = expect(name, values[1:-1, 1:-1] * values[:-2, :-2], axes, False)
        got = np.empty(expected.shape, result_type(name, DType.FLOAT64).value)
        kernel(values, got, threads=2)
        np.testing.assert_allclose(got, expected, rtol=1e-11)


def test_strides_known_at_run_time_give_the_same_bits() -> None:
    kernels, numbers = module(DType.FLOAT64, 1, False)
    a, b = sample(DType.FLOAT64, (1000,)), np.random.default_rng(3).random(1000)
    runs = [np.empty(()) for _ in range(2)]
    for got, other in zip(runs, (b, np.repeat(b, 3)[::3]), strict=True):
        kernels(a, other, got, number=numbers["add", (0,), SEQUENTIAL])
    assert runs[0].tobytes() == runs[1].tobytes()
    # Sums, minima and maxima on threads have their way for few elements besides.
    assert kernels.file.source.count("if (b_s0 == 8)") == len(numbers) + 3


def in_narrow_lanes(terms: Any) -> Any:
    """The sum of fewer than 128 terms in the order of `reduction_lanes.py`."""
    rest = len(terms) % 8
    total = terms.dtype.type(0)
    for term in terms[len(terms) - rest :]:
        total = total + term
    if len(terms) < 8:
        return total
    lanes = np.zeros(8, terms.dtype)
    for row in terms[: len(terms) - rest].reshape(-1, 8):
        lanes = lanes + row
    lanes = lanes[:4] + lanes[4:]
    return ((lanes[0] + lanes[2]) + (lanes[1] + lanes[3])) + total


@pytest.mark.parametrize("dtype", [DType.FLOAT64, DType.FLOAT32])
def test_the_order_of_a_sum_follows_from_its_length_alone(dtype: DType) -> None:
    kernels, numbers = module(dtype, 1, False)
    for length in (0, 1, 7, 8, 9, 100, 127, 128, 129, 135, 136, 300, 513, 9000):
        a, b = sample(dtype, (length,)), np.random.default_rng(3).random(length).astype(dtype.value)
        found: list[bytes] = []
        for schedule, threads in itertools.product((SEQUENTIAL, PARALLEL), (1, 2)):
            got = np.empty((), dtype.value)
            kernels(a, b, got, number=numbers["add", (0,), schedule], threads=threads)
            found.append(got.tobytes())
        assert len(set(found)) == 1
        if length < 128:
            assert found[0] == in_narrow_lanes(a[::-1] * b).tobytes()


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 5, 8, 11])
def test_a_row_of_sums_takes_its_elements_in_order(rows: int) -> None:
    kernels, numbers = module(DType.FLOAT64, 2, False)
    a, b = sample(DType.FLOAT64, (rows, 37)), np.random.default_rng(3).random(37)
    expected = np.zeros(37)
    for row in a[::-1] * b:
        expected = expected + row
    for schedule in (SEQUENTIAL, PARALLEL):
        got = np.empty(37)
        kernels(a, b, got, number=numbers["add", (0,), schedule])
        assert got.tobytes() == expected.tobytes()
