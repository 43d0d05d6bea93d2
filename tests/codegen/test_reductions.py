"""Reductions over every combination of axes, and scans, against NumPy."""

from __future__ import annotations

import functools
import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from tests.codegen.builders import Build, give
from tests.codegen.harness import Module, load
from weft.ir.dtypes import DType, ScalarType
from weft.ir.exprs import const, const_index
from weft.ir.nodes import Axis, Layout, Pack, Program, Reduce, Scan, View

SHAPES = {
    1: [(0,), (1,), (7,), (1000,)],
    2: [(3, 5), (1, 300), (300, 2), (9, 17), (5, 64), (4, 70), (0, 4), (4, 0)],
    3: [(3, 4, 5), (2, 1, 150)],
}
OPS = ("add", "multiply", "minimum", "maximum", "logical_and", "logical_or", "argmin", "argmax")
LOGICAL = ("logical_and", "logical_or")


def axes_of(rank: int) -> list[tuple[int, ...]]:
    return [axes for count in range(1, rank + 1) for axes in itertools.combinations(range(rank), count)]


def result_type(op: str, dtype: DType) -> DType:
    if op in LOGICAL:
        return DType.BOOL
    if op.startswith("arg"):
        return DType.INT64
    if op in ("add", "multiply") and dtype.kind in "biu":
        return DType.UINT64 if dtype.kind == "u" else DType.INT64
    return dtype


def reduction(op: str, dtype: DType, axes: tuple[int, ...], rank: int, layout: Layout, keepdims: bool) -> Program:
    build = Build(f"{op}_{dtype.text}")
    source = build.array("a", dtype, rank, layout)
    result = result_type(op, dtype)
    kept = [axis for axis in range(rank) if axis not in axes]
    output = build.array("r", result, rank if keepdims else len(kept), Layout.C, written=True)
    initial = {"add": 0, "multiply": 1, "logical_and": True, "logical_or": False}.get(op)
    empty = None if initial is None else const(initial, ScalarType(result))
    node = Reduce(op=op, output=output, input=source, axes=axes, initial=empty)
    return build.program(node, give(Pack(())))


@functools.cache
def module(dtype: DType, rank: int, layout: Layout, keepdims: bool = False) -> tuple[Module, dict[Any, int]]:
    cases = [(op, axes) for op in OPS for axes in axes_of(rank) if not op.startswith("arg") or len(axes) in (1, rank)]
    programs = [reduction(op, dtype, axes, rank, layout, keepdims) for op, axes in cases]
    return load(programs, "-O1" if rank < 3 else "-O0"), {case: number for number, case in enumerate(cases)}


def sample(dtype: DType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(1)
    if dtype.kind in "biu":
        return random.integers(-3 if dtype.kind == "i" else 0, 4 if dtype.kind != "b" else 2, shape).astype(dtype.value)
    values = random.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * random.standard_normal(shape)
    return values.astype(dtype.value)


def expect(op: str, values: np.ndarray[Any, Any], axes: tuple[int, ...], keepdims: bool) -> np.ndarray[Any, Any]:
    if op.startswith("arg"):
        axis = axes[0] if len(axes) == 1 else None
        return np.asarray(getattr(np, op)(values, axis=axis, keepdims=keepdims))
    return np.asarray(getattr(np, op).reduce(values, axis=axes, keepdims=keepdims))


def check(op: str, got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], count: int) -> None:
    if op in ("add", "multiply") and got.dtype.kind in "fc":
        eps = np.finfo(got.dtype).eps
        np.testing.assert_allclose(got, expected, rtol=eps * (50 + count), atol=eps * 100)
    else:
        np.testing.assert_array_equal(got, expected)


CASES = [
    (DType.FLOAT64, Layout.C, False),
    (DType.FLOAT64, Layout.F, False),
    (DType.FLOAT64, Layout.STRIDED, True),
    (DType.FLOAT32, Layout.C, False),
    (DType.COMPLEX128, Layout.C, False),
    (DType.INT8, Layout.C, True),
    (DType.UINT16, Layout.STRIDED, False),
    (DType.BOOL, Layout.C, False),
]


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(("dtype", "layout", "keepdims"), CASES)
def test_every_combination_of_axes(dtype: DType, layout: Layout, keepdims: bool, rank: int) -> None:
    kernels, numbers = module(dtype, rank, layout, keepdims)
    for shape, (op, axes) in itertools.product(SHAPES[rank], numbers):
        count = int(np.prod([shape[axis] for axis in axes]))
        if count == 0 and op not in ("add", "multiply", *LOGICAL):
            continue
        values = sample(dtype, shape)
        if layout is Layout.F:
            values = np.asfortranarray(values)
        if layout is Layout.STRIDED:
            values = np.repeat(values, 2, axis=-1)[..., ::-2]
        expected = expect(op, values, axes, keepdims)
        got = np.empty(expected.shape, result_type(op, dtype).value)
        kernels(values, got, number=numbers[op, axes])
        check(op, got, expected.astype(got.dtype), count)


@pytest.mark.parametrize("op", ["minimum", "maximum", "argmin", "argmax"])
@pytest.mark.parametrize("length", [1, 5, 40])
@pytest.mark.parametrize("place", [0, 3, 17, 39])
def test_the_first_nan_wins(op: str, length: int, place: int) -> None:
    if place >= length:
        return
    kernels, numbers = module(DType.FLOAT64, 1, Layout.C)
    values = np.random.default_rng(0).standard_normal(length)
    values[place] = np.nan
    values[-1] = np.nan
    got = np.empty((), result_type(op, DType.FLOAT64).value)
    kernels(values, got, number=numbers[op, (0,)])
    np.testing.assert_array_equal(got, expect(op, values, (0,), False))


def test_ties_give_the_first_position() -> None:
    kernels, numbers = module(DType.FLOAT64, 1, Layout.C)
    got = np.empty((), np.int64)
    kernels(np.array([1.0, 3.0, 3.0, 1.0]), got, number=numbers["argmax", (0,)])
    assert got == 1


def test_sums_are_as_good_as_pairwise_ones() -> None:
    kernels, numbers = module(DType.FLOAT32, 1, Layout.C)
    values = np.full(10_000_019, 0.1, np.float32)
    got = np.empty((), np.float32)
    kernels(values, got, number=numbers["add", (0,)])
    true = float(values[0]) * values.size
    assert abs(float(got) - true) <= 2 * abs(float(values.sum()) - true) + true * 1e-7


def test_the_sum_of_minus_zeros_has_the_sign_of_numpy() -> None:
    kernels, numbers = module(DType.FLOAT64, 1, Layout.C)
    got = np.empty(())
    kernels(np.full(9, -0.0), got, number=numbers["add", (0,)])
    assert np.signbit(got) == np.signbit(np.full(9, -0.0).sum())


def scan(op: str, dtype: DType, axis: int, rank: int) -> Program:
    build = Build(f"scan_{op}_{axis}")
    source, output = build.array("a", dtype, rank), build.array("r", dtype, rank, written=True)
    return build.program(Scan(op=op, output=output, input=source, axis=axis), give(Pack(())))


@pytest.mark.parametrize("op", ["add", "multiply"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [DType.FLOAT64, DType.INT64, DType.COMPLEX64])
def test_scans_run_in_order(op: str, axis: int, dtype: DType) -> None:
    kernel = load(scan(op, dtype, axis, 2), "-O1")
    for shape in [(4, 6), (0, 3), (1, 1)]:
        values = sample(dtype, shape)
        got = np.empty_like(values)
        kernel(values, got)
        with warnings.catch_warnings():
            np.testing.assert_allclose(got, getattr(np, op).accumulate(values, axis=axis), rtol=1e-6)


def test_a_reduction_of_a_view_with_a_step_and_an_offset() -> None:
    build = Build()
    whole = build.array("a", DType.FLOAT64, 2)
    total = build.array("r", DType.FLOAT64, 1, written=True)
    rows = total.shape[0]
    # a[1:, ::-1] summed over its columns
    axes = (Axis(const_index(1), ((0, const_index(1)),)), Axis(whole.shape[1] - 1, ((1, const_index(-1)),)))
    view = View("a", (rows, whole.shape[1]), axes)
    kernel = load(build.program(Reduce(op="add", output=total, input=view, axes=(1,), initial=None), give(Pack(()))))
    values = np.random.default_rng(5).standard_normal((4, 9))
    got = np.empty(3)
    kernel(values, got)
    np.testing.assert_allclose(got, values[1:, ::-1].sum(axis=1))
