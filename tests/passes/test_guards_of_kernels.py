"""The kernels of the benchmark: no guard is left in their loops, but for the numbers of one."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import Any

import numpy as np
import pytest

from tests.kernels.forms import USUAL
from weft.driver.compiler import lower
from weft.ir.nodes import Guard, Loop, While
from weft.ir.traverse import all_nodes
from weft.ir.verifier import verify
from weft.passes.base import Session
from weft.passes.hoist_guards import HoistGuards
from weft.passes.simplify import Simplify
from weft_bench.kernels import KERNELS

TOO_LARGE, SHAPES, INNER = "int too large for int64", "shapes do not match", "matmul: the inner extents differ"
LEFT = {
    "crc16": {TOO_LARGE: 2},  # whether a number shifted in each turn still fits depends on the number
    # Only what holds in every turn of a `for` is taken out of it, and not out of a `while` at all.
    "channel_flow": {
        "slice is empty or reversed": 4, SHAPES: 6, "integer too large": 1, "integer too small": 1,
        "result too large for a float": 6, TOO_LARGE: 1, "np.roll: the axis is shorter than twice the shift": 4,
    },
    # The number of frequencies depends on the energy, and neighbours are numbers in an array.
    "self_energies": {"integer too large": 1, "integer too small": 1, "index out of bounds": 10, INNER: 2},
    # Every stage has arrays of other shapes.
    "stockham_fft": {
        "division by zero": 2, TOO_LARGE: 2, "integer too large": 1, "integer too small": 1,
        "negative dimensions are not allowed": 3, "array is too big to reshape": 3,
        "cannot reshape array: sizes differ": 2,
    },
    # How many points a mask leaves is known in its turn.
    "azimuthal_masks": {"mean of an empty slice": 1},
    "mandelbrot_shrinking": {SHAPES: 1, "index out of bounds": 2, "boolean index did not match indexed array": 1},
    # So are the ends of a row and its columns, which are numbers in arrays.
    "sparse_product": {
        "index out of bounds": 1, "integer too large": 4, "integer too small": 4, INNER: 1,
    },
}  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_guards_stand_in_front_of_loops(kernel: Any) -> None:
    inputs = kernel.make_inputs(USUAL[kernel.name], np.dtype(kernel.dtypes[0]), np.random.default_rng(3))
    arguments = tuple(inputs[name] for name in inspect.signature(kernel.function).parameters)
    program, session = lower(kernel.function, arguments).program, Session()
    for step in (Simplify(loop_sites=True), HoistGuards(), Simplify()):
        program = step.run(program, session)
        verify(program)

    loops = [node for node in program.body.nodes if isinstance(node, Loop | While)]
    left = Counter(inner.reason for loop in loops for inner in all_nodes(loop.body) if isinstance(inner, Guard))
    assert left == LEFT.get(kernel.name, {})
