"""The second spelling of every kernel means what the first one means, and Weft gives its answer, not another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import run
from tests.kernels.forms import USUAL
from tests.kernels.test_forms import assert_agrees
from weft_bench.agreement import compare_outputs
from weft_bench.kernel import Kernel
from weft_bench.kernels import BY_NAME, KERNELS
from weft_bench.spellings import SPELLINGS

SPELT = [kernel for kernel in KERNELS if kernel.name in SPELLINGS]
each_spelling = pytest.mark.parametrize("kernel", SPELT, ids=lambda kernel: kernel.name)

# Where the kernel is exact and the spelling takes the sums in another order: the error allowed, in eps.
REORDERED = {"heat_3d": 8.0, "fdtd_2d": 8.0, "seidel_2d": 8.0, "horizontal_diffusion": 8.0}

# What Python runs today, so that no other spelling joins these unseen; strike out what is compiled.
IN_PYTHON = {
    "biconjugate_products",
    "cholesky",
    "clipping",
    "crc16",
    "durbin",
    "floyd_warshall",
    "heat_3d",
    "horizontal_diffusion",
    "mode_product",
    "nbody",
    "perceptron",
}


@pytest.mark.parametrize(("kernel", "dtype"), [pytest.param(k, d, id=f"{k.name}-{d}") for k in SPELT for d in k.dtypes])
def test_both_spellings_agree_in_numpy(kernel: Kernel, dtype: str) -> None:
    sizes = USUAL[kernel.name]
    mine, theirs = kernel.inputs(sizes, dtype), kernel.inputs(sizes, dtype)
    expected, actual = kernel.function(**theirs), SPELLINGS[kernel.name](**mine)
    tolerance = max(kernel.tolerance(sizes), REORDERED.get(kernel.name, 0.0))

    verdict = compare_outputs(kernel.collect(expected, theirs), kernel.collect(actual, mine), tolerance)

    assert verdict.ok, verdict.reason


@each_spelling
def test_arguments_that_are_no_output_stay_as_they_are(kernel: Kernel) -> None:
    sizes = USUAL[kernel.name]
    before, after = kernel.inputs(sizes), kernel.inputs(sizes)
    SPELLINGS[kernel.name](**after)

    for name in before.keys() - set(kernel.outputs):
        np.testing.assert_array_equal(after[name], before[name])


@each_spelling
def test_weft_gives_the_answer_of_numpy(kernel: Kernel) -> None:
    sizes, spelling = USUAL[kernel.name], SPELLINGS[kernel.name]
    program = weft.program(spelling)

    assert_agrees(replace(kernel, function=spelling), lambda: kernel.inputs(sizes), sizes, program)

    assert not program.stats.fallback_calls or kernel.name in IN_PYTHON


@pytest.mark.parametrize("name", sorted(IN_PYTHON))
def test_a_fallback_is_announced_or_refused(name: str) -> None:
    kernel, spelling = BY_NAME[name], SPELLINGS[name]
    program = weft.program(spelling)
    outcome = run(program, (), kernel.inputs(USUAL[name]))
    strict = run(weft.program(spelling, fallback="error"), (), kernel.inputs(USUAL[name]))

    assert bool(outcome.own_warnings) == bool(program.stats.fallback_calls) == isinstance(strict.error, weft.WeftError)


def test_a_pivot_that_is_not_positive_is_named() -> None:
    matrix = np.array([[4.0, 0.0], [2.0, 1.0]])
    for function in (SPELLINGS["cholesky"], weft.program(SPELLINGS["cholesky"])):
        outcome = run(function, (matrix.copy(),))

        assert isinstance(outcome.error, ValueError)
        assert str(outcome.error) == "the matrix is not positive definite: pivot 1 is 0.0"


def test_every_spelling_is_of_a_kernel() -> None:
    assert SPELLINGS.keys() <= BY_NAME.keys()
    assert all(SPELLINGS[name] is not BY_NAME[name].function for name in SPELLINGS)
