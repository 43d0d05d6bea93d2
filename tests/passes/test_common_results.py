"""Results that are asked for twice: computed once where nothing has changed, with NumPy's results and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.graphs import SITE, assert_same_outcomes, changed, graph
from tests.passes.loops import body_text
from weft.passes.common_results import CommonResults


def standard(a, b):
    return (a - a.mean()) / a.std()


def standard_columns(a, b):
    mean = a.mean(axis=0)
    return (a - mean) / (a.std(axis=0) + 1), a.sum(axis=0)


def two_histograms(a, b):
    flat = a.ravel()
    return np.histogram(flat, 5)[0], np.histogram(flat, 5, weights=b.ravel())[0]


def products(a, b):
    return a @ b.T + 1, (a @ b.T) * 2


def running(a, b):
    return np.cumsum(a, axis=0), np.cumsum(a, axis=0) + b


def both_are_returned(a, b):
    first, second = a.sum(axis=0), a.sum(axis=0)
    return first, second


def one_is_changed(a, b):
    first, second = a.sum(axis=0), a.sum(axis=0)
    first += 1
    return first, second, a.sum(axis=0)


def in_every_turn(a, b):
    found = np.zeros((a.shape[0], 2))
    for i in range(a.shape[0]):
        found[i, 0] = a[i].max() - a[i].min()
        found[i, 1] = a[i].max() + 1
    return found


def other_array_is_written(a, b):
    first = a.max()
    b[0] = 7
    return first, a.max()


def written_between(a, b):
    first = a.max()
    a[0] = 99
    return first, a.max()


def part_of_it_is_written(a, b):
    first = a[1:].sum(axis=0)
    a[:1] = 99
    return first, a[1:].sum(axis=0)


def written_through_a_view(a, b):
    view = a[::-1]
    first = a.min()
    view[0] = 0
    return first, a.min()


def written_in_a_loop(a, b):
    first = a.sum()
    for i in range(a.shape[0]):
        a[i] *= 2
    return first, a.sum()


def another_axis(a, b):
    return a.sum(axis=0), a.sum(axis=1)


def another_kind(a, b):
    return a.sum(), a.sum(dtype=np.float32)


def in_one_branch(a, b):
    total = 0.0
    if b[0, 0] > 0:
        total = a.sum()
    return total, a.sum()


SHARED = [
    standard, standard_columns, two_histograms, products, running, both_are_returned, one_is_changed, in_every_turn,
]  # fmt: skip
MAYBE = [other_array_is_written, part_of_it_is_written]  # as far as arguments can be told apart
APART = [written_between, written_through_a_view, written_in_a_loop, another_axis, another_kind, in_one_branch]


def numbers(shape: Any, dtype: Any, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).normal(size=shape) * 9).astype(dtype)


def shares(function: Callable[..., Any], *arguments: Any) -> bool:
    program = weft.program(function, fallback="error")
    program(*arguments)
    before, after = (program.inspect_graph(stage) for stage in ("array", "common-results"))
    return any(before.count(f"  {word} ") > after.count(f"  {word} ") for word in ("reduce", "scan", "matmul"))


@pytest.mark.parametrize("function", SHARED, ids=lambda f: f.__name__)
def test_what_is_shared(function: Callable[..., Any]) -> None:
    assert shares(function, numbers((6, 5), float), numbers((6, 5), float, 1))


@pytest.mark.parametrize("function", APART, ids=lambda f: f.__name__)
def test_what_is_not(function: Callable[..., Any]) -> None:
    assert not shares(function, numbers((6, 5), float), numbers((6, 5), float, 1))


@pytest.mark.parametrize("function", SHARED + MAYBE + APART, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "dtype",
    [
        "float64",
        pytest.param("float32", marks=pytest.mark.slow),
        pytest.param("int64", marks=pytest.mark.slow),
        "uint8",
    ],
)
@PLAINLY
def test_results_of_numpy(function: Callable[..., Any], dtype: str) -> None:
    program = weft.program(function)
    for shape in ((6, 5), (1, 1), (300, 70)):
        a, b = numbers(shape, dtype), numbers(shape, dtype, 1)
        for x, y in ((a, b), (a, a), (a, a[::-1]), (a[:, ::-1], b)):
            compare(program, function, x, y)


def compare(program: Any, function: Callable[..., Any], a: Any, b: Any) -> None:
    ours, theirs = together(a, b), together(a, b)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = program(*ours), function(*theirs)
    found, expected = (x if isinstance(x, tuple) else (x,) for x in (found, expected))
    for mine, numpy in zip((*found, *ours), (*expected, *theirs), strict=True):
        dtype = np.asarray(numpy).dtype
        assert np.asarray(mine).dtype == dtype
        tolerance = 1e-4 if dtype == np.float32 else 1e-10
        np.testing.assert_allclose(mine, numpy, rtol=tolerance, atol=tolerance * float(np.max(np.abs(numpy))))
    arrays = [x for x in found if isinstance(x, np.ndarray)]
    assert not any(np.shares_memory(x, y) for n, x in enumerate(arrays) for y in arrays[:n])


def together(a: Any, b: Any) -> tuple[Any, Any]:
    """Copies that share memory as the originals do."""
    if not np.shares_memory(a, b):
        return a.copy(), b.copy()
    copied = a.copy()
    return copied, copied if a is b else copied[::-1]


def two_lines(a):
    first = a.sum()
    return first + a.sum()


def test_each_line_warns_for_itself() -> None:
    a = np.array([1e308, 1e308, -1.0])
    lines = []
    for function in (two_lines, weft.program(two_lines)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert function(a) == np.inf
        lines.append([str(warning.message) for warning in caught])
    assert lines[0] == lines[1]
    assert len(lines[0]) == 2


def test_the_second_of_two(golden: Golden) -> None:
    before = graph(
        f"""
        {SITE}
        alloc l site 0
        reduce add l[] = A[:] axes (0) initial 0.0:f8 warn 0
        %low.10: f8 = l[]
        alloc h site 0
        reduce add h[] = A[:] axes (0) initial 0.0:f8 warn 0
        %high.13: f8 = h[]
        return tuple(%low.10, %high.13)
        """,
        "array l: f8[] transient C",
        "array h: f8[] transient C",
    )
    made, session = changed(CommonResults(), before)
    assert [record.text for record in session.records][:1] == ["the same was computed before"]
    assert body_text(made) == golden
    assert_same_outcomes(before, made)
