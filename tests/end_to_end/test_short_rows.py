"""Functions of arrays with short rows run along columns, and give what they give along rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY

pytestmark = PLAINLY

SHAPES = [(0, 3), (1, 3), (15, 3), (16, 15), (17, 1), (40, 16), (40, 5), (3, 40), (30_000, 3)]


def gates(z: Any, c: Any) -> Any:
    width = c.shape[1]
    c = np.exp(z[:, :width]) * c + np.tanh(z[:, width : 2 * width])
    return c, np.log(c * c + 1.0)


def of_cubes(z: Any, out: Any) -> Any:
    out[:, :, 1:] = np.sin(z[:, :, :-1]) * 2.0
    return out


def in_place(z: Any) -> None:
    z[:, :-1] = np.exp(z[:, :-1]) + 1.0


def logarithms(z: Any) -> Any:
    return np.log(z[:, 1:]) / z[:, :-1]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ["C", "F", "reversed"])
def test_gates(shape: tuple[int, int], order: str) -> None:
    rng = np.random.default_rng(2)
    z, c = rng.standard_normal((shape[0], 2 * shape[1])), rng.standard_normal(shape)
    z = np.asfortranarray(z) if order == "F" else z[::-1, ::-1] if order == "reversed" else z
    for ours, theirs in zip(weft.program(gates)(z, c), gates(z, c), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("shape", [(2, 20, 4), (20, 2, 4), (300, 40, 3), (3, 3, 30), (5, 0, 3)])
def test_cubes(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(2)
    z = rng.standard_normal(shape)
    ours = weft.program(of_cubes)(z, np.zeros(shape))
    np.testing.assert_allclose(ours, of_cubes(z, np.zeros(shape)), rtol=1e-14)


@pytest.mark.parametrize("shape", [(40, 4), (4, 40), (30_000, 3)])
def test_what_is_overwritten(shape: tuple[int, int]) -> None:
    ours, theirs = (np.random.default_rng(2).standard_normal(shape) for _ in range(2))
    weft.program(in_place)(ours)
    in_place(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def sequence(xs: Any, c: Any) -> Any:
    width = c.shape[1]
    for x in xs:
        c = np.exp(-np.abs(x[:, :width])) * c + np.tanh(x[:, width:])
    return c


@pytest.mark.parametrize("shape", [(1, 3), (15, 3), (40, 6), (40, 16), (3, 300), (20_000, 3)])
@pytest.mark.parametrize("large", [1.0, 1e300])
def test_what_is_carried_in_place(shape: tuple[int, int], large: float) -> None:
    rng = np.random.default_rng(2)
    xs, c = rng.standard_normal((4, shape[0], 2 * shape[1])), rng.standard_normal(shape)
    xs[2] *= large
    kept = c.copy()
    np.testing.assert_allclose(weft.program(sequence)(xs, c), sequence(xs, c), rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(c, kept)


@pytest.mark.parametrize("bad", [None, 0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("rows", [20, 30_000])
def test_warnings(bad: float | None, rows: int) -> None:
    z = np.random.default_rng(2).uniform(1.0, 2.0, (rows, 4))
    if bad is not None:
        z[rows // 2, 2] = bad
    program = weft.program(logarithms)
    told: list[list[str]] = []
    for function in (program, logarithms):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.testing.assert_allclose(function(z)[0], logarithms(z[:1])[0], rtol=1e-14)
        told.append(sorted({str(warning.message) for warning in caught}))
    assert told[0] == told[1]


def test_the_loops_change_places_at_run_time() -> None:
    z = np.ones((20, 4))
    program = weft.program(logarithms)
    program(z)
    assert " < 16 && " in program.inspect_source()
