"""The kernels at every stage: text form, interpreter and Python emission agree with NumPy."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tests.kernels.forms import USUAL
from tests.selection import one_of_each, title
from weft.codegen.python import emit_python
from weft.driver.compiler import generate
from weft.interp import Returned, interpret
from weft.ir.nodes import Program
from weft.ir.parser import parse_program
from weft.ir.printer import print_program
from weft.support.abi import SlotKind
from weft_bench.kernels import KERNELS

# One type of each kernel, the others by `make test-all`: passes look at the structure of a program.
CASES = one_of_each([(kernel, dtype) for dtype in kernel.dtypes] for kernel in KERNELS)


def copied(arguments: list[Any]) -> list[Any]:
    return [item.copy(order="K") if isinstance(item, np.ndarray) else item for item in arguments]


def objects_of(program: Program, arguments: list[Any]) -> list[Any]:
    """The objects of the slots; what comes from outside is known at compile time in these kernels."""
    return [arguments[slot.index] if slot.kind is SlotKind.PARAM else None for slot in program.slots]


def agree(left: Any, right: Any, rtol: float) -> None:
    if isinstance(right, tuple | list):
        assert len(left) == len(right)
        for a, b in zip(left, right, strict=True):
            agree(a, b, rtol)
    else:
        assert type(left) is type(right)
        if right is not None:
            np.testing.assert_allclose(left, right, rtol=rtol)


@pytest.mark.parametrize(("kernel", "dtype"), CASES, ids=title)
def test_every_stage_says_what_numpy_says(kernel: Any, dtype: str) -> None:
    inputs = kernel.make_inputs(USUAL[kernel.name], np.dtype(dtype), np.random.default_rng(3))
    arguments = [inputs[name] for name in inspect.signature(kernel.function).parameters]
    expected = copied(arguments)
    result = kernel.function(*expected)
    rtol = 1e-5 if dtype in ("float32", "complex64") else 1e-11

    before: Program | None = None
    for seed, stage in enumerate(generate(kernel.function, copied(arguments)).stages):
        program = stage.program
        if program is before:
            continue  # a pass with nothing to do
        before = program
        assert parse_program(print_program(program)) == program

        mine = copied(arguments)
        outcome = interpret(program, objects_of(program, mine), seed=seed)
        assert isinstance(outcome, Returned)
        agree([outcome.value, mine], [result, expected], rtol)

        namespace: dict[str, Any] = {}
        exec(emit_python(program), namespace)
        function = [item for item in namespace.values() if callable(item)][-1]
        theirs = copied(arguments)
        value = function(*objects_of(program, theirs))
        agree([value, theirs], [result, expected], rtol)
