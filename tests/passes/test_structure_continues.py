"""Early ends of iterations become branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.conftest import Golden
from tests.passes.loops import SIZES, assert_agrees, body_text, count, through, unguarded, vector
from weft.ir.nodes import Loop
from weft.passes.loop_reductions import LoopReductions
from weft.passes.loop_to_map import LoopToMap
from weft.passes.structure_continues import StructureContinues

STEPS = (StructureContinues(), LoopReductions(), LoopToMap())


def skipping(a, b):
    for i in range(len(a)):
        if a[i] < 0:
            continue
        if a[i] > 5:
            b[i] = 1
            continue
        b[i] = a[i]


def skipping_in_else(a, b):
    for i in range(len(a)):
        if a[i] > 0:
            t = a[i] * 2
        else:
            continue
        b[i] = t


def adding(a, b):
    s = np.float64(0)
    for i in range(len(a)):
        if a[i] < 0:
            continue
        s += a[i]
    return s


def always(a, b):
    for i in range(len(a)):
        if a[i] < 0:
            b[i] = 1
            continue
        b[i] = 2
        continue


@pytest.mark.parametrize("function", [skipping, skipping_in_else, adding, always], ids=lambda f: f.__name__)
def test_an_iteration_ends_at_its_end(function: Callable[..., Any]) -> None:
    made, _ = through(unguarded(function, (vector(9), vector(9, seed=1))), *STEPS)
    assert count(made, Loop) == 0
    for size in SIZES:
        assert_agrees(function, made, lambda size=size: (vector(size), vector(size, seed=1)))


def test_the_rest_is_the_other_side(golden: Golden) -> None:
    made, _ = through(unguarded(skipping_in_else, (vector(9), vector(9, seed=1))), StructureContinues())
    assert body_text(made) == golden


def inside_a_branch(a, b):
    for i in range(len(a)):
        if a[i] > 0:
            if a[i] > 5:
                continue
            b[i] = 1
        a[i] = 0


def test_inside_another_branch_it_stays() -> None:
    before = unguarded(inside_a_branch, (vector(9), vector(9, seed=1)))
    made, _ = through(before, StructureContinues())
    assert made is before
