"""Two products of one matrix with vectors: in one sweep where it is large, and as ever where it is not."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from tests.codegen.builders import Build, give
from tests.codegen.harness import Module, load
from tests.codegen.test_products import arranged
from weft.analysis.sweeps import transposed
from weft.ir.dtypes import DType
from weft.ir.exprs import const_index
from weft.ir.nodes import Axis, Layout, MatMul, Pack, Program, View

DTYPES = (DType.FLOAT64, DType.FLOAT32)
LARGE = {DType.FLOAT64: (1003, 907), DType.FLOAT32: (1403, 1207)}
OVERFLOW = 2


def column(view: View) -> View:
    one, zero = const_index(1), const_index(0)
    return View(view.container, (view.shape[0], one), (Axis(zero, ((0, one),)),))


def pair(dtype: DType, *, follows: bool) -> Program:
    """y = a x and w = a^T z, or w = a^T y."""
    build = Build(f"pair_{dtype.text}_{follows}")
    a = build.array("a", dtype, 2, Layout.STRIDED)
    x, z = (column(build.array(name, dtype, 1, Layout.STRIDED)) for name in "xz")
    y, w = (column(build.array(name, dtype, 1, Layout.STRIDED, written=True)) for name in "yw")
    first = MatMul(output=y, lhs=a, rhs=x, sweep=True, warn=build.warn())
    second = MatMul(output=w, lhs=transposed(a), rhs=y if follows else z, sweep=True, warn=build.warn())
    return build.program(first, second, give(Pack(())))


@functools.cache
def kernels() -> Module:
    return load([pair(dtype, follows=follows) for dtype in DTYPES for follows in (False, True)], "-O1")


class Case:
    """Arguments, and what comes of them."""

    def __init__(self, dtype: DType, shape: tuple[int, int], form: str = "C", *, follows: bool = False) -> None:
        random = np.random.default_rng(7)
        self.number = 2 * DTYPES.index(dtype) + follows
        self.follows = follows
        m, n = shape
        self.a = arranged(random.uniform(-0.5, 1.0, shape).astype(dtype.value), form)
        self.x, self.z = (random.uniform(-1.0, 2.0, size).astype(dtype.value) for size in (n, m))
        self.y, self.w = (np.full(size, 7, dtype.value) for size in (m, n))
        self.eps = float(np.finfo(dtype.value).eps)

    def run(self, **options: Any) -> Any:
        return kernels()(self.a, self.x, self.z, self.y, self.w, number=self.number, **options)

    def assert_right(self) -> None:
        a = self.a.astype(np.float64)
        y = a @ self.x
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                self.y, y, rtol=0, atol=self.eps * (np.abs(a) @ np.abs(self.x)).max(initial=0) * 64
            )
            factors = self.y.astype(np.float64) if self.follows else self.z
            scale = (np.abs(factors) @ np.abs(a)).max(initial=0)
            np.testing.assert_allclose(self.w, factors @ a, rtol=0, atol=self.eps * scale * 64)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.text)
@pytest.mark.parametrize("follows", [False, True])
@pytest.mark.parametrize("form", ["C", "F", "wide", "sparse", "back"])
def test_rows_that_lie_one_after_the_other_are_swept_over(dtype: DType, follows: bool, form: str) -> None:
    case = Case(dtype, LARGE[dtype], form, follows=follows)
    outcome = case.run()
    case.assert_right()
    assert (outcome.chunks > 0) == (form in ("C", "wide") or (form == "F" and not follows))
    assert outcome.warnings == {0: 0, 1: 0}
    assert outcome.live == 0
    assert outcome.peak < 2**20


@pytest.mark.parametrize("follows", [False, True])
@pytest.mark.parametrize(
    ("shape", "swept"),
    [((0, 9), ""), ((9, 0), ""), ((1, 5), ""), ((30, 20), ""), ((300, 300), ""), ((600, 500), "apart"),
     ((1001, 64), ""), ((14000, 64), "both"), ((63, 14000), ""), ((64, 14000), "both"), ((120, 20000), "apart"),
     ((64, 140000), "")],
)  # fmt: skip
def test_what_is_swept_over(shape: tuple[int, int], swept: str, follows: bool) -> None:
    """Not what the caches hold; and lines of sums must fit into a MiB, rows into the second cache."""
    case = Case(DType.FLOAT64, shape, follows=follows)
    outcome = case.run()
    case.assert_right()
    assert (outcome.chunks > 0) == (swept == "both" or (swept == "apart" and not follows))
    assert outcome.peak <= 2**20


@pytest.mark.parametrize("follows", [False, True])
def test_vectors_of_any_strides(follows: bool) -> None:
    for x in (False, True):
        case = Case(DType.FLOAT64, LARGE[DType.FLOAT64], follows=follows)
        case.z, case.y, case.w = (np.repeat(item, 2)[::2] for item in (case.z, case.y[::-1], case.w))
        case.y = case.y[::-1]
        if x:
            case.x = case.x[::-1].copy()[::-1]
        outcome = case.run()
        case.assert_right()
        assert (outcome.chunks > 0) is not x


@pytest.mark.parametrize("follows", [False, True])
def test_the_same_bits_on_two_threads(follows: bool) -> None:
    cases = [Case(DType.FLOAT64, (2000, 777), follows=follows) for _ in range(2)]
    for threads, case in enumerate(cases, 1):
        case.run(threads=threads)
        case.assert_right()
    assert cases[0].y.tobytes() == cases[1].y.tobytes()
    assert cases[0].w.tobytes() == cases[1].w.tobytes()


@pytest.mark.parametrize("follows", [False, True])
@pytest.mark.parametrize("options", [{"allocations": 0}, {"use_blas": False}])
def test_without_memory_or_blas(follows: bool, options: dict[str, Any]) -> None:
    case = Case(DType.FLOAT64, LARGE[DType.FLOAT64], follows=follows)
    outcome = case.run(**options)
    case.assert_right()
    assert (outcome.chunks > 0) is ("use_blas" in options)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("row", [0, 500, -1])
def test_each_product_warns_for_itself(threads: int, row: int) -> None:
    largest = np.finfo(np.float64).max
    case = Case(DType.FLOAT64, LARGE[DType.FLOAT64])
    case.x[-1], case.a[row, -1] = 4.0, largest
    case.z[row] = 0.5
    assert case.run(threads=threads, use_blas=False).warnings == {0: OVERFLOW, 1: 0}
    case.x[-1], case.z[row] = 0.5, 4.0
    assert case.run(threads=threads, use_blas=False).warnings == {0: 0, 1: OVERFLOW}
    case.z[row] = 0.5
    assert case.run(threads=threads, use_blas=False).warnings == {0: 0, 1: 0}
    assert case.w[-1] > largest / 4


def test_what_lines_of_sums_overflow_in_is_found() -> None:
    """Each chunk has a finite sum, all of them together have not."""
    case = Case(DType.FLOAT64, LARGE[DType.FLOAT64])
    case.a[:, 3], case.z[:], case.x[3] = np.finfo(np.float64).max / 500, 1.0, 0.0
    assert case.run(use_blas=False).warnings == {0: 0, 1: OVERFLOW}
    assert np.isinf(case.w[3])


# ---- one product ----------------------------------------------------------------------------------------------------


def single(dtype: DType, layout: Layout) -> Program:
    build = Build(f"single_{dtype.text}_{layout.value}")
    a, x = build.array("a", dtype, 2, layout), column(build.array("x", dtype, 1, Layout.STRIDED))
    y = column(build.array("y", dtype, 1, Layout.STRIDED, written=True))
    return build.program(MatMul(output=y, lhs=a, rhs=x, sweep=True, warn=build.warn()), give(Pack(())))


@functools.cache
def singles() -> Module:
    return load([single(dtype, layout) for dtype in DTYPES for layout in (Layout.STRIDED, Layout.C, Layout.F)], "-O1")


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.text)
@pytest.mark.parametrize(("layout", "form"), [(0, "C"), (0, "F"), (0, "wide"), (0, "sparse"), (1, "C"), (2, "F")])
def test_one_product_is_swept_over(dtype: DType, layout: int, form: str) -> None:
    case, number = Case(dtype, LARGE[dtype], form), 3 * DTYPES.index(dtype) + layout
    results: list[bytes] = []
    for threads in (1, 2):
        outcome = singles()(case.a, case.x, case.y, number=number, threads=threads)
        case.w[:] = case.z @ case.a
        case.assert_right()
        assert outcome.warnings == {0: 0}
        assert outcome.live == 0
        assert (outcome.chunks > 0) == (threads == 1 and form != "sparse")
        assert (outcome.peak > 0) == (form == "F")
        results.append(case.y.tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize("form", ["C", "F"])
def test_one_product_warns(form: str) -> None:
    case = Case(DType.FLOAT64, LARGE[DType.FLOAT64], form)
    case.x[-1], case.a[500, -1] = 4.0, np.finfo(np.float64).max
    assert singles()(case.a, case.x, case.y, use_blas=False).warnings == {0: OVERFLOW}
    assert np.isinf(case.y[500])
    case.x[-1] = 0.5
    assert singles()(case.a, case.x, case.y, allocations=0).warnings == {0: 0}
    assert np.isfinite(case.y).all()
