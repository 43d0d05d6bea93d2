"""Large results of NumPy's own functions: the program has their memory, and nobody frees it twice or never."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest

import weft


def ordered(x: Any) -> Any:
    return np.sort(x)


def in_pieces(x: Any) -> Any:
    longer = np.append(x, 1.0)
    last = np.sort(longer)
    return last[1:-1], longer, last.sum()


def thrown_away(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        total += np.sort(x + k)[k]
    return total


@pytest.mark.parametrize("size", [5, 8191, 8192, 40_000, 300_001])
@pytest.mark.parametrize("function", [ordered, in_pieces, thrown_away])
def test_results(function: Any, size: int) -> None:
    compiled: Any = weft.program(function, fallback="error")
    x = np.random.default_rng(size).random(size)
    results = [compiled(x) for _ in range(4)]
    expected = function(x)
    for got in results:
        for a, b in zip(
            got if type(got) is tuple else (got,), expected if type(got) is tuple else (expected,), strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    first = results[0][1] if type(results[0]) is tuple else results[0]
    if isinstance(first, np.ndarray):
        first[:] = -1.0  # a result of its own
        assert first.flags.writeable
        assert not np.shares_memory(first, results[1][1] if type(results[1]) is tuple else results[1])


def test_memory_is_given_back() -> None:
    compiled = weft.program(ordered, fallback="error")
    x = np.random.default_rng(0).random(100_000)
    compiled(x)
    tracemalloc.start()
    try:
        for _ in range(3):
            compiled(x)
        gc.collect()
        live, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert live < x.nbytes
    assert peak < 4 * x.nbytes
