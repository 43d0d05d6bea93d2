"""Linear algebra of small matrices, without Python where nothing is amiss and as in Python where something is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from weft.driver import compiler


def inverse(a, b):
    return np.linalg.inv(a)


def determinant(a, b):
    return np.linalg.det(a)


def solved(a, b):
    return np.linalg.solve(a, b)


def factor(a, b):
    return np.linalg.cholesky(a)


def filtered(a, b):
    total = np.zeros_like(a)
    for k in range(5):
        total += np.linalg.inv(a + k * np.eye(len(a))) * np.linalg.det(a)
    return total


FUNCTIONS = [inverse, determinant, solved, factor, filtered]


def numbers(n: int, dtype: Any = np.float64, columns: int = 0) -> tuple[Any, Any]:
    """A matrix that is positive and well conditioned, and what stands on the right."""
    random = np.random.default_rng(n)
    a = random.uniform(-1.0, 1.0, (n, n)) + (1j * random.uniform(-1.0, 1.0, (n, n)) if dtype == np.complex128 else 0)
    b = random.uniform(-1.0, 1.0, (n, columns) if columns else n)
    return (a @ a.conj().T + np.eye(n)).astype(dtype), b.astype(dtype)


def told(function: Callable[..., Any], *given: Any) -> Any:
    """The result, or what was raised, with the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*given)
        except np.linalg.LinAlgError as error:
            result = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return result, {str(item.message) for item in caught}


def assert_same(program: Callable[..., Any], function: Callable[..., Any], *given: Any) -> None:
    """Bit for bit: it is the same library with the same numbers."""
    (ours, warned), (theirs, expected) = told(program, *given), told(function, *given)
    assert type(ours) is type(theirs)
    assert warned == expected
    if isinstance(ours, str):
        assert ours == theirs
        return
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


@PLAINLY
@pytest.mark.parametrize("function", FUNCTIONS)
def test_same_bits(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    for n in (1, 2, 3, 4, 7, 40):
        for dtype in (np.float64, np.float32, np.complex128):
            assert_same(program, function, *numbers(n, dtype))
    assert program.stats.numpy_calls >= 18


@PLAINLY
def test_several_right_hand_sides() -> None:
    program = weft.program(solved)
    for n in (1, 2, 5):
        for columns in (1, 2, 9):
            assert_same(program, solved, *numbers(n, columns=columns))


@PLAINLY
@pytest.mark.parametrize("function", FUNCTIONS)
def test_views_of_any_strides(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    a, b = numbers(6)
    assert_same(program, function, a.T, b)
    assert_same(program, function, a[::-1, ::-1], b[::-1])
    assert_same(program, function, a[::2, ::2], b[::2])
    assert_same(program, function, np.asfortranarray(a), b)
    record = np.zeros((3, 3), np.dtype([("x", np.int8), ("y", np.float64)], align=True))
    record["y"] = a[:3, :3]
    assert_same(program, function, record["y"], b[:3])


@PLAINLY
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", ["singular", "negative", "nan", "infinite", "huge", "empty"])
def test_what_is_amiss_is_told_as_in_python(function: Callable[..., Any], kind: str) -> None:
    a, b = numbers(3)
    match kind:
        case "singular":
            a[:] = 1.0
        case "negative":
            a = -a
        case "nan":
            a[1, 1] = np.nan
        case "infinite":
            a[0] = np.inf
        case "huge":
            a *= 1e200
        case _:
            a, b = np.zeros((0, 0)), np.zeros(0)
    program = weft.program(function)
    assert_same(program, function, *numbers(3))
    assert_same(program, function, a, b)
    assert_same(program, function, *numbers(4))


def eigen(a, b):
    return np.linalg.eigh(a)


def eigenvalues(a, b):
    return np.linalg.eigvalsh(a, "L")


def logarithm(a, b):
    return np.linalg.slogdet(a)


def singular(a, b):
    return np.linalg.svd(a[..., 1:])


def singular_few(a, b):
    return np.linalg.svd(a[..., 1:], full_matrices=False)


def singular_values(a, b):
    return np.linalg.svd(a, compute_uv=False)


STACKED = [inverse, determinant, solved, factor, eigen, eigenvalues, logarithm, singular, singular_few, singular_values]


def stack(n: int, dtype: Any, *axes: int) -> Any:
    """Matrices that differ, positive and well conditioned."""
    count = int(np.prod(axes))
    made = np.zeros((count, n, n), dtype)
    for k in range(count):
        made[k] = numbers(n, dtype)[0] + k * np.eye(n)
    return made.reshape(*axes, n, n)


@PLAINLY
@pytest.mark.parametrize("function", STACKED)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_stacks_of_matrices(function: Callable[..., Any], threads: int) -> None:
    """Also of so many that threads share them."""
    for dtype in (np.float64, np.complex128):
        program = weft.program(function, threads=threads)
        for n, axes in ((1, (3,)), (3, (600,)), (9, (280,)), (30, (11,))):
            a = stack(n, dtype, *axes)
            b = np.arange(2.0 * n).reshape(n, 2).astype(dtype)
            assert_same_of_all(program, function, a, b)
            assert_same_of_all(program, function, a[::-1].swapaxes(-1, -2), np.broadcast_to(b, (*a.shape[:-2], n, 2)))
        assert program.stats.python_statements == 0


@PLAINLY
@pytest.mark.parametrize("function", STACKED)
def test_stacks_of_several_axes(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    for n, axes in ((2, (2, 3)), (9, (7, 40)), (30, (4, 3))):
        a = stack(n, np.float64, *axes)
        assert_same_of_all(program, function, a, a[:1])
        assert_same_of_all(program, function, a.swapaxes(0, 1)[::-1], a[0, 0, 0].copy())


@PLAINLY
@pytest.mark.parametrize("function", [inverse, determinant, solved, factor, eigen])
@pytest.mark.parametrize("place", [0, 1, 299])
@pytest.mark.parametrize("value", [0.0, np.nan, 1e300])
def test_one_matrix_of_a_stack_is_amiss(function: Callable[..., Any], place: int, value: float) -> None:
    program = weft.program(function)
    a = stack(9, np.float64, 300)
    program(a, a[0])
    a[place] = value
    assert_same_of_all(program, function, a, a[1 - place // 2])


@PLAINLY
def test_stacks_of_other_lengths() -> None:
    program = weft.program(solved)
    a = stack(3, np.float64, 4)
    for one, other in ((a, a), (a[:1], a), (a, a[:1]), (a[:0], a[:0]), (a[:0], a[:1])):
        assert_same_of_all(program, solved, one, other)
    with pytest.raises(ValueError, match="operands could not be broadcast"):
        program(a, a[:3])


def assert_same_of_all(program: Callable[..., Any], function: Callable[..., Any], *given: Any) -> None:
    """Bit for bit, each of several results."""
    (ours, warned), (theirs, expected) = told(program, *given), told(function, *given)
    assert type(ours) is type(theirs)
    assert warned == expected
    if isinstance(ours, str):
        assert ours == theirs
        return
    for one, other in zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]:
        assert type(one) is type(other)
        assert one.dtype == other.dtype
        assert one.strides == other.strides or not np.size(one)
        np.testing.assert_array_equal(one, other)


@PLAINLY
@pytest.mark.parametrize("function", [inverse, determinant, factor])
def test_other_shapes(function: Callable[..., Any]) -> None:
    program = weft.program(function)
    a, b = numbers(4)
    assert_same(program, function, a[:3], b)
    assert_same(program, function, np.stack([a, 2.0 * a]), b)
    assert_same(program, function, np.ones((2, 2), int) + np.eye(2, dtype=int), b)


def test_the_loop_is_called_first() -> None:
    text = compiler.generate(solved, numbers(3)).source
    kinds = "(const weft_operand[]){{8, 0, 2, {0, 0}}, {8, 0, 1, {0}}, {8, 0, 1, {0}}}"
    assert f"weft_core_call(ctx, ctx->library + 0, out, 2, {kinds}, 2, 3, 1.0)" in text
    assert "call_python" in text.partition("weft_core_call(ctx, ctx->library")[2]
