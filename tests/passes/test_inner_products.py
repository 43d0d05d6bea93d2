"""Products of two vectors as sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from tests.conftest import Golden
from tests.passes.programs import after, assert_same_meaning, body_text, program
from weft.passes.base import Session
from weft.passes.inner_products import InnerProducts

END = "  return missing"
PRODUCT = "matmul A[0] over [1, 1] = B[$1] over [1, %n.1] @ B[%n.1 - 1 - $0] over [%n.1, 1] warn 1"


def test_a_product_of_vectors_is_a_sum(golden: Golden) -> None:
    before = program(f'  guard greater(%n.1, 0): b1 else site 0 "empty"\n  {PRODUCT}\n{END}')
    made = after(InnerProducts(), before)
    assert_same_meaning(before, made)
    assert body_text(made) == golden


def test_products_of_matrices_stay() -> None:
    before = program(f"  matmul P[:, :] = P[:, :] @ P[:, :]\n{END}")
    assert InnerProducts().run(before, Session()) is before


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
