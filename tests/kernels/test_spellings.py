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

each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)

# Where the kernel is exact and the spelling rounds in other places: the error allowed between the two, in eps.
REORDERED = {
    "alternating_directions": 16.0,
    "cavity_flow": 16.0,
    "channel_flow": 16.0,
    "fdtd_2d": 16.0,
    "heat_3d": 16.0,
    "horizontal_diffusion": 16.0,
    "mandelbrot_masks": 64.0,  # its errors double in every turn
    "seidel_2d": 16.0,
    "symmetric_rank_k": 64.0,
    "symmetric_rank_2k": 64.0,
    "vertical_advection": 16.0,
}
# Of these, the ones with products or sums, which Weft may take in another order as well.
SUMMED = {"symmetric_rank_k", "symmetric_rank_2k"}

# What Python runs today, at least in part; no other spelling joins these unseen. Strike out what is compiled.
IN_PYTHON = {
    "alternating_directions",
    "azimuthal_masks",
    "cavity_flow",
    "cholesky",
    "contour_integral",
    "correlation",
    "crc16",
    "great_circle",
    "heat_3d",
    "lenet",
    "residual_block",
    "stockham_fft",
    "vertical_advection",
}


@pytest.mark.parametrize(
    ("kernel", "dtype"), [pytest.param(k, d, id=f"{k.name}-{d}") for k in KERNELS for d in k.dtypes]
)
def test_both_spellings_agree_in_numpy(kernel: Kernel, dtype: str) -> None:
    sizes = USUAL[kernel.name]
    mine, theirs = kernel.inputs(sizes, dtype), kernel.inputs(sizes, dtype)
    expected, actual = kernel.function(**theirs), SPELLINGS[kernel.name](**mine)
    tolerance = max(kernel.tolerance(sizes), REORDERED.get(kernel.name, 0.0))

    verdict = compare_outputs(kernel.collect(expected, theirs), kernel.collect(actual, mine), tolerance)

    assert verdict.ok, verdict.reason


@each_kernel
def test_arguments_that_are_no_output_stay_as_they_are(kernel: Kernel) -> None:
    sizes = USUAL[kernel.name]
    before, after = kernel.inputs(sizes), kernel.inputs(sizes)
    SPELLINGS[kernel.name](**after)

    for name in before.keys() - set(kernel.outputs):
        np.testing.assert_array_equal(after[name], before[name])


@each_kernel
def test_weft_gives_the_answer_of_numpy(kernel: Kernel) -> None:
    sizes, spelling = USUAL[kernel.name], SPELLINGS[kernel.name]
    program = weft.program(spelling, fallback="warn" if kernel.name in IN_PYTHON else "error")
    spelt = replace(kernel, function=spelling)
    if kernel.name in SUMMED:
        spelt = replace(spelt, tolerance=lambda _: REORDERED[kernel.name])

    assert_agrees(spelt, lambda: kernel.inputs(sizes), sizes, program)


@pytest.mark.parametrize("name", sorted(IN_PYTHON))
def test_a_fallback_is_announced_or_refused(name: str) -> None:
    kernel, spelling = BY_NAME[name], SPELLINGS[name]
    outcome = run(weft.program(spelling), (), kernel.inputs(USUAL[name]))
    strict = run(weft.program(spelling, fallback="error"), (), kernel.inputs(USUAL[name]))

    assert bool(outcome.own_warnings) == isinstance(strict.error, weft.WeftError)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cholesky", "the matrix is not positive definite: pivot 1 is 0.0"),
        ("library_cholesky", "Matrix is not positive definite"),
    ],
)
def test_a_matrix_that_is_not_positive_definite_is_refused(name: str, words: str) -> None:
    matrix = np.array([[4.0, 0.0], [2.0, 1.0]])
    outcomes = [run(function, (matrix.copy(),)) for function in (SPELLINGS[name], weft.program(SPELLINGS[name]))]

    assert [str(outcome.error) for outcome in outcomes] == [words] * 2
    assert type(outcomes[0].error) is type(outcomes[1].error)
    np.testing.assert_array_equal(*(outcome.arguments[0] for outcome in outcomes))


def test_every_kernel_is_spelt_twice() -> None:
    assert SPELLINGS.keys() == BY_NAME.keys()
    assert all(SPELLINGS[name] is not BY_NAME[name].function for name in SPELLINGS)
