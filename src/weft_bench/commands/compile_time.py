"""`weft bench compile-time`: how long each kernel takes to its first result, compiled and from the disk cache.

    kernel       first call   compiling   of it legality   from the cache
    jacobi_2d    0.41 s       0.33 s      21 ms            12 ms
    median of 54 kernels: 0.38 s, the worst lenet with 1.4 s

Every time is that of a fresh process, whose cache holds the dispatcher that all programs share and nothing of the
kernel. The clock runs from decorating to the first result; imports and inputs come before.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from statistics import median
from typing import cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from weft_bench.demo import show_seconds
from weft_bench.fresh_process import ScriptError, fresh_cache, run_script
from weft_bench.kernels import BY_NAME

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
    """One row per kernel; under it the median and the worst."""
    table = Table(title="To the first result, in a fresh process", title_justify="left", caption=summarise(rows))
    table.caption_justify = "left"
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


def read_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="weft bench compile-time", description="time first calls in fresh processes")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="names of kernels (all of them by default)")
    parser.add_argument("--preset", choices=("S", "M", "L"), default="S", help="sizes of the inputs (S)")
    parser.add_argument("--repetitions", type=int, default=1, help="compilations of each kernel (1)")
    parser.add_argument("--jobs", type=int, default=1, help="kernels at a time; more than 1 disturb each other (1)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args(arguments)
    for name in cast("list[str]", chosen.kernels):
        if name not in BY_NAME:
            near = get_close_matches(name, BY_NAME, 1)
            parser.error(
                f"no kernel named {name}" + (f"; did you mean {near[0]}?" if near else ": see weft bench list")
            )
    if chosen.repetitions < 1 or chosen.jobs < 1:
        parser.error("at least one repetition and one job are needed")
    return chosen


def run(argv: Sequence[str]) -> int:
    """Measure and print; 1 if a kernel could not be compiled."""
    chosen = read_arguments(argv)
    names: list[str] = chosen.kernels or list(BY_NAME)
    rows: list[CompileTimes] = []
    columns = (TextColumn("{task.description:<22}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with (
            tempfile.TemporaryDirectory(prefix="weft-compile-") as folder,
            Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as progress,
        ):
            task = progress.add_task("", total=len(names))
            for row in measure_kernels(names, chosen.preset, chosen.repetitions, Path(folder), chosen.jobs):
                rows.append(row)
                progress.update(task, description=row.kernel, advance=1)
    except ScriptError as error:  # not of one kernel: Weft compiles nothing here
        print(f"weft bench compile-time: {error}\nWhat Weft found here: weft info", file=sys.stderr)
        return 1
    if chosen.json:
        print(json.dumps([asdict(row) for row in rows]))
    else:
        Console().print(make_table(rows))
    return 1 if any(row.problem for row in rows) else 0
