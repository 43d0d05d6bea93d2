"""The kernels of the benchmark: no guard is left in their loops, but for the numbers of one."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tests.kernels.forms import READY, USUAL
from weft.driver.compiler import lower
from weft.ir.nodes import Guard, Loop, While
from weft.ir.traverse import all_nodes
from weft.ir.verifier import verify
from weft.passes.base import Session
from weft.passes.hoist_guards import HoistGuards
from weft.passes.simplify import Simplify

# Whether a number shifted in each turn still fits depends on the number.
LEFT = {"crc16": ["int too large for int64", "int too large for int64"]}


@pytest.mark.parametrize("kernel", READY, ids=lambda kernel: kernel.name)
def test_guards_stand_in_front_of_loops(kernel: Any) -> None:
    inputs = kernel.make_inputs(USUAL[kernel.name], np.dtype(kernel.dtypes[0]), np.random.default_rng(3))
    arguments = tuple(inputs[name] for name in inspect.signature(kernel.function).parameters)
    program, session = lower(kernel.function, arguments).program, Session()
    for step in (Simplify(loop_sites=True), HoistGuards(), Simplify()):
        program = step.run(program, session)
        verify(program)

    loops = [node for node in program.body.nodes if isinstance(node, Loop | While)]
    left = [inner.reason for loop in loops for inner in all_nodes(loop.body) if isinstance(inner, Guard)]
    assert left == LEFT.get(kernel.name, [])
