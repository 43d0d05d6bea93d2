"""np.histogram: NumPy's bins to the last element, sums of weights to the last bit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import weft


def counted(a, n):
    return np.histogram(a, n)


def weighed(a, n, w):
    return np.histogram(a, bins=n, weights=w)


def means(a, n, w):
    return np.histogram(a, n, weights=w)[0] / np.histogram(a, n)[0]


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def assert_same(got: Any, want: Any) -> None:
    for left, right in zip(got, want, strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("bins", [1, 7, 500])
@pytest.mark.parametrize("kind", ["random", "on edges", "rounded", "two axes"])
def test_counts_are_numpys(dtype: str, bins: int, kind: str) -> None:
    a = {
        "random": rng().standard_normal(3000),
        "on edges": np.linspace(-1, 1, 2001),
        "rounded": np.round(rng().random(3000), 2),
        "two axes": rng().random((50, 40)).T[::-1],
    }[kind].astype(dtype)
    program: Any = weft.program(counted, fallback="error")
    assert_same(program(a, bins), counted(a, bins))
    assert (program.stats.numpy_calls, program.stats.resumes) == (0, 0)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("weights", ["f4", "f8", "i4", "u1"])
@pytest.mark.parametrize("size", [3, 65536, 140_000])
def test_sums_of_weights_are_numpys(dtype: str, weights: str, size: int) -> None:
    a, w = rng().random(size).astype(dtype), (rng().random(size) * 100).astype(weights)
    program: Any = weft.program(weighed, fallback="error")
    found, expected = program(a, 40, w), weighed(a, 40, w)
    if size < 65536:
        assert_same(found, expected)
    else:  # sums in parts
        assert_same(found[1], expected[1])
        assert found[0].dtype == expected[0].dtype
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-13 if found[0].dtype == np.float64 else 1e-5)
    assert (program.stats.numpy_calls, program.stats.resumes) == (0, 0)


def test_two_in_one_expression() -> None:
    a = rng().random(5000)
    program: Any = weft.program(means, fallback="error")
    assert_same([program(a, 30, a)], [means(a, 30, a)])


@pytest.mark.parametrize(
    ("a", "bins"),
    [
        (np.empty(0), 3), (np.ones(4), 3), (np.array([1.0, np.nan]), 3), (np.array([1.0, np.inf]), 3),
        (np.arange(4.0), 0), (np.arange(4.0), -2), (np.array([1.0, 1.0 + 2e-16]), 50), (np.array([-1e308, 1.7e308]), 4),
    ],
)  # fmt: skip
def test_what_is_unusual_is_pythons(a: Any, bins: int) -> None:
    program: Any = weft.program(counted, fallback="error")
    outcomes: list[Any] = []
    for function in (counted, program):
        with np.errstate(all="ignore"):
            try:
                outcomes.append(function(a, bins))
            except ValueError as problem:
                outcomes.append(str(problem))
    if isinstance(outcomes[0], str):
        assert outcomes[0] == outcomes[1]
    else:
        assert_same(*outcomes)


def ranged(a, n, low, high):
    return np.histogram(a, n, (low, high))


def dense(a, n, low, high, w):
    return *np.histogram(a, n, range=[low, high], density=True), *np.histogram(a, n, (low, high), weights=w)  # type: ignore[arg-type]


def image(a):
    return np.histogram(a.ravel(), 256, [0, 256])  # type: ignore[arg-type]


def typed_data(dtype: str, size: int) -> Any:
    a = (rng().standard_normal(size) * (1 if dtype[0] == "f" else 60)).astype(dtype)
    if dtype[0] == "f" and size > 3:
        a[:40] = np.float32(0.1)
        a[:4] = [np.nan, np.inf, -np.inf, 0.3]
    return a


@pytest.mark.parametrize(
    ("dtype", "ends"),
    [
        ("f4", (0.1, 0.3)), ("f4", (0, 256)), ("f8", (0, 3)), ("f8", (np.float32(-1), 1.5)), ("u1", (0, 256)),
        ("i2", (-0.5, 30)), ("i8", (np.int8(-100), np.int8(100))),
    ],
)  # fmt: skip
def test_a_range_is_numpys(dtype: str, ends: tuple[Any, Any]) -> None:
    program: Any = weft.program(ranged, fallback="error")
    for size, bins in ((0, 3), (1, 1), (1000, 7), (1000, 100)):
        a = typed_data(dtype, size)
        assert_same(program(a, bins, *ends), ranged(a, bins, *ends))
    assert (program.stats.numpy_calls, program.stats.resumes) == (0, 0)


@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_densities_and_weights_within_a_range(dtype: str) -> None:
    program: Any = weft.program(dense, fallback="error")
    a, w = typed_data(dtype, 500), rng().random(500)
    w[:3] = np.nan
    assert_same(program(a, 9, -1.5, 2, w), dense(a, 9, -1.5, 2, w))
    assert (program.stats.numpy_calls, program.stats.resumes) == (0, 0)


def test_nothing_in_range_warns_as_numpy() -> None:
    program: Any = weft.program(dense, fallback="error")
    a = np.full(5, 7.0)
    for function in (dense, program):
        with pytest.warns(RuntimeWarning, match="invalid value encountered in divide"):
            assert np.isnan(function(a, 3, 0.0, 1.0, a)[0]).all()


@pytest.mark.parametrize("dtype", ["u1", "i1", "i8"])
def test_integers_are_numpys(dtype: str) -> None:
    program: Any = weft.program(counted, fallback="error")
    info = np.iinfo(dtype)
    for a in (typed_data(dtype, 900), np.full(4, 3, dtype), np.array([info.min, info.max, 0, info.max // 2], dtype)):
        assert_same(program(a, 13), counted(a, 13))
    assert (program.stats.numpy_calls, program.stats.resumes) == (0, 0)


def test_an_image() -> None:
    program: Any = weft.program(image, fallback="error")
    a = rng().integers(0, 256, (300, 300)).astype("u1")
    assert_same(program(a), image(a))


@pytest.mark.parametrize("ends", [(1.0, 0.0), (0.0, np.inf), (np.nan, 1.0), (1, 1), (-1e308, 1.7e308)])
def test_a_range_that_is_none_is_pythons(ends: tuple[Any, Any]) -> None:
    program: Any = weft.program(ranged, fallback="error")
    outcomes: list[Any] = []
    for function in (ranged, program):
        with np.errstate(all="ignore"):
            try:
                outcomes.append(function(np.arange(4.0), 3, *ends))
            except ValueError as problem:
                outcomes.append(str(problem))
    if isinstance(outcomes[0], str):
        assert outcomes[0] == outcomes[1]
    else:
        assert_same(*outcomes)


def between(a, edges):
    return np.histogram(a, edges)


@pytest.mark.parametrize(("dtype", "edged"), [("f8", "f8"), ("f4", "f8"), ("i2", "f4"), ("i8", "i8"), ("u1", "i4")])
def test_edges_are_numpys(dtype: str, edged: str) -> None:
    program: Any = weft.program(between, fallback="error")
    for size in (0, 1, 1000, 70_000):
        a = typed_data(dtype, size)
        for edges in ([-1, 2], [-70, -3, 0, 0, 1, 9, 9, 60], [0.1, 0.3, 0.5], [3, 3, 3], list(range(-50, 80))):
            given = np.array(edges, edged)
            found, expected = program(a, given), between(a, given)
            assert found[1] is given
            assert_same(found, expected)
    assert (program.stats.numpy_calls, program.stats.resumes) == (0, 0)


def test_edges_that_do_not_rise_are_pythons() -> None:
    program: Any = weft.program(between, fallback="error")
    with pytest.raises(ValueError, match="must increase monotonically"):
        program(np.arange(3.0), np.array([1.0, 3.0, 2.0]))
    for edges in (np.array([1.0]), np.array([0.0, np.nan, 2.0])):
        assert_same(program(np.arange(3.0), edges), between(np.arange(3.0), edges))


def test_other_forms_are_calls_of_numpy() -> None:
    def other(a):
        return np.histogram(a, "auto"), np.histogram(a, [0.0, 0.5, 2.0], weights=a)

    program: Any = weft.program(other, fallback="error")
    a = rng().random(50)
    for got, want in zip(program(a), other(a), strict=True):
        assert_same(got, want)
    assert program.stats.numpy_calls == 2


def in_four(a, w):
    return np.histogram(a, 4, weights=w)


@pytest.mark.parametrize("count", [5, 70000])
def test_sums_that_do_not_fit_their_type_warn_as_numpy(count: int) -> None:
    program: Any = weft.program(in_four, fallback="error")
    for weights in (np.full(count, 2**62), np.full(count, 3e38, "f4"), np.full(count, 1 << 20)):
        found = []
        for function in (in_four, program):
            with warnings.catch_warnings(record=True) as shown:
                warnings.simplefilter("always")
                result = function(np.arange(float(count)) // 3, weights)
            found.append((result[0].dtype, result[0].tolist(), {str(warning.message) for warning in shown}))
        assert found[0] == found[1]
