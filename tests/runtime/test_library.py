"""NumPy's own BLAS and inner loops, called from a kernel."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.conftest import array
from weft.runtime.library import find_blas, find_inner_loop, resolve_libraries


def test_a_kernel_multiplies_with_numpys_blas(harness):
    blas = find_blas()
    if blas is None:
        pytest.skip("this NumPy has no BLAS with a C interface")
    integer = f"int{blas.integer_bits}_t"
    before = f"""typedef {integer} I;
        typedef void (*gemm)(int, int, int, I, I, I, double, double *, I, double *, I, double, double *, I);"""
    body = """int64_t m = args[0].a.shape[0], k = args[0].a.shape[1], n = args[1].a.shape[1];
        double *a = args[0].a.data, *b = args[1].a.data, *c = args[2].a.data;
        ((gemm)ctx->library[0])(101, 111, 111, m, n, k, 1.0, a, k, b, n, 0.0, c, n);
        return 0;"""
    specs = [array(ndim=2, layout="C"), array(ndim=2, layout="C"), array(ndim=2, layout="C", written=True)]
    addresses = resolve_libraries(["cblas_dgemm"])
    assert addresses is not None
    program = harness.program(lambda a, b, c: None, body, specs, before=before, library=addresses)
    random = np.random.default_rng(0)
    a, b, c = random.random((30, 40)), random.random((40, 50)), np.zeros((30, 50))
    program.call(a, b, c)
    assert (c == a @ b).all()


def test_a_kernel_runs_numpys_inner_loop(harness):
    before = "typedef void (*loop)(char **, const int64_t *, const int64_t *, void *);"
    body = """char *p[2] = {args[0].a.data, args[1].a.data}; int64_t n = args[0].a.shape[0], steps[2] = {8, 8};
        ((loop)ctx->library[0])(p, &n, steps, ctx->library[1]); return 0;"""
    addresses = resolve_libraries(["loop:exp:d->d", "data:exp:d->d"])
    assert addresses is not None
    program = harness.program(lambda a, b: None, body, [array(), array(written=True)], before=before, library=addresses)
    x = np.random.default_rng(0).random(1001) * 10
    y = np.zeros_like(x)
    program.call(x, y)
    assert (y == np.exp(x)).all()


def test_generalized_ufuncs_are_found_by_their_path():
    assert find_inner_loop("numpy.linalg._umath_linalg.solve1", "dd->d") is not None


def test_what_does_not_exist_is_none():
    assert find_inner_loop("exp", "x->x") is None
    assert find_inner_loop("no_such_function", "d->d") is None
    assert find_inner_loop("no.such.module.exp", "d->d") is None
    assert resolve_libraries(["cblas_no_such"]) == (0,)
    assert resolve_libraries([]) == ()
