"""Reshapes that are views for some strides and copies for others: a copy serves as long as nobody can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.outcome import assert_same, run

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "repeated": lambda a: np.broadcast_to(a[:1], a.shape).copy(),
}


def read_only(a):
    flat = a.reshape(-1, a.shape[-1])
    return (flat * 2.0).sum(axis=0)


def transposed(a):
    return a.T.reshape(a.size).cumsum()


def raveled(a):
    return np.ravel(a.T) + 1.0


def of_a_temporary(a):
    return np.reshape(np.transpose(a * 2.0), (a.size,))


def with_an_axis_of_one(a):
    y = a.reshape(1, a.shape[0], a.shape[1])
    total = 0.0
    for _ in range(2):
        y = np.swapaxes(y * 2.0, 0, 1).reshape(1, a.shape[0], a.shape[1])
        total += y[0, -1, 0]
    return y, total


def in_a_helper(a):
    def rows(x, n):
        return x.reshape(-1, n)

    return rows(a, a.shape[1]).sum() + rows(a.T, a.shape[0]).max()


COPIED = [read_only, transposed, raveled, of_a_temporary, with_an_axis_of_one, in_a_helper]


def the_copy_is_written(a):
    flat = a.T.reshape(a.size)
    flat += 1.0
    return flat.sum() + a[0, 0]


def the_array_is_written(a):
    flat = a.T.reshape(a.size)
    a[0, 0] = 17.0
    return flat[0] + flat.sum()


def written_in_a_later_turn(a):
    flat = a.T.reshape(a.size)
    total = 0.0
    for k in range(3):
        total += flat[0]
        a[0, 0] += k
    return total


def written_in_the_turn_before(a):
    flat = np.zeros(a.size)
    for _ in range(3):
        flat[0] = 5.0
        flat = a.T.reshape(a.size)
    return flat, a


def returned(a):
    return a.T.reshape(a.size)


def returned_beside(a):
    b = a * 2.0
    return b, b.T.reshape(b.size)


def kept_in_a_list(a):
    parts = []
    for _ in range(2):
        parts.append(a.T.reshape(a.size))
    a[0, 0] = 3.0
    return parts[0][0] + parts[1].sum()


def written_by_another_name(a):
    b = a * 1.0
    view = b[1:]
    flat = b.T.reshape(b.size)
    view[0, 0] = 9.0
    return flat, flat.sum()


def written_under_another_shape(a):
    b = a * 1.0
    line = b.reshape(b.size)
    flat = b.T.reshape(b.size)
    line[0] = 9.0
    return flat.sum()


def given_to_python(a):
    b = a * 1.0
    flat = b.T.reshape(b.size)
    print(end="")
    flat[0] = 4.0
    return b.sum(), flat.sum()


def left_in_the_middle(a):
    flat = a.T.reshape(a.size)
    total = 0.0
    for k in range(a.size + 1):
        total += flat[k]
    return total


SEEN = [
    the_copy_is_written, the_array_is_written, written_in_a_later_turn, written_in_the_turn_before, returned,
    returned_beside, kept_in_a_list, written_by_another_name, written_under_another_shape, given_to_python,
    left_in_the_middle,
]  # fmt: skip


def check(program: Any, function: Callable[..., Any], layout: Callable[[Any], Any], shape: tuple[int, int]) -> None:
    arguments = [layout(np.arange(1.0, 1.0 + shape[0] * shape[1]).reshape(shape)) for _ in range(2)]
    ours, expected = run(program, [arguments[0]]), run(function, [arguments[1]])
    assert type(ours.error) is type(expected.error)
    assert_same(ours.result, expected.result, where="result")
    assert_same(ours.arguments, expected.arguments, where="arguments")
    if expected.error is None:
        result = expected.result if isinstance(expected.result, tuple) else (expected.result,)
        found = ours.result if isinstance(ours.result, tuple) else (ours.result,)
        for one, other in zip(found, result, strict=True):
            if isinstance(other, np.ndarray):
                shares = (np.shares_memory(x, y) for x, y in ((one, arguments[0]), (other, arguments[1])))
                assert len(set(shares)) == 1


@PLAINLY
@pytest.mark.filterwarnings("ignore::weft.FallbackWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", [*COPIED, *SEEN])
def test_as_in_numpy(function: Callable[..., Any], layout: str) -> None:
    program = weft.program(function)
    for shape in ((3, 4), (1, 4), (3, 1), (1, 1), (4, 4)):
        check(program, function, LAYOUTS[layout], shape)


@PLAINLY
@pytest.mark.parametrize(
    ("function", "layout"),
    [(f, layout) for f in COPIED for layout in LAYOUTS if f is not with_an_axis_of_one or layout != "Fortran"],
)
def test_compiled_without_a_guard(function: Callable[..., Any], layout: str) -> None:
    program = weft.program(function, fallback="error")
    for shape in ((3, 4), (1, 4), (3, 1)):
        check(program, function, LAYOUTS[layout], shape)
    assert program.stats.resumes == 0
