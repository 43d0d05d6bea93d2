"""Points times a small matrix: NumPy's numbers, warnings and errors, whatever the strides, on one thread and on two."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import weft


def turned(points: Any, matrix: Any) -> Any:
    return points @ matrix


def turned_back(points: Any, matrix: Any) -> Any:
    return points @ matrix.T


def other_way_round(points: Any, matrix: Any) -> Any:
    return (matrix @ points.T).T


def onto_line(points: Any, matrix: Any) -> Any:
    return points @ matrix[0]


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8"])
@pytest.mark.parametrize("function", [turned, turned_back, other_way_round, onto_line])
@pytest.mark.parametrize("threads", [1, 2])
def test_points(function: Any, dtype: str, threads: int) -> None:
    random = np.random.default_rng(7)
    compiled: Any = weft.program(function, threads=threads, fallback="error")
    for rows, size in product((0, 1, 15, 16, 17, 20_001), (1, 2, 3, 4, 5)):
        base = (10 * random.standard_normal((2 * rows, 2 * size))).astype(dtype)
        matrix = (10 * random.standard_normal((size, size))).astype(dtype)
        for points in (
            base[:rows, :size].copy(),
            base[:rows, :size],
            base[::-2, ::2],
            np.asfortranarray(base[:rows, :size]),
        ):
            got, expected = compiled(points, matrix), function(points, matrix)
            assert got.dtype == expected.dtype
            np.testing.assert_allclose(
                got, expected, rtol=1e-5 if dtype == "f4" else 1e-13, atol=1e-3 if dtype == "f4" else 1e-11
            )


def rectangular(points: Any, matrix: Any) -> Any:
    return points @ matrix


@pytest.mark.parametrize(("inner", "columns"), list(product((2, 3, 4), repeat=2)))
def test_all_small_sizes(inner: int, columns: int) -> None:
    random = np.random.default_rng(inner * 10 + columns)
    points, matrix = random.random((300, inner)), random.random((inner, columns))
    np.testing.assert_allclose(weft.program(rectangular)(points, matrix), points @ matrix, rtol=1e-15)


def test_infinities_and_warnings() -> None:
    points, matrix = np.full((40_000, 3), 1e300), np.full((3, 3), 1e10)
    points[7, 1], points[9, 2] = np.inf, np.nan
    with pytest.warns(RuntimeWarning, match="overflow encountered in matmul"):
        got = weft.program(turned)(points, matrix)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, points @ matrix)
