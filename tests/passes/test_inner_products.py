"""Products of two vectors, and of computed matrices and vectors, as sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.programs import HEAD, after, assert_same_meaning, body_text, program
from weft.passes.base import Session
from weft.passes.inner_products import InnerProducts

END = "  return missing"
PRODUCT = "matmul A[0] over [1, 1] = B[$1] over [1, %n.1] @ B[%n.1 - 1 - $0] over [%n.1, 1] warn 1"


def test_a_product_of_vectors_is_a_sum(golden: Golden) -> None:
    before = program(f'  guard greater(%n.1, 0): b1 else site 0 "empty"\n  {PRODUCT}\n{END}')
    made = after(InnerProducts(), before)
    assert_same_meaning(before, made)
    assert body_text(made) == golden


COMPUTED = """\
  guard equal(%n.1, %c.4): b1 else site 0 "sizes differ"
  guard equal(%m.2, %r.3): b1 else site 0 "sizes differ"
  alloc M site 0
  elementwise M[:, :] at (%p.20: py_int from 0 to %r.3 - 1, %q.21: py_int from 0 to %c.4 - 1) warn 0 {
    %x.22: f8 = P[:, :]
    yield add(%x.22, 1.0:f8)
  }
  matmul B[$0] over [%r.3, 1] = M[:, :] @ A[$0] over [%c.4, 1] warn 1
"""
MATRIX = HEAD + "array M: f8[%r.3, %c.4] transient C\n"


def test_a_matrix_computed_for_one_product_is_not_stored(golden: Golden) -> None:
    made = after(InnerProducts(), program(f"{COMPUTED}{END}", head=MATRIX))
    assert body_text(made) == golden


@pytest.mark.parametrize(
    "text",
    [
        COMPUTED.replace("M[:, :] @", "P[:, :] @") + "  write B[0] = 0.0:f8\n",
        COMPUTED + "  %m.30: f8 = M[0, 0]\n",
    ],
    ids=["stored anyway", "read by another"],
)
def test_matrices_in_memory_are_left_to_the_library(text: str) -> None:
    before = program(f'  guard greater(%r.3, 0): b1 else site 0 "empty"\n'
                     f'  guard greater(%c.4, 0): b1 else site 0 "empty"\n{text}{END}', head=MATRIX)  # fmt: skip
    assert InnerProducts().run(before, Session()) is before


@PLAINLY
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i8"])
@pytest.mark.parametrize("shape", [(5, 7), (1, 4), (4, 1), (0, 3), (3, 0), (200, 300)])
def test_compiled_products_with_computed_matrices_are_numpys(dtype: str, shape: tuple[int, int]) -> None:
    def products(P, a, b):
        return (P * 2 - a) @ a, b @ (P + b[:, None]), (P[::-1] * b[:, None]).T @ b

    rng = np.random.default_rng(sum(shape))
    P, a, b = ((rng.standard_normal(size) * 4).astype(dtype) for size in (shape, shape[1], shape[0]))
    compiled: Any = weft.program(products, fallback="error")
    for got, want in zip(compiled(P, a, b), products(P, a, b), strict=True):
        assert got.dtype == want.dtype
        eps = float(np.finfo(want.dtype).eps) if want.dtype.kind in "fc" else 0.0
        np.testing.assert_allclose(got, want, rtol=0, atol=eps * 4000 * max(shape))


def test_products_of_matrices_stay() -> None:
    before = program(f"  matmul P[:, :] = P[:, :] @ P[:, :]\n{END}")
    assert InnerProducts().run(before, Session()) is before


@PLAINLY
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i2", "u8", "?"])
@pytest.mark.parametrize("length", [0, 1, 3, 1000])
def test_compiled_products_are_numpys(dtype: str, length: int) -> None:
    def products(a, b, idx):
        return a @ b, np.dot(a[::-1], b[idx]), np.vdot(b, a), (a * 2) @ b

    rng = np.random.default_rng(length)
    a, b = ((rng.standard_normal(length) * 4).astype(dtype) for _ in range(2))
    idx = rng.permutation(length)
    compiled: Any = weft.program(products, fallback="error")
    expected: Any = products(a, b, idx)
    for got, want in zip(compiled(a, b, idx), expected, strict=True):
        assert type(got) is type(want)
        scale = 1 + float(np.abs(a.astype("c16") * 2) @ np.abs(b.astype("c16")[idx]))
        eps = float(np.finfo(want.dtype).eps) if want.dtype.kind in "fc" else 0.0
        assert np.abs(got - want if want.dtype.kind != "b" else got ^ want) <= 64 * eps * scale


def test_sparse_rows_are_multiplied_without_memory() -> None:
    def row(values, columns, x, first, last):
        return values[first:last] @ x[columns[first:last]]

    compiled: Any = weft.program(row, fallback="error")
    values, columns, x = np.arange(9.0), np.arange(9)[::-1].copy(), np.arange(9.0) + 1
    assert compiled(values, columns, x, 2, 7) == row(values, columns, x, 2, 7)
    assert compiled.stats.allocations == 0


# ---- rows of arrays of more axes ------------------------------------------------------------------------------------


def gray(image: Any) -> Any:
    return np.dot(image[..., :3], [0.299, 0.587, 0.114])


def scaled(x: Any, w: Any) -> Any:
    return np.dot(x * 2, w), np.dot(x.T + 1, w[: x.shape[0]])


def kept(x: Any, w: Any) -> Any:
    y = x * 2
    flat = y.reshape(-1, y.shape[-1])
    return np.dot(y, w), flat, y


def test_rows_of_an_image() -> None:
    compiled: Any = weft.program(gray)
    image = np.random.default_rng(2).integers(0, 256, (30, 40, 4)).astype(np.uint8)
    np.testing.assert_allclose(compiled(image), gray(image), rtol=1e-14)
    assert "matrix product" not in str(compiled.explain())
    assert compiled.inspect_source().count("ctx->alloc(") == 1  # the result alone


@pytest.mark.parametrize("shape", [(4, 5, 6), (2, 3, 4, 5), (0, 3, 2), (3, 0, 2), (1, 1, 1)])
@pytest.mark.parametrize("function", [scaled, kept])
def test_rows_of_more_axes(function: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=shape), rng.normal(size=shape[-1])
    x = x[: shape[-1]]
    compiled: Any = weft.program(function)
    for got, expected in zip(compiled(x, w), function(x, w), strict=True):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13)


def windows(x: Any, v: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, v.shape[0]) @ v


def windows_reversed(x: Any, v: Any) -> Any:
    return v[::-1] @ np.lib.stride_tricks.sliding_window_view(x, v.shape[0]).T


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function", [windows, windows_reversed])
@pytest.mark.parametrize(("length", "width"), [(1, 1), (5, 5), (40, 3), (700, 17), (9000, 9), (70_000, 3), (700, 650)])
def test_windows_slid_over_an_array(function: Any, length: int, width: int, threads: int) -> None:
    random = np.random.default_rng(length)
    x, v = random.standard_normal(2 * length), random.standard_normal(width)
    compiled: Any = weft.program(function, threads=threads, fallback="error")
    for array in (x[:length].copy(), x[::2], x[length - 1 :: -1]):
        np.testing.assert_allclose(compiled(array, v), function(array, v), rtol=1e-12, atol=1e-12)
