"""Large products are cut into parts that threads share: NumPy's numbers, the same bits on any number of threads.

BLAS runs on one thread meanwhile, and on as many as before afterwards.
"""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import weft
from weft.runtime.library import find_blas, runs_alone
from weft.support.abi import BLAS_THREADS


def product(a: Any, b: Any) -> Any:
    return a @ b


def product_of_transposed(a: Any, b: Any) -> Any:
    return b.T @ a.T


def scaled_and_added(a: Any, b: Any) -> Any:
    c = np.ones((a.shape[0], b.shape[1]), a.dtype)
    return 0.5 * c + 2 * (a @ b)


def own_transpose(a: Any, b: Any) -> Any:
    return a.T @ a


def transpose_of_own(a: Any, b: Any) -> Any:
    return b @ b.T


def with_vector(a: Any, b: Any) -> Any:
    return a @ b[:, 0]


FUNCTIONS = (product, product_of_transposed, scaled_and_added, own_transpose, transpose_of_own, with_vector)
# Rows in parts, columns in parts, parts of different sizes, sides of which one is too short to be cut.
SIZES = ((70, 90, 66), (333, 77, 91), (20, 701, 40), (65, 1100, 9), (515, 511, 130), (30_001, 5, 33))


@pytest.mark.parametrize("dtype", ["f8", "c8", *(pytest.param(name, marks=pytest.mark.slow) for name in ("f4", "c16"))])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_products_are_numpys_and_the_same_on_any_number_of_threads(function: Any, dtype: str) -> None:
    random = np.random.default_rng(3)
    compiled: list[Any] = [weft.program(function, threads=threads, fallback="error") for threads in (1, 2, 3)]
    precision = 1e-4 if dtype in {"f4", "c8"} else 1e-12
    for rows, columns, inner in SIZES:
        if function is own_transpose and rows > 1000:
            continue
        a, b = (
            (random.standard_normal(shape) + (1j * random.standard_normal(shape) if dtype[0] == "c" else 0)).astype(
                dtype
            )
            for shape in ((rows, inner), (inner, columns))
        )
        gaps = np.repeat(a, 2, axis=1)[:, ::2], np.repeat(b, 2, axis=1)[:, ::2]
        for left, right in ((a, b), (np.asfortranarray(a), b), (a, np.asfortranarray(b)), gaps, (a[::-1], b[::-1])):
            expected = function(left, right)
            first, *others = (program(left, right) for program in compiled)
            assert first.dtype == expected.dtype
            np.testing.assert_allclose(first, expected, rtol=precision, atol=precision * np.abs(expected).max())
            assert all(np.array_equal(first, other) for other in others)
            if function in {own_transpose, transpose_of_own}:
                assert np.array_equal(first, first.T)


def told(function: Any, a: Any, b: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        function(a, b)
    return [str(warning.message) for warning in seen]


@pytest.mark.parametrize("function", [product, own_transpose, with_vector])
@pytest.mark.parametrize("threads", [1, 2])
def test_warnings_are_numpys(function: Any, threads: int) -> None:
    """NumPy hears of what happens on its own thread; which rows these are is up to BLAS."""
    compiled: Any = weft.program(function, threads=threads)
    for row in (0, 170, 399):
        a, b = np.ones((400, 800)), np.ones((800, 80))
        a[row, 3], a[row, 5] = np.inf, -np.inf
        assert told(compiled, a, b) == told(function, a, b)
    assert told(compiled, np.ones((400, 800)), np.ones((800, 80))) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_warnings_of_matrices_that_are_copied_are_numpys(threads: int) -> None:
    compiled: Any = weft.program(product, threads=threads)
    for column in (0, 170, 299):
        for right in (np.ones((300, 600))[:, ::2], np.ones((300, 300))[::-1]):
            right[7, column] = np.inf
            assert told(compiled, np.zeros((300, 300)), right) == told(product, np.zeros((300, 300)), right)


def blas_threads() -> tuple[Any, Any]:
    """What tells, and what sets, the number of threads BLAS uses."""
    blas = find_blas()
    tell, change = (blas.address(name) if blas else None for name in BLAS_THREADS)
    if not tell or not change:
        pytest.skip("this BLAS cannot be told how many threads to use")
    return ctypes.CFUNCTYPE(ctypes.c_int)(tell), ctypes.CFUNCTYPE(None, ctypes.c_int)(change)


def test_blas_has_its_threads_back() -> None:
    tell, change = blas_threads()
    before = tell()
    compiled: Any = weft.program(product, threads=2)
    a = np.ones((300, 300))
    compiled(a, a)
    try:
        for threads in (2, 1):
            change(threads)
            compiled(a, a)
            assert tell() == threads
        change(2)
        together = [threading.Thread(target=lambda: [compiled(a, a) for _ in range(20)]) for _ in range(3)]
        for thread in together:
            thread.start()
        for thread in together:
            thread.join()
        assert tell() == 2
    finally:
        change(before)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_in_the_middle_of_a_product() -> None:
    """The child can do without BLAS, which another thread may have been in; here all is as before."""
    tell, change = blas_threads()
    before = tell()
    change(2)
    compiled: Any = weft.program(product, threads=2)
    a, stop = np.ones((400, 400)), threading.Event()
    expected = compiled(a, a)

    def multiply_on() -> None:
        while not stop.is_set():
            assert np.array_equal(compiled(a, a), expected)

    busy = threading.Thread(target=multiply_on)
    busy.start()
    try:
        for _ in range(10):
            child = os.fork()
            if not child:
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        stop.set()
        busy.join()
        assert tell() == 2
    finally:
        stop.set()
        busy.join()
        change(before)


def test_who_may_keep_threads_awake() -> None:
    blas = ("blas_ilp64", "cblas_dgemm", *BLAS_THREADS)
    assert runs_alone((), ())
    assert runs_alone(("loop:exp:d->d", "data:exp:d->d"), (8, 0))
    assert runs_alone(blas, (1, 8, 16, 24))
    assert not runs_alone(blas, (1, 8, 0, 0))
    assert not runs_alone((*blas, "call:numpy.linalg._umath_linalg.inv:d->d"), (1, 8, 16, 24, 32))
