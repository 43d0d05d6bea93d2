"""How long frameworks take to the first result of a kernel: compiled, and from what they kept.

in:   plans (kernel, framework, preset, dtype, threads)
out:  a `BuildTimes` for each: seconds of building and of the first call, twice, or the state of the failure

It is `runner.measure` with an empty folder of artefacts and one timed pair, then once more with what the first left. So
results are validated and failures classified as in any run. Before the kernels, each framework compiles a program that
is none of them: what it builds once per machine is not part of the first kernel's time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from weft_bench.cells import Cell
from weft_bench.frameworks import Registered
from weft_bench.runner import Inputs, Plan, Settings, measure
from weft_bench.selection import choose_kernels, make_plans

WARM_UP = """
import numpy as np


def warm_up(v):
    return v + 1.0


def make_inputs(n=3):
    return {"v": np.arange(float(n))}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildTimes:
    """Seconds of one kernel in one framework; None where there are none, and then `state` and `message` say why."""

    kernel: str
    framework: str
    state: str
    message: str = ""
    build_seconds: float | None = None
    first_seconds: float | None = None
    kept_build_seconds: float | None = None
    kept_first_seconds: float | None = None

    @property
    def cold(self) -> float | None:
        """To the first result, compiling."""
        return _sum(self.build_seconds, self.first_seconds)

    @property
    def kept(self) -> float | None:
        """To the first result, with what an earlier process compiled."""
        return _sum(self.kept_build_seconds, self.kept_first_seconds)


def measure_builds(plans: Sequence[Plan], numpy: Registered, folder: Path) -> Iterator[BuildTimes]:
    """One after the other, as plans come."""
    settings = Settings(repetitions=1, artefacts=folder / "artefacts")
    inputs = Inputs(folder / "inputs")
    for plan in warm_up_plans(plans, folder):
        measure(plan, settings, inputs, numpy)  # what goes wrong here goes wrong again with the kernels
    for plan in plans:
        cold = measure(plan, settings, inputs, numpy)
        yield make_times(cold, measure(plan, settings, inputs, numpy) if cold.state == "ok" else None)


def warm_up_plans(plans: Sequence[Plan], folder: Path) -> list[Plan]:
    """One for each framework."""
    path = folder / "warm_up.py"
    path.write_text(WARM_UP, encoding="utf-8")
    frameworks = list({plan.framework.name: plan.framework for plan in plans}.values())
    return make_plans(choose_kernels([str(path)]), frameworks, ["S"], None, [plans[0].threads] if plans else [])


def make_times(cold: Cell, kept: Cell | None) -> BuildTimes:
    """The times of both processes; a first one that compiled nothing is no measurement."""
    if cold.state == "ok" and cold.from_artefacts:
        message = "it came from artefacts, though their folder was empty"
        return BuildTimes(kernel=cold.kernel, framework=cold.framework, state="execution", message=message)
    if cold.state != "ok" or kept is None:
        return BuildTimes(kernel=cold.kernel, framework=cold.framework, state=cold.state, message=cold.message)
    return BuildTimes(
        kernel=cold.kernel,
        framework=cold.framework,
        state=kept.state,
        message=kept.message,
        build_seconds=cold.build_seconds,
        first_seconds=cold.first_seconds,
        kept_build_seconds=kept.build_seconds,
        kept_first_seconds=kept.first_seconds,
    )


def _sum(build: float | None, first: float | None) -> float | None:
    return None if build is None or first is None else build + first
