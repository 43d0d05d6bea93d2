"""Two faults that passed a public suite because its data hid them: here the outputs at S refuse them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from weft_bench.agreement import Agreement, compare_outputs
from weft_bench.kernel import Inputs
from weft_bench.kernels import BY_NAME
from weft_bench.timing import fresh


def judge(name: str, program: Callable[..., Any], outputs: tuple[str, ...] = ()) -> Agreement:
    """The verdict on a program at S, by all outputs of the kernel or by some."""
    kernel = BY_NAME[name]
    inputs = kernel.inputs("S")
    theirs, mine = fresh(inputs), fresh(inputs)
    expected = kernel.collect(kernel.function(**theirs), theirs)
    actual = kernel.collect(program(**mine), mine)
    chosen = {key: value for key, value in expected.items() if key in (outputs or kernel.outputs)}
    return compare_outputs(chosen, actual, kernel.tolerance(kernel.presets["S"]))


def channel_without_pressure(**given: Any) -> Any:
    """The pressure solve dropped: fine where nothing changes along the channel, as in a flow that starts uniform."""
    arguments: Inputs = {**given, "sweeps": 0}
    return BY_NAME["channel_flow"].function(**arguments)


def product_with_the_upper_triangle(alpha: Any, A: Any, B: Any) -> None:
    """A[i, k] read for A[k, i]: fine where A is symmetric."""
    for i in range(B.shape[0]):
        B[i] += A[i, i + 1 :] @ B[i + 1 :]
    B[:] = alpha * B


def product_with_the_lower_triangle(alpha: Any, A: Any, B: Any) -> None:
    for i in range(B.shape[0]):
        B[i] += A[i + 1 :, i] @ B[i + 1 :]
    B[:] = alpha * B


@pytest.mark.parametrize("outputs", [(), ("u",), ("v",), ("p",)], ids=lambda names: "".join(names) or "all")
def test_a_channel_without_its_pressure_is_refused(outputs: tuple[str, ...]) -> None:
    verdict = judge("channel_flow", channel_without_pressure, outputs)

    assert not verdict.ok
    assert verdict.error_eps > 1e9  # no matter of rounding
    assert judge("channel_flow", BY_NAME["channel_flow"].function).ok


def test_the_wrong_triangle_is_refused() -> None:
    verdict = judge("triangular_product", product_with_the_upper_triangle)

    assert not verdict.ok
    assert verdict.error_eps > 1e12
    assert judge("triangular_product", product_with_the_lower_triangle).ok
