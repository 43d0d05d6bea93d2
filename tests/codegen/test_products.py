"""Matrix products through BLAS and by our own loops against NumPy."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from tests.codegen.builders import Build, give
from tests.codegen.harness import Module, blas, load
from weft.ir.dtypes import DType, ScalarType
from weft.ir.exprs import const, const_index
from weft.ir.nodes import Axis, Layout, MatMul, Pack, Program, View

DTYPES = (DType.FLOAT32, DType.FLOAT64, DType.COMPLEX64, DType.COMPLEX128, DType.INT32, DType.UINT8, DType.BOOL)
SHAPES = [
    (1, 1, 1),
    (3, 4, 5),
    (1, 7, 9),
    (9, 7, 1),
    (1, 30, 1),
    (2, 2, 2),
    (3, 3, 3),
    (4, 4, 4),
    (6, 5, 17),
    (16, 16, 16),
    (300, 4, 5),
    (5, 8, 70),
    (20, 30, 40),
    (70, 1, 3),
    (0, 4, 3),
    (3, 0, 2),
    (2, 4, 0),
]


def product(dtype: DType, rank: int = 2, layout: Layout = Layout.STRIDED) -> Program:
    build = Build(f"product_{dtype.text}_{rank}")
    lhs, rhs = build.array("a", dtype, rank, layout), build.array("b", dtype, rank, layout)
    output = build.array("c", dtype, rank, Layout.STRIDED, written=True)
    return build.program(MatMul(output=output, lhs=lhs, rhs=rhs), give(Pack(())))


@functools.cache
def kernels() -> Module:
    return load([product(dtype) for dtype in DTYPES], "-O1")


def sample(dtype: DType, shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(seed)
    if dtype.kind in "biu":
        return random.integers(0, 2 if dtype is DType.BOOL else 100, shape).astype(dtype.value)
    values = random.standard_normal(shape) + (1j * random.standard_normal(shape) if dtype.kind == "c" else 0)
    return values.astype(dtype.value)


def arranged(values: np.ndarray[Any, Any], form: str) -> np.ndarray[Any, Any]:
    match form:
        case "F":
            return np.asfortranarray(values)
        case "wide":  # a part of a larger matrix
            large = np.zeros((values.shape[0] + 2, values.shape[1] + 3), values.dtype)
            large[1:-1, 1:-2] = values
            return large[1:-1, 1:-2]
        case "sparse":  # no unit stride at all
            return np.repeat(np.repeat(values, 2, 0), 2, 1)[::2, ::2]
        case "back":
            return np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1]
        case _:
            return np.ascontiguousarray(values)


def tolerance(dtype: DType, depth: int) -> float:
    return 0.0 if dtype.kind in "biu" else float(np.finfo(dtype.value).eps) * (depth + 4) * 4


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.text)
@pytest.mark.parametrize("use_blas", [True, False], ids=["blas", "loops"])
def test_products_of_all_shapes_and_layouts(dtype: DType, use_blas: bool) -> None:
    forms = ["C", "F", "wide", "sparse", "back"]
    for m, k, n in SHAPES:
        for left, right, result in [
            *((a, b, "C") for a in forms for b in forms),
            ("C", "C", "F"),
            ("F", "C", "sparse"),
        ]:
            a, b = arranged(sample(dtype, (m, k), 1), left), arranged(sample(dtype, (k, n), 2), right)
            c = arranged(np.full((m, n), 1, dtype.value), result)
            kernels()(a, b, c, number=DTYPES.index(dtype), use_blas=use_blas)
            scale = np.abs(a).astype(float) @ np.abs(b).astype(float) if dtype.kind in "fc" else 0.0
            expected = a @ b
            if dtype.kind in "biu":
                np.testing.assert_array_equal(c, expected)
            else:
                assert np.all(np.abs(c - expected) <= tolerance(dtype, k) * scale), (m, k, n, left, right, result)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.text)
@pytest.mark.parametrize("form", ["C", "F", "wide", "sparse"])
def test_a_matrix_times_its_own_transpose(dtype: DType, form: str) -> None:
    for rows, columns in [(1, 9), (9, 1), (40, 33), (33, 70)]:
        a = arranged(sample(dtype, (rows, columns), 3), form)
        for left, right in [(a, a.T), (a.T, a)]:
            c = np.empty((left.shape[0],) * 2, dtype.value)
            kernels()(left, right, c, number=DTYPES.index(dtype))
            error = np.abs(c.astype(complex) - (left @ right).astype(complex))
            scale = np.abs(left.astype(complex)) @ np.abs(right.astype(complex))
            assert np.all(error <= tolerance(dtype, left.shape[1]) * scale), (rows, columns)


@pytest.mark.parametrize("dtype", DTYPES[:4], ids=lambda dtype: dtype.text)
def test_small_products_pass_on_what_is_not_finite(dtype: DType) -> None:
    for m, k, n in [(2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 6, 9)]:
        a, b, c = sample(dtype, (m, k), 1), sample(dtype, (k, n), 2), np.empty((m, n), dtype.value)
        a[0, 0], a[1, 1], b[-1, -1] = np.inf, np.nan, np.finfo(dtype.value).max
        kernels()(a, b, c, number=DTYPES.index(dtype))
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(c, a @ b, rtol=tolerance(dtype, k) * 8)


def test_blas_is_there() -> None:
    assert blas(), "NumPy's wheel carries OpenBLAS; without it half of these tests say nothing"


def test_batches_are_loops_around() -> None:
    kernel = load(product(DType.FLOAT64, rank=3, layout=Layout.C))
    a, b = sample(DType.FLOAT64, (4, 5, 12), 1), sample(DType.FLOAT64, (4, 12, 6), 2)
    c = np.empty((4, 5, 6))
    kernel(a, b, c)
    np.testing.assert_allclose(c, a @ b)


@pytest.mark.parametrize("dtype", [DType.FLOAT64, DType.COMPLEX64, DType.INT32], ids=lambda dtype: dtype.text)
def test_batches_are_shared_out(dtype: DType) -> None:
    build = Build(f"shared_{dtype.text}")
    lhs, rhs = (build.array(name, dtype, 4, Layout.STRIDED) for name in "ab")
    output = build.array("c", dtype, 4, Layout.STRIDED, written=True)
    warn = build.warn()
    kernel = load(build.program(MatMul(output=output, lhs=lhs, rhs=rhs, warn=warn), give(Pack(()))))
    a, b = sample(dtype, (7, 9, 20, 24), 1), sample(dtype, (7, 9, 24, 20), 2)
    for batch in [(7, 9), (1, 9), (7, 0), (1, 1)]:
        left, right = a[: batch[0], : batch[1]], b[: batch[0], : batch[1]]
        for threads in (1, 2):
            c = np.empty((*batch, 20, 20), dtype.value)
            outcome = kernel(left, right, c, threads=threads)
            assert (outcome.chunks > 0) == (threads == 1 and batch == (7, 9))
            assert outcome.warnings == {0: 0}
            np.testing.assert_allclose(c, left @ right, rtol=1e-4, atol=1e-4)
    if dtype.kind == "f":
        a[6, 8, 3, 3] = b[6, 8, 3, 3] = np.finfo(dtype.value).max
        assert all(kernel(a, b, np.empty((7, 9, 20, 20)), threads=threads).warnings == {0: 2} for threads in (1, 2))


@pytest.mark.parametrize("threads", [1, 2])
def test_wide_and_tall_products_of_complex_numbers_are_shared_out(threads: int) -> None:
    dtype = DType.COMPLEX64
    build = Build("wide")
    lhs, rhs = (build.array(name, dtype, 2, Layout.STRIDED) for name in "ab")
    output = build.array("c", dtype, 2, Layout.STRIDED, written=True)
    kernel = load(build.program(MatMul(output=output, lhs=lhs, rhs=rhs, warn=build.warn()), give(Pack(()))))
    for m, k, n in [(5, 7, 9003), (9003, 7, 5)]:
        for form in ["C", "F", "back"]:
            a, b, c = sample(dtype, (m, k), 1), sample(dtype, (k, n), 2), np.empty((m, n), dtype.value)
            left, right = arranged(a, form), arranged(b, form)
            outcome = kernel(left, right, c, threads=threads)
            assert (outcome.chunks > 0) == (threads == 1)
            assert outcome.warnings == {0: 0}
            np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
            left[-1, -1] = right[-1, -1] = 3e38
            assert kernel(left, right, c, threads=threads).warnings[0] & 2


def test_a_vector_is_a_matrix_with_an_added_axis() -> None:
    build = Build()
    a, x = build.array("a", DType.FLOAT64, 2), build.array("x", DType.FLOAT64, 1)
    y = build.array("y", DType.FLOAT64, 1, written=True)
    one, zero = const_index(1), const_index(0)

    def column(view: View) -> View:
        return View(view.container, (view.shape[0], one), (Axis(zero, ((0, one),)),))

    kernel = load(build.program(MatMul(output=column(y), lhs=a, rhs=column(x)), give(Pack(()))))
    matrix, vector, got = sample(DType.FLOAT64, (30, 20), 1), sample(DType.FLOAT64, (20,), 2), np.empty(30)
    kernel(matrix, vector, got)
    np.testing.assert_allclose(got, matrix @ vector)


@pytest.mark.parametrize("dtype", [DType.FLOAT64, DType.COMPLEX64, DType.INT32], ids=lambda dtype: dtype.text)
def test_large_pairs_with_a_factor_in_common_are_one_product(dtype: DType) -> None:
    build = Build(f"together_{dtype.text}")
    lhs, matrix = build.array("a", dtype, 4, Layout.STRIDED), build.array("b", dtype, 2, Layout.STRIDED)
    output = build.array("c", dtype, 4, Layout.STRIDED, written=True)
    one, zero = const_index(1), const_index(0)
    axes = (Axis(zero, ((2, one),)), Axis(zero, ((3, one),)))
    rhs = View(matrix.container, (*output.shape[:2], *matrix.shape), axes)
    kernel = load(build.program(MatMul(output=output, lhs=lhs, rhs=rhs, warn=build.warn()), give(Pack(()))))
    a, b = sample(dtype, (2, 3, 90, 80), 1), sample(dtype, (80, 40), 2)
    wanted = a @ b
    for order in [(0, 1, 2, 3), (1, 0, 2, 3), (2, 0, 1, 3), (0, 1, 3, 2)]:
        left = np.ascontiguousarray(a.transpose(order)).transpose(np.argsort(order))
        for c in (np.empty_like(wanted), np.empty((2, 3, 91, 40), dtype.value)[:, :, :-1], np.empty_like(wanted)[::-1]):
            assert kernel(left, b, c).warnings == {0: 0}
            np.testing.assert_allclose(c, wanted, rtol=1e-4, atol=1e-4)
    if dtype.kind == "f":
        a[1, 2, 89, 79] = b[79, 39] = np.finfo(dtype.value).max
        assert kernel(a, b, np.empty_like(wanted)).warnings[0] & 2


@pytest.mark.parametrize("dtype", DTYPES[:4], ids=lambda dtype: dtype.text)
@pytest.mark.parametrize("adds", [True, False], ids=["adds", "new"])
def test_products_that_are_scaled_and_added(dtype: DType, adds: bool) -> None:
    build = Build(f"scaled_{dtype.text}")
    lhs, rhs = (build.array(name, dtype, 2, Layout.STRIDED) for name in "ab")
    output = build.array("c", dtype, 2, Layout.STRIDED, written=True)
    scale = const(-2.5 + 0j if dtype.kind == "c" else -2.5, ScalarType(dtype))
    kernel = load(build.program(MatMul(output=output, lhs=lhs, rhs=rhs, scale=scale, adds=adds), give(Pack(()))))
    for m, k, n in SHAPES:
        for left, right, result in [("C", "C", "C"), ("F", "C", "F"), ("sparse", "wide", "C"), ("C", "F", "sparse")]:
            a, b = arranged(sample(dtype, (m, k), 1), left), arranged(sample(dtype, (k, n), 2), right)
            before = sample(dtype, (m, n), 3)
            for use_blas in (True, False):
                c = arranged(before.copy(), result)
                kernel(a, b, c, use_blas=use_blas)
                wanted = (before if adds else 0) - 2.5 * (a @ b)
                limit = tolerance(dtype, k + 2) * (np.abs(before) + 2.5 * (np.abs(a) @ np.abs(b)))
                assert np.all(np.abs(c - wanted) <= limit), (m, k, n, left, right, result, use_blas)


@pytest.mark.parametrize("dtype", DTYPES[:4], ids=lambda dtype: dtype.text)
def test_a_matrix_times_its_own_transpose_scaled_and_added(dtype: DType) -> None:
    for adds in (True, False):
        build = Build(f"own_{dtype.text}_{adds}")
        lhs, rhs = (build.array(name, dtype, 2, Layout.STRIDED) for name in "ab")
        output = build.array("c", dtype, 2, Layout.STRIDED, written=True)
        scale = const(0.5 + 0j if dtype.kind == "c" else 0.5, ScalarType(dtype))
        kernel = load(build.program(MatMul(output=output, lhs=lhs, rhs=rhs, scale=scale, adds=adds), give(Pack(()))))
        a, before = sample(dtype, (40, 33), 3), sample(dtype, (40, 40), 4)
        c = before.copy()
        kernel(a, a.T, c)
        wanted = (before if adds else 0) + 0.5 * (a @ a.T)
        assert np.all(np.abs(c - wanted) <= tolerance(dtype, 35) * (np.abs(before) + np.abs(a) @ np.abs(a).T))
