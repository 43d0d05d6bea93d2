"""np.errstate: modes that only warn or ignore run the kernel, everything else is NumPy's own business."""

from __future__ import annotations

import numpy as np
import pytest

from weft.support.abi import ArgKind, ArgSpec


@pytest.fixture
def program(harness):
    return harness.program(lambda a: "python", "return 0;", [ArgSpec(ArgKind.PY_INT)])


def test_the_default_runs_the_kernel(program):
    assert program.call(1) is None


@pytest.mark.parametrize("mode", ["ignore", "warn"])
def test_modes_that_run_the_kernel(program, mode):
    with np.errstate(divide=mode, over=mode, invalid=mode, under="ignore"):
        assert program.call(1) is None
    assert program.call(1) is None


@pytest.mark.parametrize("mode", ["raise", "print"])
def test_modes_that_run_python(program, mode):
    with np.errstate(divide=mode):
        assert program.call(1) == "python"
    assert program.call(1) is None
    assert program.dispatcher.counters().python_calls == 1


def test_underflow_is_nothing_a_kernel_tells(program):
    with np.errstate(under="warn"):
        assert program.call(1) == "python"


def test_call_and_log_modes(program):
    with np.errstate(all="call", call=lambda *args: None):
        assert program.call(1) == "python"


def test_seterr_without_a_context(program):
    before = np.seterr(over="raise")
    try:
        assert program.call(1) == "python"
    finally:
        np.seterr(**before)
    assert program.call(1) is None
