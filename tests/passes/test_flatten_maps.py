"""Rows one behind the other are one row, and nothing else is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.conftest import Golden
from tests.passes.programs import after, body_text, meaning, program
from weft.ir.nodes import Map, Program, Reduce
from weft.ir.traverse import all_nodes
from weft.passes.flatten_maps import FlattenMaps

GUARDS = """\
  guard equal(%r.3, %n.1): b1 else site 0 "rows"
  guard equal(%c.4, %m.2): b1 else site 0 "columns"
"""
HEAD = """\
weft-ir 1
program sample
slot param 0: array float64 rank 2 layout C written
slot param 1: array float64 rank 2 layout C written
slot param 2: array float64 rank 1 layout C written
size %n.1: py_int in [0, 1000000]
size %m.2: py_int in [0, 1000000]
size %r.3: py_int in [0, 1000000]
size %c.4: py_int in [0, 1000000]
size %k.5: py_int in [0, 1000000]
array A: f8[%n.1, %m.2] argument slot 0 C written
array B: f8[%r.3, %c.4] argument slot 1 C written
array V: f8[%k.5] argument slot 2 C written
"""
OPENING = "  site 0 f0@() {A: slot 0, B: slot 1, V: slot 2}\n"


def nest(tasklet: str, ranges: str = "0:%n.1, 0:%m.2", guards: str = GUARDS) -> Program:
    lines = f"map (%i.20: py_int, %j.21: py_int) in [{ranges}] {{\n    tasklet {{\n{tasklet}\n    }}\n  }}"
    return program(f"{guards}  {lines}\n  return missing", head=HEAD, opening=OPENING)


def arrays() -> list[Any]:
    return [np.arange(20.0).reshape(4, 5), np.zeros((4, 5)), np.zeros(5)]


def params(given: Program) -> int:
    (only,) = [node for node in all_nodes(given.body) if isinstance(node, Map)]
    return len(only.params)


COPY = "%x.30: f8 = A[%i.20, %j.21]\nwrite B[%i.20, %j.21] = %x.30"
FLAT = [
    ("whole", COPY, "0:%n.1, 0:%m.2"),
    ("some rows", COPY, "2:%n.1 - 1, 0:%m.2"),
    ("another row", "%x.30: f8 = A[%i.20 - 1, %j.21]\nwrite B[%i.20, %j.21] = %x.30", "1:%n.1, 0:%m.2"),
    ("one number for all", "%x.30: f8 = A[0, 1]\nwrite B[%i.20, %j.21] = %x.30", "1:%n.1, 0:%m.2"),
]
KEPT = [
    ("part of a row", COPY, "0:%n.1, 0:%m.2 - 1"),
    ("not from the first", COPY, "0:%n.1, 1:%m.2"),
    ("shifted along the row", "%x.30: f8 = A[%i.20, %j.21 - 1]\nwrite B[%i.20, %j.21] = %x.30", "0:%n.1, 1:%m.2"),
    ("every other row", "%x.30: f8 = A[2 * %i.20, %j.21]\nwrite B[%i.20, %j.21] = %x.30", "0:3, 0:%m.2"),
    ("a column", "%x.30: f8 = A[%i.20, 0]\nwrite B[%i.20, %j.21] = %x.30", "0:%n.1, 0:%m.2"),
    ("a row for all", "%x.30: f8 = A[0, %j.21]\nwrite B[%i.20, %j.21] = %x.30", "0:%n.1, 0:%m.2"),
    ("a vector", "%x.30: f8 = V[%j.21]\nwrite B[%i.20, %j.21] = %x.30", "0:%n.1, 0:%m.2"),
    ("transposed", "%x.30: f8 = A[%j.21, %i.20]\nwrite B[%i.20, %j.21] = %x.30", "0:2, 0:2"),
    ("the diagonal", "%x.30: f8 = A[%i.20, %i.20]\nwrite B[%i.20, %j.21] = %x.30", "0:2, 0:%m.2"),
    ("as a number", "write B[%i.20, %j.21] = cast(%j.21): f8", "0:%n.1, 0:%m.2"),
]


@pytest.mark.parametrize(("tasklet", "ranges"), [case[1:] for case in FLAT], ids=[case[0] for case in FLAT])
def test_one_parameter(tasklet: str, ranges: str) -> None:
    before = nest(tasklet, ranges)
    made = after(FlattenMaps(), before)
    assert params(made) == 1
    for seed in range(3):
        for left, right in zip(meaning(before, arrays, seed), meaning(made, arrays, seed), strict=True):
            np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(("tasklet", "ranges"), [case[1:] for case in KEPT], ids=[case[0] for case in KEPT])
def test_two_parameters(tasklet: str, ranges: str) -> None:
    before = nest(tasklet, ranges)
    assert after(FlattenMaps(), before) is before


def test_rows_of_different_length_are_not_one() -> None:
    before = nest(COPY, guards='  guard equal(%r.3, %n.1): b1 else site 0 "rows"\n')
    assert after(FlattenMaps(), before) is before


def test_before_and_after(golden: Golden) -> None:
    assert body_text(after(FlattenMaps(), nest(*FLAT[2][1:]))) == golden


# ---- against NumPy --------------------------------------------------------------------------------------------------


def shade(image: Any, light: Any) -> Any:
    out = image * 0.5 + light
    out[1:] += image[:-1] * 0.25
    return out


def relax(a: Any, b: Any, turns: int) -> Any:
    for _ in range(turns):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3.0
        a, b = b, a
    return a


def in_place(a: Any) -> None:
    a[:-1] = a[1:] * 2.0


@PLAINLY
@pytest.mark.parametrize("shape", [(5, 4, 3), (1, 1, 1), (0, 4, 3), (5, 0, 3), (5, 4, 0), (7, 1, 3), (40, 50, 3)])
@pytest.mark.parametrize("order", ["C", "F", "reversed", "every other"])
def test_images(shape: tuple[int, ...], order: str) -> None:
    rng = np.random.default_rng(3)
    image, light = (rng.uniform(-1.0, 1.0, shape) for _ in range(2))
    if order == "F":
        image = np.asfortranarray(image)
    elif order == "reversed":
        image = image[::-1, :, ::-1]
    elif order == "every other":
        image = np.repeat(image, 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(weft.program(shade)(image, light), shade(image, light))
    compiled, plain = image.copy(order="K"), image.copy(order="K")
    if shape[0]:
        weft.program(in_place)(compiled)
        in_place(plain)
        np.testing.assert_array_equal(compiled, plain)


def differences(a: Any, b: Any) -> Any:
    apart = np.sum((np.tanh(a) - b) ** 2), np.max(np.abs(a - b)), np.argmin(a * b), (a * b).sum(axis=(1, 2))
    return *apart, np.sum(a * b, keepdims=True), (a > b).any(), (a * b).sum(axis=0), (a - b).max(axis=-1)


@PLAINLY
@pytest.mark.parametrize("shape", [(5, 4, 3), (1, 1, 1), (7, 1, 3), (40, 50, 3), (3, 2, 40)])
@pytest.mark.parametrize("order", ["C", "F", "reversed"])
def test_reductions(shape: tuple[int, ...], order: str) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.uniform(-1.0, 1.0, shape) for _ in range(2))
    b = np.asfortranarray(b) if order == "F" else b[::-1, :, ::-1] if order == "reversed" else b
    for ours, theirs in zip(weft.program(differences)(a, b), differences(a, b), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)


def test_reductions_of_nothing_and_of_other_shapes() -> None:
    def f(a: Any, b: Any) -> Any:
        return np.sum(a * b), np.sum(a - b, axis=(0, 1)), (a < b).all()

    program = weft.program(f)
    row, line = np.arange(3.0), np.arange(4.0)[:, None]
    for a, b in ((np.ones((4, 3)), np.ones((0, 3))[:0]), (np.ones((4, 3)), row), (line, row), (np.ones((0, 3)), row)):
        try:
            expected = f(a, b)
        except ValueError as problem:
            with pytest.raises(ValueError, match=str(problem)[:20]):
                program(a, b)
        else:
            assert program(a, b) == expected


def test_a_reduction_has_one_parameter() -> None:
    def f(a: Any, b: Any) -> Any:
        return np.sum((a - b) ** 2)

    graph = weft.program(f).to_graph(np.ones((6, 3)), np.ones((6, 3))).optimize()
    (only,) = [node for node in all_nodes(graph.program.body) if isinstance(node, Reduce)]
    assert only.axes == (0,)


def test_warnings_of_reductions_keep_their_place() -> None:
    def f(a: Any, b: Any) -> Any:
        return np.sum(np.sqrt(a / b))

    a, b = np.ones((6, 3)), np.ones((6, 3))
    b[4, 1], a[1, 1] = 0.0, -1.0
    with pytest.warns(RuntimeWarning) as ours:
        weft.program(f)(a, b)
    with pytest.warns(RuntimeWarning) as theirs:
        f(a, b)
    assert [str(warning.message) for warning in ours] == [str(warning.message) for warning in theirs]


@pytest.mark.parametrize("turns", [0, 1, 4])
def test_buffers_that_change_places(turns: int) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.uniform(size=(30, 3)) for _ in range(2))
    expected = relax(a.copy(), b.copy(), turns)
    np.testing.assert_array_equal(weft.program(relax)(a, b, turns), expected)


def test_warnings_keep_their_place() -> None:
    def f(a: Any, b: Any) -> Any:
        c = a / b
        return c * 2.0

    a, b = np.ones((6, 3)), np.ones((6, 3))
    b[4, 1] = 0.0
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
        result = weft.program(f)(a, b)
    assert np.isinf(result[4, 1])
    assert np.isfinite(result).sum() == 17
