"""Warnings of reductions: of the combination and of what computes the elements, each at its own site."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.codegen.builders import Build, give, point
from tests.codegen.harness import Module, load
from tests.codegen.test_module import kernel_text
from tests.codegen.test_reductions import expect, result_type
from tests.conftest import Golden
from weft.ir.dtypes import NP_BOOL, DType, ScalarType
from weft.ir.exprs import Expr, Value, const, const_index, index, op
from weft.ir.nodes import Axis, Elements, Let, Map, Memlet, Pack, Program, Reduce, Region, Schedule, Tasklet, View

DIVIDE, OVERFLOW, INVALID = 1, 2, 8
F8 = ScalarType(DType.FLOAT64)
PARALLEL, SEQUENTIAL = Schedule.PARALLEL, Schedule.SEQUENTIAL


def warning_sum(
    compute: Callable[[Value, Value, Build], tuple[tuple[Let, ...], Expr]],
    name: str = "add",
    rank: int = 1,
    axes: tuple[int, ...] = (0,),
    schedule: Schedule = SEQUENTIAL,
    around: bool = False,
) -> Program:
    """Site 0 is the combination; `compute` takes more. `around`: inside a map of one point."""
    build = Build(name)
    a, b = build.array("a", DType.FLOAT64, rank), build.array("b", DType.FLOAT64, rank)
    r = build.array("r", result_type(name, DType.FLOAT64), rank - len(axes), written=True)
    site = build.warn(name)
    params = [build.value("ij"[axis]) for axis in range(rank)]
    u, v = build.value("u", F8), build.value("v", F8)
    lets, expr = compute(u, v, build)
    reads = ((u, Memlet("a", point(*params))), (v, Memlet(b.container, point(*params))))
    elements = Elements(tuple(params), a.shape, (Tasklet(reads=reads, lets=lets),), expr)
    initial = const(0.0, F8) if name == "add" else None
    node = Reduce(op=name, output=r, input=elements, axes=axes, initial=initial, schedule=schedule, warn=site)
    if around:
        one = build.value("once")
        inner = Map(params=(one,), ranges=((const_index(0), const_index(1)),), body=Region((node,)), warn=site)
        return build.program(inner, give(Pack(())))
    return build.program(node, give(Pack(())))


def products(u: Value, v: Value, build: Build) -> tuple[tuple[Let, ...], Expr]:
    p = build.value("p", F8)
    return (Let(p, op("multiply", (u, v), F8), build.warn("multiply")),), p


def logistic(u: Value, v: Value, build: Build) -> tuple[tuple[Let, ...], Expr]:
    """v / (1 + exp(u)): that exp(u) has overflowed does not show in the result."""
    e, s, q = (build.value(name, F8) for name in "esq")
    lets = (
        Let(e, op("exp", (u,), F8), build.warn("exp")),
        Let(s, op("add", (e, const(1.0, F8)), F8), build.warn("add")),
        Let(q, op("divide", (v, s), F8), build.warn("divide")),
    )
    return lets, q


def numpy_warnings(*steps: Callable[[], Any]) -> dict[int, int]:
    found: dict[int, int] = {}
    for site, step in enumerate(steps):
        flags = [0]
        with np.errstate(call=lambda _, flag, seen=flags: seen.append(flag), all="call", under="ignore"):
            step()
        found[site] = int(np.bitwise_or.reduce(flags))
    return found


NUMBERS = {
    "plain": (2.0, 3.0),
    "overflow": (1e200, 1e200),
    "invalid": (np.inf, 0.0),
    "nan": (np.nan, 1.0),
    "infinite": (np.inf, 1.0),
    "total": (1e154, 1.2e154),
}


@functools.cache
def warning_module(compute: Any, rank: int, axes: tuple[int, ...]) -> Module:
    return load([
        warning_sum(compute, "add", rank, axes, schedule, around)
        for schedule in (SEQUENTIAL, PARALLEL)
        for around in (False, True)
    ])  # fmt: skip


@pytest.mark.parametrize("case", NUMBERS)
@pytest.mark.parametrize(("shape", "axes"), [((300,), (0,)), ((60_000,), (0,)), ((4, 50), (0,)), ((300, 200), (1,))])
def test_sums_of_products_warn_where_numpy_does(shape: tuple[int, ...], axes: tuple[int, ...], case: str) -> None:
    a, b = np.ones(shape), np.ones(shape)
    a.flat[7], b.flat[7] = NUMBERS[case]
    if case == "total":
        a.flat[7::50], b.flat[7::50] = NUMBERS[case]
    with np.errstate(all="ignore"):
        values = a * b
        sums = values.sum(axes)
    expected = numpy_warnings(lambda: values.sum(axes), lambda: a * b)
    got = np.empty([extent for axis, extent in enumerate(shape) if axis not in axes])
    kernels = warning_module(products, len(shape), axes)
    for number in range(4):
        outcome = kernels(a, b, got, number=number, threads=2)
        assert outcome.warnings == expected, number
        np.testing.assert_allclose(got, sums, rtol=1e-13)


def test_what_does_not_reach_the_result_is_checked_where_it_happens() -> None:
    kernels = warning_module(logistic, 1, (0,))
    for size in (20, 50_000):
        a, b, got = np.zeros(size), np.ones(size), np.empty(())
        for number in range(4):
            assert kernels(a, b, got, number=number, threads=2).warnings == {0: 0, 1: 0, 2: 0, 3: 0}
        a[3] = 1000.0
        for number in range(4):
            assert kernels(a, b, got, number=number, threads=2).warnings == {0: 0, 1: OVERFLOW, 2: 0, 3: 0}
            np.testing.assert_allclose(got, (size - 1) / 2)
        a[4], b[4] = np.inf, np.inf
        for number in range(4):
            assert kernels(a, b, got, number=number, threads=2).warnings == {0: 0, 1: OVERFLOW, 2: 0, 3: INVALID}


def quotient(u: Value, v: Value, build: Build) -> tuple[tuple[Let, ...], Expr]:
    """u / v raises the flags of the processor."""
    q = build.value("q", F8)
    return (Let(q, op("divide", (u, v), F8), build.warn("divide")),), q


def power(u: Value, v: Value, build: Build) -> tuple[tuple[Let, ...], Expr]:
    """v * exp(u): the flags that a vectorized function raises mean nothing."""
    e, q = build.value("e", F8), build.value("q", F8)
    lets = (
        Let(e, op("exp", (u,), F8), build.warn("exp")),
        Let(q, op("multiply", (v, e), F8), build.warn("multiply")),
    )
    return lets, q


def choice(u: Value, v: Value, build: Build) -> tuple[tuple[Let, ...], Expr]:
    """where(u < v, u * v, u): the product is computed for all elements, whether it is taken or not."""
    p = build.value("p", F8)
    return (Let(p, op("multiply", (u, v), F8), build.warn("multiply")),), op(
        "select", (op("less", (u, v), NP_BOOL), p, u), F8
    )


# How elements are computed, by us and by NumPy; operands that warn, and of what: by site, from 1 on.
COMPUTED: dict[str, tuple[Any, Any, tuple[float, float], tuple[int, ...]]] = {
    "quotient": (quotient, lambda a, b: a / b, (1.0, 0.0), (DIVIDE,)),
    "power": (power, lambda a, b: b * np.exp(a), (1000.0, 0.0), (OVERFLOW, INVALID)),
    "choice": (choice, lambda a, b: np.where(a < b, a * b, a), (1e200, 1e180), (OVERFLOW,)),
}
SEARCHES = ["logical_or", "argmax", "maximum", "add"]
PLACES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((5000,), (0,)),
    ((50_000,), (0,)),
    ((3, 40), (1,)),
    ((40, 3), (0,)),
]


@functools.cache
def search_module(name: str) -> tuple[Module, list[tuple[str, tuple[int, ...], tuple[int, ...], Schedule]]]:
    cases = [
        (search, shape, axes, schedule)
        for search in SEARCHES
        for shape, axes in PLACES[1:]
        for schedule in ((SEQUENTIAL, PARALLEL) if len(shape) == 1 else (SEQUENTIAL,))
    ]
    return load([
        warning_sum(COMPUTED[name][0], search, len(shape), axes, schedule) for search, shape, axes, schedule in cases
    ]), cases  # fmt: skip


@pytest.mark.parametrize("name", COMPUTED)
def test_every_warning_is_seen_even_if_a_search_could_stop(name: str) -> None:
    kernels, cases = search_module(name)
    _, function, special, flags = COMPUTED[name]
    for number, (search, shape, axes, _) in enumerate(cases):
        for extents in (shape, PLACES[0][0]) if len(shape) == 1 else (shape,):
            a, b = np.full(extents, 0.5), np.ones(extents)
            kept = [extent for axis, extent in enumerate(extents) if axis not in axes]
            got = np.empty(kept, result_type(search, DType.FLOAT64).value)
            assert not any(kernels(a, b, got, number=number, threads=2).warnings.values()), (search, extents)
            a.flat[0] = np.nan if search != "logical_or" else 1.0
            a.flat[-3], b.flat[-3] = special
            with np.errstate(all="ignore"):
                expected = expect(search, function(a, b), axes, False)
            outcome = kernels(a, b, got, number=number, threads=2)
            np.testing.assert_allclose(got, expected, rtol=1e-14)
            assert outcome.warnings == dict(enumerate((0, *flags))), (search, extents)


def in_a_map(name: str, compute: Any, schedule: Schedule) -> Program:
    """map i: q[i] = 1 / s[i], then reduce row i of what comes of a and b. Sites: the reduction, its own, 1 / s."""
    build = Build(name)
    a, b = build.array("a", DType.FLOAT64, 2), build.array("b", DType.FLOAT64, 2)
    s, q = build.array("s", DType.FLOAT64, 1), build.array("q", DType.FLOAT64, 1, written=True)
    r = build.array("r", result_type(name, DType.FLOAT64), 1, written=True)
    reduced = build.warn(name)
    i, j, u, v, w = build.value("i"), build.value("j"), *(build.value(x, F8) for x in "uvw")
    lets, expr = compute(u, v, build)
    inverse = op("divide", (const(1.0, F8), w), F8)
    first = Tasklet(reads=((w, Memlet(s.container, point(i))),), writes=((Memlet(q.container, point(i)), inverse),))
    reads = ((u, Memlet("a", point(i, j))), (v, Memlet(b.container, point(i, j))))
    elements = Elements((j,), a.shape[1:], (Tasklet(reads=reads, lets=lets),), expr)
    one = View(r.container, (), (Axis(index(i)),))
    second = Reduce(op=name, output=one, input=elements, axes=(0,), initial=None, warn=reduced)
    body, ranges = Region((first, second)), ((const_index(0), r.shape[0]),)
    node = Map(params=(i,), ranges=ranges, body=body, schedule=schedule, warn=build.warn("1 / s"))
    return build.program(node, give(Pack(())))


@pytest.mark.parametrize("case", [("maximum", quotient), ("argmax", quotient), ("add", products), ("maximum", power)])
def test_a_reduction_in_a_map_leaves_the_flags_of_the_map_alone(case: tuple[str, Any]) -> None:
    name, compute = case
    kernels = load([in_a_map(name, compute, schedule) for schedule in (SEQUENTIAL, PARALLEL)])
    warning = {quotient: ((1.0, 0.0), DIVIDE), products: ((1e200, 1e200), OVERFLOW), power: ((1000.0, 1.0), OVERFLOW)}
    special, flag = warning[compute]
    for inside, outside in itertools.product((False, True), repeat=2):
        a, b, s = np.full((90, 400), 0.5), np.ones((90, 400)), np.ones(90)
        q, r = np.empty(90), np.empty(90, result_type(name, DType.FLOAT64).value)
        if inside:
            a[70, 300], b[70, 300] = special
        if outside:
            s[3] = 0.0
        last = len(kernels.file.infos[0].warn_sites) - 1
        for number in range(2):
            found = kernels(a, b, s, q, r, number=number, threads=2).warnings
            assert (found[0], found[1], found[last]) == (0, flag * inside, DIVIDE * outside)
            assert q[3] == (np.inf if outside else 1.0)


def test_the_largest_absolute_value_shows_what_overflowed() -> None:
    def distance(u: Value, v: Value, build: Build) -> tuple[tuple[Let, ...], Expr]:
        d, m = build.value("d", F8), build.value("m", F8)
        return (Let(d, op("subtract", (u, v), F8), build.warn("subtract")), Let(m, op("absolute", (d,), F8))), m

    program = warning_sum(distance, "maximum")
    kernel = load(program)
    a, b, got = np.ones(1000), np.ones(1000), np.empty(())
    assert kernel(a, b, got).warnings == {0: 0, 1: 0}
    a[500], b[500] = 1.7e308, -1.7e308
    assert kernel(a, b, got).warnings == {0: 0, 1: OVERFLOW}
    assert "weft_fp_clear" not in kernel.file.source


def test_a_result_may_be_an_element_that_it_reads() -> None:
    """a[0] = sum(a * a): everything is read before the result is written, the replay for warnings too."""
    build = Build()
    a = build.array("a", DType.FLOAT64, 1, written=True)
    i, u, p = build.value("i"), build.value("u", F8), build.value("p", F8)
    lets = (Let(p, op("multiply", (u, u), F8), build.warn("multiply")),)
    elements = Elements((i,), a.shape, (Tasklet(reads=((u, Memlet("a", point(i))),), lets=lets),), p)
    output = View("a", (), (Axis(const_index(0)),))
    node = Reduce(op="add", output=output, input=elements, axes=(0,), initial=const(0.0, F8), warn=build.warn("add"))
    kernel = load(build.program(node, give(Pack(()))))
    values = np.arange(1.0, 100.0)
    expected = (values * values).sum()
    assert kernel(values).warnings == {0: 0, 1: 0}
    assert values[0] == expected
    values = np.array([1e200, 1.0])
    assert kernel(values).warnings == {0: OVERFLOW, 1: 0}
    assert values[0] == np.inf


def test_the_text_of_a_sum_of_products(golden: Golden) -> None:
    assert kernel_text(warning_sum(products, "add", 2, (1,), PARALLEL)) == golden
