"""`weft bench compile-time`: how long each kernel takes to its first result, compiled and from what was kept.

    kernel       first call   compiling   of it legality   from the cache
    jacobi_2d    0.41 s       0.33 s      21 ms            12 ms
    median of 54 kernels: 0.38 s, the worst lenet with 1.4 s

Every time is that of a fresh process, whose cache holds what programs share (the dispatcher and, after the first that
needs them, the functions for matrix products) and nothing of the kernel. The clock runs from decorating to the first
result; imports and inputs come before. With `--frameworks`, the same of each of them (`build_times`): building and the
first call, with nothing kept and with what that left.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from weft_bench.build_times import BuildTimes, measure_builds
from weft_bench.demo import show_seconds
from weft_bench.frameworks import load_frameworks
from weft_bench.fresh_process import ScriptError, fresh_cache, run_script
from weft_bench.kernels import BY_NAME
from weft_bench.selection import choose_frameworks, choose_kernels, choose_threads, find_kernel, make_plans, split

FIRST_CALL = """
import json, sys, time
import weft
from weft_bench.kernels import BY_NAME

kernel = BY_NAME[sys.argv[1]]
inputs = kernel.inputs(sys.argv[2])
start = time.perf_counter()
program = weft.program(kernel.function, fallback="error")
program(**inputs)
seconds = time.perf_counter() - start
stats = program.stats
print(json.dumps({
    "seconds": seconds,
    "compile_seconds": stats.compile_seconds,
    "legality_seconds": stats.legality_seconds,
    "compiles": stats.compiles,
    "cache_hits": stats.cache_hits,
}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstCall:
    """One process: seconds from decorating to the first result, of which compiling, of which the legality core."""

    seconds: float
    compile_seconds: float
    legality_seconds: float
    compiles: int
    cache_hits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileTimes:
    """One kernel: first calls that compiled, first calls from the disk cache; or why there are none."""

    kernel: str
    cold: tuple[FirstCall, ...] = ()
    warm: tuple[FirstCall, ...] = ()
    problem: str = ""

    @property
    def cold_seconds(self) -> float:
        """The median first call that compiled."""
        return median(call.seconds for call in self.cold)

    @property
    def warm_seconds(self) -> float:
        """The median first call from the disk cache."""
        return median(call.seconds for call in self.warm)


def time_first_call(kernel: str, preset: str, cache: Path) -> FirstCall:
    """A first call in a process of its own."""
    return FirstCall(**json.loads(run_script(FIRST_CALL, cache, kernel, preset)))


def measure_kernel(kernel: str, preset: str, caches: Sequence[Path]) -> CompileTimes:
    """Twice for each cache: the first compiles, the second finds that; anything else is a problem."""
    cold: list[FirstCall] = []
    warm: list[FirstCall] = []
    try:
        for cache in caches:
            cold.append(time_first_call(kernel, preset, cache))
            warm.append(time_first_call(kernel, preset, cache))
    except ScriptError as error:
        return CompileTimes(kernel=kernel, problem=str(error))
    if any(call.compiles < 1 or call.cache_hits for call in cold):
        return CompileTimes(kernel=kernel, problem="it was not compiled, though its cache was empty")
    if any(call.compiles or call.cache_hits < 1 for call in warm):
        return CompileTimes(kernel=kernel, problem="it did not come from the disk cache the second time")
    return CompileTimes(kernel=kernel, cold=tuple(cold), warm=tuple(warm))


def measure_kernels(
    names: Sequence[str], preset: str, repetitions: int, directory: Path, jobs: int = 1
) -> Iterator[CompileTimes]:
    """The kernels in their order, `jobs` at a time; more than one at a time disturb each other."""
    caches = [fresh_cache(directory, f"turn{turn}") for turn in range(repetitions)]
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(partial(measure_kernel, preset=preset, caches=caches), names)


def summarise(rows: Sequence[CompileTimes]) -> str:
    """The median over the kernels and the worst of them, of both kinds."""
    good = [row for row in rows if not row.problem]
    if not good:
        return "no kernel could be compiled"
    worst = max(good, key=lambda row: row.cold_seconds)
    slowest = max(good, key=lambda row: row.warm_seconds)
    return (
        f"median of {len(good)} kernels: {show_seconds(median(row.cold_seconds for row in good))}, "
        f"the worst {worst.kernel} with {show_seconds(worst.cold_seconds)}\n"
        f"from the disk cache: {show_seconds(median(row.warm_seconds for row in good))}, "
        f"the worst {slowest.kernel} with {show_seconds(slowest.warm_seconds)}"
    )


def make_table(rows: Sequence[CompileTimes]) -> Table:
    """One row per kernel."""
    table = Table(title="To the first result, in a fresh process", title_justify="left")
    table.add_column("kernel", no_wrap=True)
    for heading in ("first call", "compiling", "of it legality", "from the cache"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        if row.problem:
            table.add_row(row.kernel, f"[bold red]{row.problem}[/]")
            continue
        compiling = median(call.compile_seconds for call in row.cold)
        legality = median(call.legality_seconds for call in row.cold)
        seconds = (row.cold_seconds, compiling, legality, row.warm_seconds)
        table.add_row(row.kernel, *(show_seconds(value) for value in seconds))
    return table


def make_framework_table(rows: Sequence[BuildTimes]) -> Table:
    """A row per kernel, two columns per framework; a failure stands in the first of them."""
    frameworks = list(dict.fromkeys(row.framework for row in rows))
    table = Table(title="To the first result, in a fresh process", title_justify="left")
    table.add_column("kernel", no_wrap=True)
    for name in frameworks:
        table.add_column(name, justify="right")
        table.add_column("kept", justify="right", no_wrap=True)
    by_cell = {(row.kernel, row.framework): row for row in rows}
    for kernel in dict.fromkeys(row.kernel for row in rows):
        texts: list[str] = []
        for name in frameworks:
            row = by_cell.get((kernel, name))
            texts += ["", ""] if row is None else [_show(row.cold) or f"[red]{row.state}[/]", _show(row.kept)]
        table.add_row(kernel, *texts)
    return table


def summarise_frameworks(rows: Sequence[BuildTimes]) -> str:
    """A line for each framework."""
    names = dict.fromkeys(row.framework for row in rows)
    return "\n".join(summarise_framework(name, [row for row in rows if row.framework == name]) for name in names)


def summarise_framework(name: str, rows: Sequence[BuildTimes]) -> str:
    """`numba: median of 53 kernels 3.8 s, the worst lenet with 21 s; 1 compile`."""
    cold = {row.kernel: row.cold for row in rows if row.cold is not None}
    failed = Counter(row.state for row in rows if row.cold is None)
    rest = "".join(f"; {count} {state}" for state, count in failed.items())
    if not cold:
        reasons = {row.message for row in rows}
        return f"{name}: nothing{rest}{f' ({reasons.pop()})' if len(reasons) == 1 else ''}"
    worst = max(cold, key=lambda kernel: cold[kernel])
    middle = _show(median(cold.values()))
    return f"{name}: median of {len(cold)} kernels {middle}, the worst {worst} with {_show(cold[worst])}{rest}"


def _show(seconds: float | None) -> str:
    return "" if seconds is None else show_seconds(seconds)


# ---------------------------------------------------------------- the command


def read_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="weft bench compile-time", description="time first calls in fresh processes")
    add = parser.add_argument
    add("kernels", nargs="*", metavar="KERNEL", help="names of kernels (all of them by default)")
    add("-f", "--frameworks", metavar="LIST", default="weft", help="with commas, or 'all' (weft, with its phases)")
    add("-p", "--preset", choices=("S", "M", "L"), default="S", help="sizes of the inputs (S)")
    add("--repetitions", type=int, default=1, help="of Weft alone: compilations of each kernel (1)")
    add("--jobs", type=int, default=1, help="of Weft alone: kernels at a time; more than 1 disturb each other (1)")
    add("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args(arguments)
    if chosen.repetitions < 1 or chosen.jobs < 1:
        parser.error("at least one repetition and one job are needed")
    return chosen


def run(argv: Sequence[str]) -> int:
    """Measure and print; 1 if a kernel could not be compiled."""
    chosen = read_arguments(argv)
    if split(chosen.frameworks) == ["weft"]:
        return _run_weft(chosen, [find_kernel(word).name for word in chosen.kernels] or list(BY_NAME))
    return _run_frameworks(chosen)


def _run_weft(chosen: argparse.Namespace, names: Sequence[str]) -> int:
    rows: list[CompileTimes] = []
    try:
        with _folder() as folder, _progress() as progress:
            task = progress.add_task("", total=len(names))
            for row in measure_kernels(names, chosen.preset, chosen.repetitions, Path(folder), chosen.jobs):
                rows.append(row)
                progress.update(task, description=row.kernel, advance=1)
    except ScriptError as error:  # not of one kernel: Weft compiles nothing here
        print(f"weft bench compile-time: {error}\nWhat Weft found here: weft info", file=sys.stderr)
        return 1
    _print(chosen.json, rows, make_table(rows), summarise(rows))
    return 1 if any(row.problem for row in rows) else 0


def _run_frameworks(chosen: argparse.Namespace) -> int:
    known = load_frameworks()
    frameworks = choose_frameworks(split(chosen.frameworks), known)
    plans = make_plans(choose_kernels(chosen.kernels), frameworks, [chosen.preset], None, choose_threads(None))
    rows: list[BuildTimes] = []
    with _folder() as folder, _progress() as progress:
        task = progress.add_task("", total=len(plans))
        for row in measure_builds(plans, known["numpy"], Path(folder)):
            rows.append(row)
            progress.update(task, description=f"{row.kernel} {row.framework}", advance=1)
    _print(chosen.json, rows, make_framework_table(rows), summarise_frameworks(rows))
    return 1 if any(row.state not in {"ok", "not available", "unsupported"} for row in rows) else 0


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="weft-compile-")


def _progress() -> Progress:
    columns = (TextColumn("{task.description:<36}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)


def _print(as_json: bool, rows: Sequence[CompileTimes] | Sequence[BuildTimes], table: Table, summary: str) -> None:
    if as_json:
        print(json.dumps([asdict(row) for row in rows]))
        return
    console = Console()
    console.print(table)
    console.print(summary, highlight=False, markup=False, soft_wrap=True)
