"""Warnings of nests that hold operations of several lines: those of NumPy, one operation after the other."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tests.codegen.builders import Build, give, point
from tests.codegen.harness import Module, load
from tests.codegen.test_operations import numpy_function
from tests.codegen.test_warnings import DIVIDE, INVALID, OVERFLOW
from tests.codegen.test_warnings import numpy_flags as all_flags
from weft.ir.dtypes import NP_BOOL, DType, ScalarType
from weft.ir.exprs import Const, Expr, Value, const_index, op
from weft.ir.nodes import Let, Map, Memlet, Node, Pack, Program, Region, Schedule, Tasklet
from weft.ir.parser import parse_program
from weft.ir.verifier import verify

F8, F4 = ScalarType(DType.FLOAT64), ScalarType(DType.FLOAT32)


def numpy_flags(function: Any, *arrays: Any) -> int:
    return all_flags(function, *arrays) & (DIVIDE | OVERFLOW | INVALID)


def program(text: str) -> Program:
    parsed = parse_program(text)
    verify(parsed)
    return parsed


def kernel_text(module: Module) -> str:
    """The kernel and its bodies, without what stands above."""
    return module.file.source[module.file.source.index("struct weft_kernel") :]


# ---- a stencil: nothing written is read -----------------------------------------------------------------------------

STENCIL = """\
weft-ir 1
program stencil
slot param 0: array float64 rank 2 layout C
slot param 1: array float64 rank 2 layout C written
constant None
warning "add" line 1
warning "add" line 2
warning "multiply" line 3
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
size %k.3: py_int in [0, 1099511627776]
size %l.4: py_int in [0, 1099511627776]
array A: f8[%n.1, %m.2] argument slot 0 C
array B: f8[%k.3, %l.4] argument slot 1 C written
{
  map (%i.5: py_int, %j.6: py_int) in [0:%n.1, 1:%m.2 - 1] SCHEDULE {
    tasklet {
      %a.7: f8 = A[%i.5, %j.6 - 1]
      %b.8: f8 = A[%i.5, %j.6]
      %c.9: f8 = A[%i.5, %j.6 + 1]
      %s.10: f8 = add(%a.7, %b.8) warn 0
      %t.11: f8 = add(%s.10, %c.9) warn 1
      %u.12: f8 = multiply(3.0:f8, %t.11) warn 2
      write B[%i.5, %j.6] = %u.12
    }
  }
  return constant 0
}
"""


def stencil_in_numpy(a: Any, b: Any) -> dict[int, int]:
    flags: dict[int, int] = {}
    with np.errstate(all="ignore"):
        s = a[:, :-2] + a[:, 1:-1]
        t = s + a[:, 2:]
        b[:, 1:-1] = 3.0 * t
    flags[0] = numpy_flags(np.add, a[:, :-2], a[:, 1:-1])
    flags[1] = numpy_flags(np.add, s, a[:, 2:])
    flags[2] = numpy_flags(np.multiply, np.float64(3.0), t)
    return flags


@pytest.mark.parametrize("schedule", ["", "parallel"])
@pytest.mark.parametrize("shape", [(3, 7), (40, 1000)])
def test_every_line_warns_for_itself(schedule: str, shape: tuple[int, int]) -> None:
    kernel = load(program(STENCIL.replace("SCHEDULE", schedule)))
    a, b, expected = np.ones(shape), np.zeros(shape), np.zeros(shape)
    for specials in ([], [1e308, 1e308], [1e308, 1e308, -np.inf], [np.inf, -np.inf], [np.nan], [1e308], [0, 0, 1e308]):
        a[...] = 1.0
        a[shape[0] // 2, 1 : 1 + len(specials)] = specials
        flags = stencil_in_numpy(a, expected)
        assert kernel(a, b).warnings == flags, specials
        np.testing.assert_array_equal(b, expected)


def test_the_first_run_checks_nothing() -> None:
    text = kernel_text(load(program(STENCIL.replace("SCHEDULE", ""))))
    cold, _, first = text.partition("\nint32_t weft_kernel")
    assert "weft_check_binary_f64_apart" in cold
    assert "__attribute__((cold))" in cold
    assert "weft_check_binary_f64_apart" not in first
    assert "#pragma omp simd\n" in first
    assert "#pragma" not in cold


# ---- in place -------------------------------------------------------------------------------------------------------

IN_PLACE = """\
weft-ir 1
program in_place
slot param 0: array FLOAT rank 2 layout C written
slot param 1: array FLOAT rank 2 layout C
constant None
warning "subtract" line 1
warning "multiply" line 2
warning "subtract" line 3
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
size %k.3: py_int in [0, 1099511627776]
size %l.4: py_int in [0, 1099511627776]
array E: TYPE[%n.1, %m.2] argument slot 0 C written
array H: TYPE[%k.3, %l.4] argument slot 1 C
{
  map (%i.5: py_int, %j.6: py_int) in [1:%n.1, 0:%m.2] SCHEDULE {
    tasklet {
      %e.7: TYPE = E[%i.5, %j.6]
      %g.8: TYPE = H[%i.5, %j.6]
      %h.9: TYPE = H[%i.5 - 1, %j.6]
      %d.10: TYPE = subtract(%g.8, %h.9) warn 0
      %p.11: TYPE = multiply(0.5:TYPE, %d.10) warn 1
      %r.12: TYPE = subtract(%e.7, %p.11) warn 2
      write E[%i.5, %j.6] = %r.12
    }
  }
  return constant 0
}
"""


def in_place_in_numpy(e: Any, h: Any) -> dict[int, int]:
    half = e.dtype.type(0.5)
    flags: dict[int, int] = {}
    flags[0] = numpy_flags(np.subtract, h[1:], h[:-1])
    with np.errstate(all="ignore"):
        d = h[1:] - h[:-1]
        flags[1] = numpy_flags(np.multiply, half, d)
        p = half * d
        flags[2] = numpy_flags(np.subtract, e[1:], p)
        e[1:] -= p
    return flags


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("schedule", ["", "parallel"])
@pytest.mark.parametrize("shape", [(3, 5), (33, 1030)])
def test_in_place_the_old_contents_are_checked(dtype: str, schedule: str, shape: tuple[int, int]) -> None:
    name = {"float64": "f8", "float32": "f4"}[dtype]
    kernel = load(program(IN_PLACE.replace("TYPE", name).replace("FLOAT", dtype).replace("SCHEDULE", schedule)))
    assert "old[" in kernel_text(kernel)
    large = float(np.finfo(dtype).max)
    cases: list[tuple[float, ...]] = [(), (large, -large), (np.inf, np.inf), (np.nan, 1.0), (np.inf, 0.0), (large, 0.0)]
    for e0 in (1.0, -large, np.inf):
        for specials in cases:
            rng = np.random.default_rng(1)
            e, h = rng.random(shape).astype(dtype), rng.random(shape).astype(dtype)
            h[1 : 1 + len(specials), shape[1] - 2] = specials[: shape[0] - 1]
            e[-1, 0] = e0
            ours = e.copy()
            flags = in_place_in_numpy(e, h)
            assert kernel(ours, h).warnings == flags, (e0, specials)
            np.testing.assert_array_equal(ours, e)


TWICE = """\
weft-ir 1
program twice
slot param 0: array float64 rank 1 layout C written
constant None
warning "multiply" line 1
warning "add" line 2
size %n.1: py_int in [0, 1099511627776]
array A: f8[%n.1] argument slot 0 C written
{
  map (%i.2: py_int) in [0:%n.1] {
    tasklet {
      %a.3: f8 = A[%i.2]
      %b.4: f8 = multiply(%a.3, 1e+300:f8) warn 0
      write A[%i.2] = %b.4
    }
    tasklet {
      %c.5: f8 = A[%i.2]
      %d.6: f8 = add(%c.5, 1e+308:f8) warn 1
      write A[%i.2] = %d.6
    }
  }
  return constant 0
}
"""


def test_a_point_may_read_what_it_wrote() -> None:
    kernel = load(program(TWICE))
    for special, flags in ((1.0, {0: 0, 1: 0}), (1e8, {0: 0, 1: OVERFLOW}), (1e9, {0: OVERFLOW, 1: 0})):
        a = np.full(1000, 0.5)
        a[300] = special
        with np.errstate(all="ignore"):
            expected = a * 1e300 + 1e308
        assert kernel(a).warnings == flags
        np.testing.assert_array_equal(a, expected)


ASIDE = """\
weft-ir 1
program aside
slot param 0: array float64 rank 1 layout C written
slot param 1: array float64 rank 1 layout C
constant None
warning "add" line 1
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
array E: f8[%n.1] argument slot 0 C written
array H: f8[%m.2] argument slot 1 C
{
  map (%i.3: py_int) in [0:%n.1] SCHEDULE {
    tasklet {
      %e.4: f8 = E[%i.3]
      %h.5: f8 = H[%i.3]
      %s.6: f8 = add(SUMMED, %h.5) warn 0
      %r.7: f8 = minimum(%e.4, %s.6)
      write E[%i.3] = %r.7
    }
  }
  return constant 0
}
"""


@pytest.mark.parametrize("schedule", ["", "parallel"])
@pytest.mark.parametrize("summed", ["%h.5", "%e.4"])
def test_old_contents_are_kept_only_for_what_may_warn(schedule: str, summed: str) -> None:
    kernel = load(program(ASIDE.replace("SCHEDULE", schedule).replace("SUMMED", summed)))
    assert ("old[" in kernel_text(kernel)) == (summed == "%e.4")
    for special, other in itertools.product((0.25, 1e308, -1e308, np.inf, -np.inf, np.nan), repeat=2):
        e, h = np.full(40_000, 0.5), np.full(40_000, 2.0)
        e[30_001], h[30_001] = special, other
        first = h if summed == "%h.5" else e.copy()
        flags = numpy_flags(np.add, first, h)
        with np.errstate(all="ignore"):
            expected = np.minimum(e, first + h)
        assert kernel(e, h).warnings == {0: flags}, (special, other)
        np.testing.assert_array_equal(e, expected)


# ---- what raises no flag, or one without cause ----------------------------------------------------------------------


def nest(lets_of: Callable[[Build, Value, Value], tuple[list[Let], Expr]], schedule: Schedule) -> Module:
    """r[i] = f(a[i], b[i])."""
    build = Build()
    build.array("a", DType.FLOAT64, 1)
    build.array("b", DType.FLOAT64, 1)
    r = build.array("r", DType.FLOAT64, 1, written=True)
    i, u, v = build.value("i"), build.value("u", F8), build.value("v", F8)
    lets, result = lets_of(build, u, v)
    tasklet = Tasklet(
        reads=((u, Memlet("a", point(i))), (v, Memlet("b", point(i)))),
        lets=tuple(lets),
        writes=((Memlet("r", point(i)), result),),
    )
    ranges = ((const_index(0), r.shape[0]),)
    return load(
        build.program(Map(params=(i,), ranges=ranges, body=Region((tasklet,)), schedule=schedule), give(Pack(())))
    )


def unselected(build: Build, u: Value, v: Value) -> tuple[list[Let], Expr]:
    """where(u < v, u * v, v + v): both sides are computed, whichever is taken."""
    p, s = build.value("p", F8), build.value("s", F8)
    lets = [
        Let(p, op("multiply", (u, v), F8), build.warn("multiply")),
        Let(s, op("add", (v, v), F8), build.warn("add")),
    ]
    return lets, op("select", (op("less", (u, v), NP_BOOL), p, s), F8)


@pytest.mark.parametrize("schedule", Schedule)
@pytest.mark.parametrize("size", [3, 40_000])
def test_what_is_not_selected_warns_too(schedule: Schedule, size: int) -> None:
    kernel = nest(unselected, schedule)
    a, b, r = np.ones(size), np.ones(size), np.empty(size)
    for first, second in ((1.0, 2.0), (np.nan, 1.0), (1e200, 1e200), (1e308, -1e200), (-1e308, 1e308), (np.inf, 0.0)):
        a[size // 2], b[size // 2] = first, second
        expected = {0: numpy_flags(np.multiply, a, b), 1: numpy_flags(np.add, b, b)}
        assert kernel(a, b, r).warnings == expected, (first, second)


def masked(build: Build, u: Value, v: Value) -> tuple[list[Let], Expr]:
    """maximum(where(u > 0, sqrt(u), 0), u * v), with the roots of what the mask takes only."""
    m, n, p = build.value("m", NP_BOOL), build.value("n", F8), build.value("p", F8)
    one, none = Const(1.0, F8), Const(0.0, F8)
    lets = [
        Let(m, op("greater", (u, none), NP_BOOL)),
        Let(n, op("sqrt", (op("select", (m, u, one), F8),), F8), build.warn("sqrt")),
        Let(p, op("multiply", (u, v), F8), build.warn("multiply")),
    ]
    return lets, op("maximum", (op("select", (m, n, none), F8), p), F8)


def test_what_a_mask_leaves_out_raises_no_flag() -> None:
    """Else every call would run a second time, to find nothing. Of `?:` gcc takes the roots of all numbers."""
    kernel = nest(masked, Schedule.SEQUENTIAL)
    a, b, r = np.linspace(-3.0, 3.0, 601), np.full(601, 2.0), np.empty(601)
    assert "weft_pick_f64(" in kernel_text(kernel)
    assert not any(kernel(a, b, r).warnings.values())
    np.testing.assert_array_equal(r, np.maximum(np.sqrt(np.maximum(a, 0.0)), a * b))
    a[7], b[7] = 1e308, 1e308
    assert kernel(a, b, r).warnings[1] == OVERFLOW


def functions(build: Build, u: Value, v: Value) -> tuple[list[Let], Expr]:
    """log(exp(u) * v)"""
    e, p, g = build.value("e", F8), build.value("p", F8), build.value("g", F8)
    lets = [
        Let(e, op("exp", (u,), F8), build.warn("exp")),
        Let(p, op("multiply", (e, v), F8), build.warn("multiply")),
        Let(g, op("log", (p,), F8), build.warn("log")),
    ]
    return lets, g


@pytest.mark.parametrize("schedule", Schedule)
@pytest.mark.parametrize("size", [3, 40_000])
def test_functions_of_the_library_warn(schedule: Schedule, size: int) -> None:
    kernel = nest(functions, schedule)
    a, b, r = np.ones(size), np.ones(size), np.empty(size)
    for first, second in (
        (1.0, 2.0),
        (1000.0, 1.0),
        (700.0, 1e200),
        (1.0, 0.0),
        (1.0, -1.0),
        (np.nan, 1.0),
        (-np.inf, 1),
    ):
        a[size // 2], b[size // 2] = first, second
        with np.errstate(all="ignore"):
            e = np.exp(a)
            p = e * b
        expected = {0: numpy_flags(np.exp, a), 1: numpy_flags(np.multiply, e, b), 2: numpy_flags(np.log, p)}
        assert kernel(a, b, r).warnings == expected, (first, second)


OUTER = """\
weft-ir 1
program outer
slot param 0: array float64 rank 1 layout C
slot param 1: array float64 rank 1 layout C written
slot param 2: np_scalar float64
constant None
warning "multiply" line 1
warning "add" line 2
scalar slot 2 = %x.1: f8
size %n.2: py_int in [0, 1099511627776]
size %m.3: py_int in [0, 1099511627776]
array A: f8[%n.2] argument slot 0 C
array B: f8[%m.3] argument slot 1 C written
{
  for %t.4: py_int in 0:3 {
    map (%i.5: py_int) in [0:%n.2] {
      tasklet {
        %a.6: f8 = A[%i.5]
        %s.7: f8 = multiply(%x.1, %x.1) warn 0
        %r.8: f8 = add(%a.6, %s.7) warn 1
        write B[%i.5] = %r.8
      }
    }
    continue
  }
  return constant 0
}
"""


def test_what_does_not_depend_on_the_nest_warns() -> None:
    """The compiler computes x * x before the nest and its flags."""
    kernel = load(program(OUTER))
    a, b = np.ones(100), np.empty(100)
    assert kernel(a, b, np.float64(2.0)).warnings == {0: 0, 1: 0}
    assert kernel(a, b, np.float64(1e200)).warnings == {0: OVERFLOW, 1: 0}


# ---- nests of more than tasklets ------------------------------------------------------------------------------------

ROWS = """\
weft-ir 1
program rows
slot param 0: array float64 rank 2 layout C written
slot param 1: array float64 rank 1 layout C ROLE
constant None
warning "multiply" line 1
warning "add" line 2
warning "divide" line 3
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
size %k.3: py_int in [0, 1099511627776]
array A: f8[%n.1, %m.2] argument slot 0 C written
array R: f8[%k.3] argument slot 1 C ROLE
array T: f8[4] stack C
{
  map (%i.4: py_int) in [0:%n.1] SCHEDULE {
    alloc T
    tasklet {
      %z.5: f8 = A[%i.4, 0]
      %y.6: f8 = multiply(%z.5, %z.5) warn 0
      write T[1] = %y.6
    }
    for %j.7: py_int in 0:%m.2 carry (%s.8: f8 = 0.0:f8) {
      tasklet {
        %a.9: f8 = A[%i.4, %j.7]
        %t.10: f8 = T[1]
        %p.11: f8 = multiply(%a.9, %t.10) warn 0
        %q.12: f8 = add(%s.8, %p.11) warn 1
      }
      continue %q.12
    }
    map (%j.13: py_int) in [0:%m.2] {
      tasklet {
        %b.14: f8 = A[%i.4, %j.13]
        %d.15: f8 = divide(%b.14, %s.8) warn 2
        %e.16: f8 = multiply(%d.15, 2.0:f8) warn 0
        write A[%i.4, %j.13] = %e.16
      }
    }
    write R[%i.4] = %s.8
  }
  return constant 0
}
"""


@pytest.mark.parametrize("schedule", ["", "parallel"])
@pytest.mark.parametrize("rows", [2, 300])
def test_nests_of_nests_collect(schedule: str, rows: int) -> None:
    text = ROWS.replace("ROLE", "written").replace("SCHEDULE", schedule)
    kernel = load(program(text))
    for first, last in ((1.0, 2.0), (1e200, 1.0), (0.0, 3.0), (1e103, 1e103), (np.nan, 1.0), (np.inf, 0.0)):
        a = np.ones((rows, 200))
        a[1, 0], a[1, -1] = first, last
        ours, sums = a.copy(), np.empty(rows)
        flags = {0: numpy_flags(np.multiply, a[:, 0], a[:, 0]), 1: 0, 2: 0}
        with np.errstate(all="ignore"):
            t = a[:, 0] * a[:, 0]
            total = np.zeros(rows)
            for j in range(200):
                flags[0] |= numpy_flags(np.multiply, a[:, j], t)
                flags[1] |= numpy_flags(np.add, total, a[:, j] * t)
                total += a[:, j] * t
            flags[2] |= numpy_flags(np.divide, a, total[:, None])
            quotient = a / total[:, None]
            flags[0] |= numpy_flags(np.multiply, quotient, np.float64(2.0))
        assert kernel(ours, sums).warnings == flags, (first, last)
        np.testing.assert_array_equal(ours, quotient * 2.0)
        np.testing.assert_array_equal(sums, total)


HISTOGRAM = """\
weft-ir 1
program histogram
slot param 0: array float64 rank 1 layout C
slot param 1: array float64 rank 1 layout C written
constant None
warning "multiply" line 1
warning "add" line 2
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
array A: f8[%n.1] argument slot 0 C
array H: f8[%m.2] argument slot 1 C written
{
  map (%i.3: py_int) in [0:%n.1] {
    tasklet {
      %a.4: f8 = A[%i.3]
      %b.5: f8 = multiply(%a.4, %a.4) warn 0
      %c.6: f8 = add(%b.5, %b.5) warn 1
      write H[0] resolve add = %c.6
    }
  }
  return constant 0
}
"""


def test_a_second_run_combines_nothing_twice() -> None:
    kernel = load(program(HISTOGRAM))
    for special, flags in ((1.0, {0: 0, 1: 0}), (1e154, {0: 0, 1: OVERFLOW}), (1e200, {0: OVERFLOW, 1: 0})):
        a, h = np.array([1.0, special]), np.array([5.0])
        with np.errstate(all="ignore"):
            expected = 5.0 + np.sum(2 * (a * a))
        assert kernel(a, h).warnings == flags
        assert h[0] == expected


# ---- loops of scalar code -------------------------------------------------------------------------------------------

SOLVE = """\
weft-ir 1
program solve
slot param 0: array float64 rank 2 layout C
slot param 1: array float64 rank 1 layout C written
constant None
warning "multiply" line 1
warning "subtract" line 2
warning "divide" line 3
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
size %k.3: py_int in [0, 1099511627776]
array L: f8[%n.1, %m.2] argument slot 0 C
array X: f8[%k.3] argument slot 1 C written
{
  for %i.4: py_int in 0:%n.1 {
    %b.5: f8 = X[%i.4]
    for %j.6: py_int in 0:%i.4 carry (%s.7: f8 = %b.5) {
      tasklet {
        %l.8: f8 = L[%i.4, %j.6]
        %x.9: f8 = X[%j.6]
        %p.10: f8 = multiply(%l.8, %x.9) warn 0
        %q.11: f8 = subtract(%s.7, %p.10) warn 1
      }
      continue %q.11
    }
    tasklet {
      %d.12: f8 = L[%i.4, %i.4]
      %r.13: f8 = divide(%s.7, %d.12) warn 2
      write X[%i.4] = %r.13
    }
    continue
  }
  return constant 0
}
"""


def solve_in_numpy(matrix: Any, x: Any) -> dict[int, int]:
    flags = {0: 0, 1: 0, 2: 0}
    with np.errstate(all="ignore"):
        for i in range(len(x)):
            s = x[i]
            for j in range(i):
                flags[0] |= numpy_flags(np.multiply, matrix[i, j], x[j])
                flags[1] |= numpy_flags(np.subtract, s, matrix[i, j] * x[j])
                s = s - matrix[i, j] * x[j]
            flags[2] |= numpy_flags(np.divide, s, matrix[i, i])
            x[i] = s / matrix[i, i]
    return flags


def test_loops_in_place_look_at_their_results() -> None:
    kernel = load(program(SOLVE))
    assert kernel_text_of(kernel).count("ctx->warn") == 3
    rng = np.random.default_rng(0)
    for i, j, special in ((0, 0, 1.0), (3, 3, 0.0), (5, 2, 1e308), (5, 2, np.inf), (4, 1, np.nan), (2, 2, 1e-320)):
        matrix, x = rng.random((8, 8)) + np.eye(8), rng.random(8) * 1e10
        matrix[i, j] = special
        expected = x.copy()
        flags = solve_in_numpy(matrix, expected)
        assert kernel(matrix, x).warnings == flags, (i, j, special)
        np.testing.assert_array_equal(x, expected)


def kernel_text_of(module: Module) -> str:
    return module.file.source[module.file.source.index("\nint32_t weft_kernel") :]


DOT = """\
weft-ir 1
program dot
slot param 0: array float64 rank 1 layout C
slot param 1: array float64 rank 1 layout C
warning "multiply" line 1
warning "add" line 2
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
array A: f8[%n.1] argument slot 0 C
array B: f8[%m.2] argument slot 1 C
{
  for %i.3: py_int in 0:%n.1 carry (%s.4: f8 = 0.0:f8) {
    tasklet {
      %a.5: f8 = A[%i.3]
      %b.6: f8 = B[%i.3]
      %p.7: f8 = multiply(%a.5, %b.6) warn 0
      %q.8: f8 = add(%s.4, %p.7) warn 1
    }
    continue %q.8
  }
  return %s.4
}
"""


def test_a_loop_that_writes_nothing_runs_a_second_time() -> None:
    kernel = load(program(DOT))
    assert "__attribute__((cold))" in kernel.file.source
    for first, second, flags in (
        (1.0, 1.0, {0: 0, 1: 0}), (1e200, 1e200, {0: OVERFLOW, 1: 0}), (1e308, 1.0, {0: 0, 1: OVERFLOW}),
        (np.inf, 0.0, {0: INVALID, 1: 0}), (np.nan, 0.0, {0: 0, 1: 0}),
    ):  # fmt: skip
        a, b = np.ones(50), np.ones(50)
        a[20:22], b[20:22] = first, second
        outcome = kernel(a, b)
        assert outcome.warnings == flags
        with np.errstate(all="ignore"):
            np.testing.assert_equal(outcome.value, np.float64(np.add.accumulate(a * b)[-1]))


# ---- complex numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [DType.COMPLEX64, DType.COMPLEX128], ids=lambda dtype: dtype.text)
@pytest.mark.parametrize("in_place", [False, True])
def test_each_part_of_a_complex_number_warns(dtype: DType, in_place: bool) -> None:
    build, type_ = Build(), ScalarType(dtype)
    build.array("a", dtype, 1, written=in_place)
    build.array("b", dtype, 1)
    r = build.array("r", dtype, 1, written=True)
    i, u, v = build.value("i"), build.value("u", type_), build.value("v", type_)
    names = ("add", "subtract", "multiply")
    results = [build.value(name, type_) for name in names]
    lets = [Let(x, op(n, (u, v), type_), build.warn(n)) for x, n in zip(results, names, strict=True)]
    total, last = build.value("total", type_), build.value("last", type_)
    lets.append(Let(total, op("add", results[:2], type_), build.warn("add")))
    lets.append(Let(last, op("add", (total, results[2]), type_), build.warn("add")))
    tasklet = Tasklet(
        reads=((u, Memlet("a", point(i))), (v, Memlet("b", point(i)))),
        lets=tuple(lets),
        writes=((Memlet("a" if in_place else "r", point(i)), last),),
    )
    node = Map(params=(i,), ranges=((const_index(0), r.shape[0]),), body=Region((tasklet,)))
    kernel = load(build.program(node, give(Pack(()))))
    large = float(np.finfo(dtype.value).max)
    parts = [1.0, -large, np.inf, -np.inf, np.nan]
    numbers = [complex(x, y) for x in parts for y in parts]
    for first in numbers:
        for second in numbers[::2]:
            a, b = np.ones(3, dtype.value), np.ones(3, dtype.value)
            a[1], b[1] = first, second
            flags = {number: numpy_flags(getattr(np, name), a, b) for number, name in enumerate(names)}
            with np.errstate(all="ignore"):
                flags[3] = numpy_flags(np.add, a + b, a - b)
                flags[4] = numpy_flags(np.add, (a + b) + (a - b), a * b)
            assert kernel(a, b, np.empty(3, dtype.value)).warnings == flags, (first, second)


# ---- any nest -------------------------------------------------------------------------------------------------------

BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
UNARY = ("sqrt", "square", "negative", "absolute", "reciprocal", "exp", "log")
NUMBERS = (0.0, -0.0, 1.0, -2.5, 1e200, -1e308, 1e308, 1e-200, np.inf, -np.inf, np.nan)


@dataclass
class RandomNest:
    """A map whose tasklets compute random expressions in place or from one array to another, one site per operation."""

    random: random.Random
    build: Build = field(default_factory=Build)
    steps: list[tuple[str, int, tuple[int, ...]]] = field(default_factory=list[tuple[str, int, tuple[int, ...]]])

    def program(self, number: int) -> Program:
        build, rng = self.build, self.random
        build.name = f"nest_{number}"
        build.array("a", DType.FLOAT64, 1, written=True)
        build.array("b", DType.FLOAT64, 1)
        r = build.array("r", DType.FLOAT64, 1, written=True)
        i = build.value("i")
        values = [build.value("u", F8), build.value("v", F8)]
        lets = [self.let(values) for _ in range(rng.randint(2, 6))]
        self.target = rng.choice("ar")
        self.shift = rng.choice((0, 1)) if self.target == "r" else 0
        reads = ((values[0], Memlet("a", point(i))), (values[1], Memlet("b", (point(i)[0] + self.shift,))))
        tasklet = Tasklet(reads=reads, lets=tuple(lets), writes=((Memlet(self.target, point(i)), values[-1]),))
        schedule = rng.choice(list(Schedule))
        ranges = ((const_index(0), r.shape[0] - self.shift),)
        node: Node = Map(params=(i,), ranges=ranges, body=Region((tasklet,)), schedule=schedule)
        return build.program(node, give(Pack(())))

    def let(self, values: list[Value]) -> Let:
        rng = self.random
        kind = rng.choice(("binary", "binary", "unary", "select"))
        pick = lambda: rng.randrange(len(values))  # noqa: E731
        if kind == "select":
            chosen = (pick(), pick(), pick(), pick())
            x, y, p, q = (values[number] for number in chosen)
            expr = op("select", (op("less", (x, y), NP_BOOL), p, q), F8)
            site, name = -1, "select"
        else:
            name = rng.choice(BINARY if kind == "binary" else UNARY)
            chosen = (pick(), len(values) - 1) if kind == "binary" else (len(values) - 1,)
            expr = op(name, [values[number] for number in chosen], F8)
            site = self.build.warn(name)
        self.steps.append((name, site, chosen))
        values.append(self.build.value("x", F8))
        return Let(values[-1], expr, site)

    def expected(self, a: Any, b: Any, r: Any) -> dict[int, int]:
        size = r.size - self.shift
        values = [a[:size], b[self.shift : self.shift + size]]
        flags: dict[int, int] = {}
        with np.errstate(all="ignore"):
            for name, site, chosen in self.steps:
                given = [values[number] for number in chosen]
                if name == "select":
                    values.append(np.where(given[0] < given[1], given[2], given[3]))
                    continue
                flags[site] = numpy_flags(numpy_function(name), *given)
                values.append(numpy_function(name)(*given))
        (a if self.target == "a" else r)[:size] = values[-1]
        return flags


def random_arrays(rng: np.random.Generator, size: int, specials: Sequence[float]) -> list[Any]:
    arrays = [rng.random(size) + 0.5 for _ in range(3)]
    for array in arrays[:2]:
        for place in rng.integers(0, size, 2):
            array[place] = rng.choice(specials)
    return arrays


def test_random_nests_warn_as_numpy_does() -> None:
    nests = [RandomNest(random.Random(seed)) for seed in range(40)]
    kernel = load([each.program(number) for number, each in enumerate(nests)], "-O2", "-ftree-vectorize")
    rng = np.random.default_rng(7)
    for number, each in enumerate(nests):
        for _ in range(12):
            arrays = random_arrays(rng, 700, NUMBERS)
            ours = [array.copy() for array in arrays]
            flags = each.expected(*arrays)
            assert kernel(*ours, number=number).warnings == flags, (number, each.steps)
            for mine, numpy in zip(ours, arrays, strict=True):
                if not any(name in ("exp", "log") for name, _, _ in each.steps):  # whose last bits are their own
                    np.testing.assert_array_equal(mine, numpy)


def test_a_cast_there_and_back_goes_through_the_integer() -> None:
    """The compiler would make it a truncation: -0.0 for -0.5, and 1e300 for what no integer can hold."""

    def there_and_back(build: Build, u: Value, v: Value) -> tuple[list[Let], Expr]:
        whole = build.value("whole", ScalarType(DType.INT32))
        back = build.value("back", F8)
        lets = [
            Let(whole, op("cast", (u,), whole.type), build.warn("cast")),
            Let(back, op("add", (op("cast", (whole,), F8), v), F8), build.warn("add")),
        ]
        return lets, back

    kernel = nest(there_and_back, Schedule.SEQUENTIAL)
    a = np.concatenate([[-0.5, 0.5, 1e300, -7.9], np.full(60, 2.5)])
    b, r = np.full(64, -0.0), np.empty(64)
    assert kernel(a, b, r).warnings == {0: INVALID, 1: 0}
    with np.errstate(all="ignore"):
        expected = a.astype("i4").astype("f8") + b
    np.testing.assert_array_equal(r.view("i8"), expected.view("i8"))
