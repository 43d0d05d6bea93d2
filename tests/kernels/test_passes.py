"""The kernels with each pass left out in turn, and on one and two threads."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import weft
from tests.interp.test_stages import agree, copied, objects_of
from tests.kernels.forms import USUAL
from tests.selection import in_turn, title
from weft.driver.compiler import generate, run_steps
from weft.driver.options import PASSES
from weft.driver.pipelines import cpu_lowering, cpu_pipeline
from weft.interp import Returned, interpret
from weft.passes.base import Session
from weft_bench.kernel import Kernel
from weft_bench.kernels import BY_NAME, KERNELS

each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
PARTS = 12  # of the passes: a kernel with all of them takes ten seconds and more


def test_every_pass_of_the_pipeline_has_a_switch() -> None:
    needed = {step.name for step in cpu_lowering()}
    assert set(PASSES) == {step.name for step in cpu_pipeline()} - needed
    for name in PASSES:
        assert name not in {step.name for step in cpu_pipeline((name,))}


def test_an_unknown_pass_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a pass in `without` must be 'name-arrays' or .*, not 'speed-up'"):
        weft.program(without=("speed-up",))(lambda: 0)


@pytest.mark.parametrize(("kernel", "part"), in_turn(KERNELS, range(PARTS)), ids=title)
def test_each_pass_left_out(kernel: Kernel, part: int) -> None:
    inputs = kernel.make_inputs(USUAL[kernel.name], np.dtype(kernel.dtypes[-1]), np.random.default_rng(3))
    arguments = [inputs[name] for name in inspect.signature(kernel.function).parameters]
    expected = copied(arguments)
    result = kernel.function(*expected)
    start = generate(kernel.function, copied(arguments)).stages[0].program
    for seed, name in list(enumerate(PASSES))[part::PARTS]:
        program = run_steps(start, cpu_pipeline((name,)), Session())[-1].program
        mine = copied(arguments)
        outcome = interpret(program, objects_of(program, mine), seed=seed)
        assert isinstance(outcome, Returned), name
        agree([outcome.value, mine], [result, expected], 1e-11)


@each_kernel
def test_the_same_bits_on_one_and_two_threads(kernel: Kernel) -> None:
    """At a size that is worth threads; the adversarial programs cut even short loops into pieces."""
    given: list[list[Any]] = []
    for threads in (1, 2):
        program = weft.program(kernel.function, threads=threads, fallback="error")
        inputs = kernel.inputs("S")
        given.append([program(**inputs), *inputs.values()])
    for one, two in zip(*given, strict=True):
        assert_same_bits(one, two)


@pytest.mark.parametrize(("name", "results"), [("jacobi_2d", 0), ("clipping", 1), ("horizontal_diffusion", 1)])
def test_fusion_leaves_no_temporary_array(name: str, results: int) -> None:
    kernel = BY_NAME[name]
    program = weft.program(kernel.function, fallback="error")
    program(**kernel.inputs(USUAL[name]))
    assert program.stats.allocations == results


def assert_same_bits(left: Any, right: Any) -> None:
    if isinstance(left, tuple):
        for a, b in zip(left, right, strict=True):
            assert_same_bits(a, b)
    else:
        assert np.asarray(left).tobytes() == np.asarray(right).tobytes()
