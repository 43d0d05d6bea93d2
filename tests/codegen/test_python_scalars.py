"""Python's own scalars: the same operations with Python's answers, and the tests for leaving int64."""

from __future__ import annotations

import functools
import operator
from typing import Any

import pytest

from tests.codegen.builders import Build, give
from tests.codegen.harness import Module, load
from weft.ir.dtypes import PY_BOOL, PY_COMPLEX, PY_FLOAT, PY_INT, ScalarType
from weft.ir.exprs import op
from weft.ir.nodes import Program

INTS = (0, 1, 2, 3, 7, 10, 63, 2**31, 2**53 + 1, 2**62, 2**63 - 1)
INTEGERS = (*INTS, *(-x for x in INTS), -(2**63))
FLOATS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    3.7,
    -7.25,
    1e300,
    -1e-300,
    5e-324,
    float("inf"),
    float("-inf"),
    float("nan"),
)
COMPLEX = (0j, 1 + 0j, 1 + 2j, -3.5 + 0.25j, 2 - 1j, 1e10 - 1e-10j)

PYTHON = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "power": operator.pow,
    "left_shift": operator.lshift, "right_shift": operator.rshift, "bitwise_and": operator.and_,
    "less": operator.lt, "equal": operator.eq,
}  # fmt: skip


def program(name: str, type_: ScalarType, result: ScalarType) -> Program:
    build = Build(f"{name}_{type_.text}")
    values = (build.scalar("a", type_), build.scalar("b", type_))
    return build.program(give(op(name, values, result)))


@functools.cache
def kernels(type_: ScalarType) -> tuple[Module, tuple[str, ...]]:
    names = tuple(PYTHON)
    if type_ is PY_FLOAT:
        names = tuple(n for n in names if "shift" not in n and not n.startswith("bitwise"))
    if type_ is PY_COMPLEX:
        names = ("add", "subtract", "multiply", "divide", "power", "equal")
    results = {"less": PY_BOOL, "equal": PY_BOOL, "divide": PY_FLOAT if type_ is PY_INT else type_}
    return load([program(name, type_, results.get(name, type_)) for name in names], "-O1"), names


def python_answer(name: str, a: Any, b: Any) -> Any:
    """None where guards keep the operation from being reached: it raises, is too large, or leaves its type."""
    if name == "power" and isinstance(a, int) and not (0 <= b <= 63):
        return None
    if name == "left_shift" and not 0 <= b <= 64:
        return None
    try:
        answer = PYTHON[name](a, b)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    if isinstance(answer, complex) and not isinstance(a, complex):
        return None
    return None if type(answer) is int and not -(2**63) <= answer < 2**63 else answer


@pytest.mark.parametrize(("type_", "values"), [(PY_INT, INTEGERS), (PY_FLOAT, FLOATS), (PY_COMPLEX, COMPLEX)])
def test_arithmetic_is_pythons(type_: ScalarType, values: tuple[Any, ...]) -> None:
    module, names = kernels(type_)
    for number, name in enumerate(names):
        for a in values:
            for b in values:
                expected = python_answer(name, a, b)
                if expected is None:
                    continue
                got = module(a, b, number=number).value
                if name == "power" and type_ is not PY_INT:
                    assert got == pytest.approx(expected, rel=1e-14, nan_ok=True), (name, a, b)
                else:
                    assert repr(got) == repr(expected), (name, a, b)


OVERFLOWS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "power": operator.pow,
    "left_shift": operator.lshift,
}


@functools.cache
def overflow_kernels() -> Module:
    return load([program(f"{name}_overflows", PY_INT, PY_BOOL) for name in OVERFLOWS], "-O1")


@pytest.mark.parametrize("name", OVERFLOWS)
def test_overflow_is_found(name: str) -> None:
    for a in INTEGERS:
        for b in INTEGERS:
            if name in ("power", "left_shift") and not 0 <= b <= 200:
                continue
            expected = not -(2**63) <= OVERFLOWS[name](a, b) < 2**63
            got = overflow_kernels()(a, b, number=list(OVERFLOWS).index(name)).value
            assert got == expected, (name, a, b)
