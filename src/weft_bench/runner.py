"""Measure one cell: a kernel in a framework, beside NumPy.

in:   a `Plan` (program, framework, preset, dtype, threads) and `Settings`
out:  a `Cell`; whatever happens in the workers, there is one

Two fresh processes, one of NumPy and one of the framework. Each builds, runs once and gives its outputs, which are
compared; then both run in turn, NumPy first in even pairs and the framework first in odd ones (A B B A), so that a
slow moment of the machine, or the one before, hits both alike. Only one of the two ever computes.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias, cast

import numpy as np

from weft_bench.adaptation import measure_adaptation
from weft_bench.cells import Adaptation, Cell, Pair, Work
from weft_bench.environments import home, interpreter_of, unavailable, worker_environment
from weft_bench.exchange import Description, read_values
from weft_bench.frameworks import Registered
from weft_bench.hardware import choose_cpus
from weft_bench.kernel import Kernel, Preset, Sizes
from weft_bench.processes import Deadline, FailureError, WorkerProcess
from weft_bench.sensitivity import Sensitivity, measure_sensitivity
from weft_bench.validation import is_strict, validate

Described: TypeAlias = Mapping[str, Description]

KERNELS: Final = Path(__file__).parent / "kernels"
OVERRIDES: Final = Path(__file__).parent / "overrides"
LEAST_PAIRS: Final = 10
LEAST_LONG_PAIRS: Final = 5  # where a pair takes so long that ten would not fit the budget
MOST_PAIRS: Final = 50
SHORT_SECONDS: Final = 0.05  # calls this short run once more, untimed, before each timed one


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is measured: a kernel, the file its function stands in, and the name results carry."""

    label: str
    kernel: Kernel
    kernel_path: Path
    path: Path  # `kernel_path`, or the file of another spelling of the function


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One cell to be measured."""

    program: Program
    framework: Registered
    preset: str
    dtype: str
    threads: int

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What tells its cell from the others of a run."""
        return (self.program.label, self.framework.name, self.preset, self.dtype, self.threads)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to measure. `repetitions` None: as many pairs as fit `budget_seconds`, within bounds."""

    repetitions: int | None = None
    budget_seconds: float = 1.0
    time_limit_seconds: float = 240.0
    artefacts: Path = field(default_factory=lambda: home() / "artefacts")
    errors: Path = field(default_factory=lambda: home() / "errors")
    without: str = ""


@dataclass(slots=True)
class InputFiles:
    """A kernel's arguments at one preset and dtype as files; the first worker makes them, `described` is then known.

    `sensitivity` is measured when it is first wanted.
    """

    folder: Path
    described: Described | None = None
    sensitivity: Sensitivity | None = None


class Inputs:
    """The files of arguments, made once for all frameworks of a kernel; those of the kernel before are removed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key: tuple[Path, str, str] | None = None
        self._files = InputFiles(folder)

    def files(self, plan: Plan) -> InputFiles:
        """Those of a plan."""
        key = (plan.program.kernel_path, plan.preset, plan.dtype)
        if key != self._key:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._files, self._key = InputFiles(self._folder), key
        return self._files


def override_of(registered: Registered, program: Program) -> Path | None:
    """The adaptation for a framework, where there is one: of our kernels in `overrides`, of a user's file beside it.

    A second spelling is a program of its own: an adaptation of the first would not be it.
    """
    folder = registered.loaded().overrides
    if program.path != program.kernel_path:
        return None
    path = program.path.with_name(f"{program.path.stem}_{folder}.py")
    if program.path.parent == KERNELS:
        path = OVERRIDES / folder / f"{program.kernel.name}.py"
    return path if path.is_file() else None


def measure(plan: Plan, settings: Settings, inputs: Inputs, numpy: Registered) -> Cell:
    """The cell of a plan; `numpy` is the framework beside which it is measured."""
    framework = plan.framework.loaded()
    cell = Cell(
        kernel=plan.program.label,
        framework=framework.name,
        preset=plan.preset,
        dtype=plan.dtype,
        threads=plan.threads,
        state="not available",
        math=framework.math,
        work=_work(plan),
    )
    reason = unavailable(framework)
    if reason:
        return replace(cell, message=reason)
    with TemporaryDirectory(prefix="weft-bench-") as scratch, ExitStack() as stack:
        measurement = Measurement(plan, settings, inputs.files(plan), Path(scratch), stack, cell)
        try:
            return measurement.run(numpy)
        except FailureError as failure:
            return measurement.failed(failure)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is about this cell, and the others go on)
            return measurement.failed(FailureError("execution", f"the runner: {type(error).__name__}: {error}"))


class Measurement:
    """One cell on its way; `cell` holds what is known so far."""

    def __init__(
        self, plan: Plan, settings: Settings, files: InputFiles, scratch: Path, stack: ExitStack, cell: Cell
    ) -> None:
        self.plan, self.settings, self.files, self.scratch, self.cell = plan, settings, files, scratch, cell
        self._stack = stack
        self._deadline = Deadline.after(settings.time_limit_seconds)

    def run(self, numpy: Registered) -> Cell:
        """Both sides up to their first results, then the pairs, then the last results."""
        expected, numpy_side = self._prepare_numpy(numpy)
        side = self._start("framework", self.plan.framework)
        self._build(side)
        first = side.ask(self._deadline, "first")
        self.cell = replace(
            self.cell,
            first_seconds=first["seconds"],
            from_artefacts=first["from_artefacts"],
            message=self.cell.message or first["warning"],
        )
        self._validate(side, expected, "first")
        numpy_side.ask(self._deadline, "warm")
        answer = side.ask(self._deadline, "warm")
        self.cell = replace(self.cell, peak_bytes=answer["peak_bytes"])
        pairs = self._pairs(numpy_side, side)
        self.cell = replace(self.cell, pairs=pairs)
        self._validate(side, expected, "last")
        numpy_side.quit()
        side.quit()
        return replace(self.cell, state="ok")

    def _prepare_numpy(self, numpy: Registered) -> tuple[dict[str, Any], WorkerProcess]:
        """NumPy's side and what it gives: the results all others are held to."""
        side = self._start("numpy", numpy, own_source=True)
        folder = self.scratch / "expected"
        try:
            if self.files.described is None:
                made = side.ask(self._deadline, "inputs", sizes=dict(sizes_of(self.plan)))
                self.files.described = made["inputs"]
            side.ask(self._deadline, "build")
            side.ask(self._deadline, "first")
            answer = side.ask(self._deadline, "outputs", folder=str(folder))
        except FailureError as failure:
            raise FailureError(failure.state, f"NumPy itself: {failure.message}") from failure
        expected = read_values(answer["outputs"], folder)
        if self.files.sensitivity is None and not is_strict(self.plan.framework.loaded()):
            self.files.sensitivity = self._sensitivity(side, expected)
        return expected, side

    def _sensitivity(self, side: WorkerProcess, expected: dict[str, Any]) -> Sensitivity:
        """How far NumPy's results move by roundings of the arguments; arguments that allow none move nothing."""
        folder = self.scratch / "perturbed"
        try:
            answer = side.ask(self._deadline, "perturbed", folder=str(folder))
        except FailureError as failure:
            if failure.state == "time limit":
                raise
            return Sensitivity()
        return measure_sensitivity(expected, read_values(answer["outputs"], folder))

    def _build(self, side: WorkerProcess) -> None:
        built = side.ask(self._deadline, "build")
        self.cell = replace(
            self.cell,
            version=built["version"],
            build_seconds=built["seconds"],
            message=built["warning"],
            adaptation=self._adaptation(tuple(built["added_lines"])),
        )

    def _adaptation(self, added_lines: tuple[str, ...]) -> Adaptation:
        override = override_of(self.plan.framework, self.plan.program)
        path = override or self.plan.program.path
        return measure_adaptation(self.plan.program.kernel, path, override is not None, added_lines)

    def _start(self, name: str, registered: Registered, *, own_source: bool = False) -> WorkerProcess:
        plan, program = self.plan, self.plan.program
        override = None if own_source else override_of(registered, program)
        request = {
            "framework": registered.place,
            "kernel": str(program.kernel_path),
            "program": str(override or program.path),
            "is_override": override is not None,
            "outputs": list(program.kernel.outputs),
            "inputs": self.files.described,
            "inputs_folder": str(self.files.folder),
            "artefacts": str(self.settings.artefacts),
            "dtype": plan.dtype,
            "threads": plan.threads,
            "processors": choose_cpus(plan.threads),
        }
        environment = worker_environment(registered, plan.threads, self.settings.without)
        interpreter = interpreter_of(registered.loaded())
        process = WorkerProcess(interpreter, environment, request, self.scratch / name)
        self._stack.callback(process.stop)
        return process

    def _validate(self, side: WorkerProcess, expected: dict[str, Any], moment: str) -> None:
        folder = self.scratch / moment
        answer = side.ask(self._deadline, "outputs", folder=str(folder))
        actual = read_values(answer["outputs"], folder)
        shutil.rmtree(folder, ignore_errors=True)
        framework, sensitivity = self.plan.framework.loaded(), self.files.sensitivity or Sensitivity()
        tolerance_eps = float(self.plan.program.kernel.tolerance(sizes_of(self.plan)))
        verdict = validate(framework, expected, actual, tolerance_eps, sensitivity)
        worst = max(verdict.error_eps, self.cell.error_eps or 0.0)
        self.cell = replace(self.cell, error_eps=worst if np.isfinite(worst) else None)
        if not verdict.ok:
            raise FailureError("validation", f"{verdict.reason} ({moment} call)")

    def _pairs(self, numpy_side: WorkerProcess, side: WorkerProcess) -> tuple[Pair, ...]:
        pairs: list[Pair] = []
        again = [True, True]
        start = time.monotonic()
        while self._want_more(len(pairs), time.monotonic() - start):
            seconds = [0.0, 0.0]
            order = (0, 1) if len(pairs) % 2 == 0 else (1, 0)
            for number in order:
                answer = (numpy_side, side)[number].ask(
                    self._deadline, "time", again=again[number], rest=self.plan.threads > 1
                )
                seconds[number] = answer["seconds"]
                again[number] = answer["seconds"] < SHORT_SECONDS
            pairs.append(Pair(*seconds))
        return tuple(pairs)

    def _want_more(self, done: int, spent_seconds: float) -> bool:
        """Until the repetitions asked for, or the budget; a cell that its time limit would cut off stops before."""
        if self.settings.repetitions is not None:
            return done < self.settings.repetitions
        if done >= MOST_PAIRS or (done >= 3 and self._deadline.left < 2.0 * spent_seconds / done):
            return False
        least = LEAST_PAIRS if spent_seconds < 5.0 * self.settings.budget_seconds else LEAST_LONG_PAIRS
        return done < least or spent_seconds < self.settings.budget_seconds

    def failed(self, failure: FailureError) -> Cell:
        """The cell of a failure; all that the workers said is kept for whoever wants more than the last line."""
        logs = [self.scratch / side / "output.txt" for side in ("framework", "numpy")]
        text = "".join(log.read_text(encoding="utf-8", errors="replace") for log in logs if log.exists())
        self.settings.errors.mkdir(parents=True, exist_ok=True)
        name = f"{self.cell.kernel}-{self.cell.framework}-{self.cell.preset}.txt".replace(os.sep, "_")
        (self.settings.errors / name).write_text(f"{failure}\n\n{text[-100_000:]}", encoding="utf-8")
        return replace(self.cell, state=failure.state, message=failure.message)


def _work(plan: Plan) -> Work | None:
    """The least the kernel must do, where it says so."""
    kernel = plan.program.kernel
    return None if kernel.work is None else kernel.work(sizes_of(plan), np.dtype(plan.dtype))


def sizes_of(plan: Plan) -> Sizes:
    """The sizes at the plan's preset, which the command line has checked to be one of the kernel's."""
    return plan.program.kernel.presets[cast("Preset", plan.preset)]
