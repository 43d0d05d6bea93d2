"""`weft.prange` and `weft.map`: loops that are granted say nothing, the others say once what is in the way."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same_outcome, run
from tests.end_to_end.processes import run_script
from weft.driver.compiler import generate
from weft.ir.nodes import Loop, Map, Reduce
from weft.ir.traverse import all_nodes


def f8(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).integers(-9, 10, shape).astype(np.float64)


# ---- granted --------------------------------------------------------------------------------------------------------


def double(a, b):
    for i in weft.prange(len(a)):
        b[i] = a[i] * 2


def steps(a, b):
    for i in weft.prange(len(a) - 1, -1, -3):
        b[i] = a[i] + i


def total(a, b):
    s = 0.0
    for i in weft.prange(len(a)):
        s += a[i]
    return s


def several(a, b):
    s, m = 0.0, -np.inf
    for i in weft.prange(len(a)):
        b[i] = a[i] + 1
        s += a[i] * a[i]
        m = max(m, a[i])
    return s, m


def skipping(a, b):
    for i in weft.prange(len(a)):
        if a[i] > 0:
            a[i] = -a[i]


def box(A, B):
    n, m = A.shape
    for i, j in weft.map[0:n, 0:m]:
        B[i, j] = A[i, j] + 2 * i - j


def inner_box(A, B):
    n, m = A.shape
    for i, j in weft.map[1 : n - 1, 1 : m - 1]:
        B[i, j] = A[i - 1, j] + A[i + 1, j] - A[i, j - 1] - A[i, j + 1]


def rows(A, B):
    for i in weft.prange(A.shape[0]):
        for j in range(1, A.shape[1]):
            A[i, j] += A[i, j - 1]


GRANTED = [
    (double, (f8(9), f8(9))), (steps, (f8(10), f8(10))), (total, (f8(9), f8(9))), (several, (f8(9), f8(9))),
    (skipping, (f8(9), f8(9))), (box, (f8(3, 4), f8(3, 4))), (inner_box, (f8(5, 6), f8(5, 6))),
    (rows, (f8(3, 4), f8(3, 4))),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments"), GRANTED, ids=lambda x: getattr(x, "__name__", ""))
def test_a_wish_that_is_granted_says_nothing(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    def make() -> tuple[Any, ...]:
        return tuple(argument.copy() for argument in arguments)

    program = weft.program(function, fallback="error")
    outcome = run(program, make())
    assert_same_outcome(outcome, run(function, make()))
    assert not outcome.own_warnings
    assert program.stats.resumes == 0
    nodes = list(all_nodes(generate(program.py_func, make()).stages[-1].program.body))
    assert not [node for node in nodes if isinstance(node, Loop) and node.wish]
    assert [node for node in nodes if isinstance(node, Map | Reduce)]


# ---- not granted ----------------------------------------------------------------------------------------------------


def neighbour(a, b):
    for i in weft.prange(1, len(a)):
        a[i] = a[i - 1] + b[i]


def running(a, b):
    s = 0.0
    for i in weft.prange(len(a)):
        s += a[i]
        b[i] = s
    return s


def alternating(a, b):
    s = np.float64(0)
    for i in weft.prange(len(a)):
        s = a[i] - s
    return s


def scatter(a, k):
    for i in weft.prange(len(k)):
        a[k[i]] += i


def stops(a, b):
    for i in weft.prange(len(a)):
        if a[i] > 100:
            break
        b[i] = a[i]


def wavefront(A, B):
    n, m = A.shape
    for i, j in weft.map[1:n, 1:m]:
        A[i, j] = A[i - 1, j] + A[i, j - 1] + B[i, j]


NOT_GRANTED = [
    (neighbour, (f8(9), f8(9)), 1, "the prange loop over i runs serially: "
     "a[i] written at line 2 may be a[i - 1] read at line 2 in a later iteration"),
    (running, (f8(9), f8(9)), 2, "the prange loop over i runs serially: "
     "s is carried from one iteration to the next at line 3"),
    (alternating, (f8(9), f8(9)), 2, "the prange loop over i runs serially: "
     "s is carried from one iteration to the next at line 3"),
    (scatter, (f8(9), np.array([1, 2, 1, 8, -1])), 1, None),
    (stops, (f8(9), f8(9)), 1, "the prange loop over i runs serially: it may break at line 2"),
    (wavefront, (f8(4, 5), f8(4, 5)), 2, "the map loop over i runs serially: "
     "A[i, j] written at line 3 may be A[i - 1, j] read at line 3 in a later iteration"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "arguments", "line", "text"), NOT_GRANTED, ids=lambda x: getattr(x, "__name__", "")
)
def test_a_wish_that_is_not_granted_says_why_once(
    function: Callable[..., Any], arguments: tuple[Any, ...], line: int, text: str | None
) -> None:
    def make() -> tuple[Any, ...]:
        return tuple(argument.copy() for argument in arguments)

    first = function.__code__.co_firstlineno
    program = weft.program(function, fallback="error")
    outcome = run(program, make())
    assert_same_outcome(outcome, run(function, make()))
    (warning,) = outcome.own_warnings
    assert warning.category is weft.PerformanceWarning
    assert (warning.filename, warning.lineno) == (function.__code__.co_filename, first + line)
    if text is not None:
        assert str(warning.message) == re.sub(r"(?<=line )\d+", lambda found: str(first + int(found[0])), text)
    assert not run(program, make()).own_warnings
    other = tuple(a.astype(np.float32) if a.dtype == np.float64 else a for a in make())
    assert not run(program, other).own_warnings  # another variant, the same place


SCRIPT = """\
import warnings
import numpy as np, weft

@weft.program
def f(a):
    for i in weft.prange(1, len(a)):
        a[i] = a[i - 1]

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    f(np.arange(4.0))
print(*[str(w.message) for w in seen], f.stats.cache_hits)
"""


def test_a_kernel_from_the_cache_says_so_too(tmp_path: Path) -> None:
    first, second = (run_script(tmp_path, SCRIPT) for _ in range(2))
    said = "the prange loop over i runs serially: "
    said += "a[i] written at line 7 may be a[i - 1] read at line 7 in a later iteration"
    assert first.split("\n")[0] == f"{said} 0"
    assert second.split("\n")[0] == f"{said} 1"


def test_as_an_error_it_is_raised_and_the_next_call_runs() -> None:
    program = weft.program(neighbour, fallback="error")
    a, b = f8(9), f8(9)
    with warnings.catch_warnings():
        warnings.simplefilter("error", weft.PerformanceWarning)
        with pytest.raises(weft.PerformanceWarning, match="runs serially"):
            program(a.copy(), b)
        program(a, b)
    expected = f8(9)
    neighbour(expected, b)
    np.testing.assert_array_equal(a, expected)
