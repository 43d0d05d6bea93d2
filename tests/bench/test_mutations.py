"""No statement of a kernel can be deleted or altered without a validated output telling so, at preset S.

A mutant is found out if an output differs by more than the kernel's tolerance, if it raises, or if it does not end.
What no output can show, because the program still computes the same, stands in `equivalents`, with the reason.
"""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.bench.equivalents import EQUIVALENT
from tests.bench.mutations import Mutant, make_mutants, unchanged
from weft_bench.agreement import compare_outputs
from weft_bench.kernel import Kernel
from weft_bench.kernels import BY_NAME, KERNELS
from weft_bench.timing import fresh

each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)


class TooLongError(BaseException):
    """A mutant that does not end; no `except Exception` may hold it up."""


def stop_it(*_: object) -> None:
    raise TooLongError


class Trial:
    """A kernel at S with what it gives, against which mutants are held."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.tolerance = kernel.tolerance(kernel.presets["S"])
        self.inputs = kernel.inputs("S")
        for value in self.inputs.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False  # what is no output must not be written to
        start = time.perf_counter()
        self.expected = self.outputs(unchanged(kernel))
        self.limit_seconds = 2.0 + 20.0 * (time.perf_counter() - start)

    def outputs(self, function: Callable[..., Any]) -> dict[str, Any]:
        """What the function gives on fresh arguments."""
        arguments = fresh(self.inputs)
        return self.kernel.collect(function(**arguments), arguments)

    def survives(self, mutant: Mutant) -> bool:
        """Whether nothing betrays it."""
        before = signal.signal(signal.SIGALRM, stop_it)
        signal.setitimer(signal.ITIMER_REAL, self.limit_seconds)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return compare_outputs(self.expected, self.outputs(mutant.function), self.tolerance).ok
        except (Exception, TooLongError):  # noqa: BLE001 - whatever it raises, it is found out
            return False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)


def assert_found_out(kernel: Kernel, mutants: Sequence[Mutant]) -> None:
    """Those that nothing betrays are those the table excuses."""
    trial = Trial(kernel)
    assert trial.survives(Mutant("", "", unchanged(kernel), deletes=False))
    excused = EQUIVALENT.get(kernel.name, {}).keys() & {mutant.key for mutant in mutants}

    assert {mutant.key for mutant in mutants if trial.survives(mutant)} == excused


@each_kernel
def test_no_statement_can_be_deleted_and_few_altered(kernel: Kernel) -> None:
    assert_found_out(kernel, list(make_mutants(kernel, every=7)))


@pytest.mark.slow
@each_kernel
def test_no_statement_can_be_altered(kernel: Kernel) -> None:
    mutants = list(make_mutants(kernel))

    assert EQUIVALENT.get(kernel.name, {}).keys() <= {mutant.key for mutant in mutants}
    assert_found_out(kernel, mutants)


def test_every_kernel_is_mutated() -> None:
    assert EQUIVALENT.keys() <= {kernel.name for kernel in KERNELS}
    assert sum(mutant.deletes for kernel in KERNELS for mutant in make_mutants(kernel, every=1000)) > 350


def test_the_changes_are_those_meant() -> None:
    changes = [mutant.change for mutant in make_mutants(BY_NAME["fdtd_2d"])]

    assert changes[0] == "- for pulse in source:"
    for change in (
        "- ey[0] = pulse",
        "ey[1] = pulse",
        "ey[1:-1] += 0.5 * (hz[1:] - hz[:-1])",
        "ey[2:-1] -= 0.5 * (hz[1:] - hz[:-1])",
        "ey[1:-2] -= 0.5 * (hz[1:] - hz[:-1])",
        "ey[1:-1] -= 1.5 * (hz[1:] - hz[:-1])",
        "ey[1:-1] -= 0.5 * (hz[1:] + hz[:-1])",
        "ey[1:-1] -= 0.5 + (hz[1:] - hz[:-1])",
    ):
        assert change in changes
