"""`weft bench run [KERNEL...]`: measure frameworks against NumPy and keep every sample.

Without arguments: NumPy and Weft on all kernels at preset S, in a few minutes. A kernel is named by one of its two
names (`weft bench list`) or by the path of a file of your own.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

import weft
from weft_bench.cells import Cell
from weft_bench.commands.progress import Told
from weft_bench.commands.summary import print_summary
from weft_bench.frameworks import Registered, load_frameworks
from weft_bench.machine import describe
from weft_bench.noise import Calibration, calibrate, judge
from weft_bench.runner import Inputs, Plan, Settings, measure
from weft_bench.selection import (
    check_dtype,
    check_presets,
    choose_frameworks,
    choose_kernels,
    choose_threads,
    is_path,
    make_plans,
    second_spellings,
    split,
)
from weft_bench.store import DEFAULT_FILE, Store, StoreError, open_store
from weft_bench.words import UsageError

DEFAULT_FRAMEWORKS = "numpy,weft"
INTERRUPTED = 130
WIDE = 160  # columns where there is no terminal to ask: a table in a file need not be cut


def parser() -> argparse.ArgumentParser:
    """The options of `weft bench run`."""
    made = argparse.ArgumentParser(
        prog="weft bench run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = made.add_argument
    add("kernels", nargs="*", metavar="KERNEL", help="names or files; all of them by default")
    add("-f", "--frameworks", metavar="LIST", help=f"with commas, or 'all' ({DEFAULT_FRAMEWORKS})")
    add("-p", "--preset", metavar="LIST", help="S, M, L, paper; several with commas (S)")
    add("--dtype", metavar="NAME", help="element type; kernels without it are left out (each kernel's last)")
    add("--threads", metavar="LIST", help="numbers of threads (as many as there are processors)")
    add("--without", metavar="PASS", help="leave these passes of Weft out, with commas (sets WEFT_WITHOUT)")
    add("--spellings", action="store_true", help="the kernels' second spellings as well")
    add("--repetitions", type=int, metavar="N", help="pairs of timed calls (10 to 50, as the time allows)")
    add("--budget", type=float, default=1.0, metavar="SECONDS", help="time for the pairs of one cell (1)")
    add("--time-limit", type=float, default=240.0, metavar="SECONDS", help="for all of one cell (240)")
    add("--recompile", action="store_true", help="use nothing that was compiled before")
    add("-o", "--output", default=DEFAULT_FILE, metavar="FILE", help=f"file of results ({DEFAULT_FILE})")
    add("--resume", action="store_true", help="continue the last run in the file")
    add("--retry-failed", action="store_true", help="with --resume: measure failed cells again")
    return made


def run(argv: Sequence[str]) -> int:
    """Measure, show, and say where it is kept."""
    options = parser().parse_args(argv)
    _check_numbers(options)
    earlier: int | None = None
    if options.resume:
        earlier, options = _continued(options)
    frameworks = load_frameworks()
    plans = _plans(options, frameworks)
    store = open_store(options.output, create=True)  # only now: a word not understood leaves no file behind
    if earlier is None:
        earlier = store.begin(_command(argv), _machine())
    return _measure_all(options, store, earlier, plans, frameworks["numpy"])


def _command(argv: Sequence[str]) -> str:
    """As it can be typed again, from any folder."""
    words = [str(Path(word).absolute()) if is_path(word) and Path(word).exists() else word for word in argv]
    return shlex.join(["weft", "bench", "run", *words])


def _check_numbers(options: argparse.Namespace) -> None:
    if options.repetitions is not None and options.repetitions < 1:
        raise UsageError("--repetitions wants a number from 1 on")
    if options.time_limit <= 0 or options.budget <= 0:
        raise UsageError("--time-limit and --budget want seconds above 0")
    if options.without is not None:
        _check_passes(split(options.without))
    if options.retry_failed and not options.resume:
        raise UsageError("--retry-failed goes with --resume: it says which cells of the last run to measure again")


def _check_passes(names: Sequence[str]) -> None:
    """Weft itself knows its passes, and says which there are."""
    try:
        weft.program(lambda: None, without=tuple(names))
    except ValueError as error:
        raise UsageError(f"--without: {error}") from error


def _continued(options: argparse.Namespace) -> tuple[int, argparse.Namespace]:
    """The run to continue, and its options, with those that are given now in their place."""
    last = open_store(options.output).last()
    if last is None:
        raise StoreError(f"{options.output} has no run to resume; leave --resume out")
    kept, plain = parser().parse_args(shlex.split(last.command)[3:]), parser().parse_args([])
    given = {name: value for name, value in vars(options).items() if value != getattr(plain, name)}
    return last.id, argparse.Namespace(**{**vars(kept), "output": options.output, **given})


def _plans(options: argparse.Namespace, frameworks: Mapping[str, Registered]) -> list[Plan]:
    programs = choose_kernels(options.kernels)
    if options.spellings:
        programs = [*programs, *second_spellings(programs)]
    presets = split(options.preset or "S")
    check_presets(programs, presets)
    check_dtype(options.dtype, programs)
    chosen = choose_frameworks(split(options.frameworks or DEFAULT_FRAMEWORKS), frameworks)
    return make_plans(programs, chosen, presets, options.dtype, choose_threads(options.threads))


@dataclass(frozen=True, slots=True)
class Going:
    """A run under way."""

    store: Store
    id: int
    settings: Settings
    numpy: Registered

    def measure(self, plans: Sequence[Plan], told: Told, scratch: Path) -> None:
        """Cell by cell, each kept as soon as it is there."""
        inputs = Inputs(scratch / "inputs")
        for plan in plans:
            told.begin(plan)
            cell = measure(plan, self.settings, inputs, self.numpy)
            self.store.add(self.id, cell)
            told.end(cell)


def _measure_all(
    options: argparse.Namespace, store: Store, number: int, plans: Sequence[Plan], numpy: Registered
) -> int:
    console = Console(stderr=True)
    before = calibrate()
    store.describe(number, {"calibration_before": before.facts()})
    left = _left(store.run(number).cells, plans, retry_failed=options.retry_failed)
    interrupted = False
    with TemporaryDirectory(prefix="weft-bench-run-") as scratch:
        settings = _settings(options, Path(scratch))
        with Told(console, len(left), already=len(plans) - len(left)) as told:
            try:
                Going(store, number, settings, numpy).measure(left, told, Path(scratch))
            except KeyboardInterrupt:
                interrupted = True
    after = calibrate()
    store.describe(number, {"calibration_after": after.facts()})
    return _conclude(store, number, plans, (before, after), interrupted=interrupted)


def _settings(options: argparse.Namespace, scratch: Path) -> Settings:
    settings = Settings(
        repetitions=options.repetitions,
        budget_seconds=options.budget,
        time_limit_seconds=options.time_limit,
        without=options.without or "",
    )
    return replace(settings, artefacts=scratch / "artefacts") if options.recompile else settings


def _left(cells: Sequence[Cell], plans: Sequence[Plan], *, retry_failed: bool) -> list[Plan]:
    """The plans that have no cell yet."""
    done = {
        (cell.kernel, cell.framework, cell.preset, cell.dtype, cell.threads)
        for cell in cells
        if cell.state == "ok" or not retry_failed
    }
    return [plan for plan in plans if plan.key not in done]


def _conclude(
    store: Store,
    number: int,
    plans: Sequence[Plan],
    calibrations: tuple[Calibration, Calibration],
    *,
    interrupted: bool,
) -> int:
    run = store.run(number)
    if interrupted:
        print(
            f"weft bench run: interrupted; {len(run.cells)} of {len(plans)} cells are kept in {store.path}.\n"
            f"Continue: weft bench run --resume -o {shlex.quote(str(store.path))}",
            file=sys.stderr,
        )
        return INTERRUPTED
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    print_summary(run, store.path, judge(*calibrations, run.cells), console)
    return 0


def _machine() -> dict[str, Any]:
    """What the machine says of itself."""
    return describe(quick=True, cached=True)
