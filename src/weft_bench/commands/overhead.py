"""`weft bench overhead`: what a call costs beyond its work, and how long a program takes to its first result.

arguments             Weft     Python   NumPy ufunc
3 arrays              310 ns   29 ns    480 ns

from starting Python to the first result
NumPy alone                        0.11 s
Weft, program in the disk cache    0.15 s
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from weft_bench.call_costs import CallCost, read_costs
from weft_bench.demo import show_seconds
from weft_bench.fresh_process import ScriptError, environment, fresh_cache, run_python, write_script

ROUNDS, TURNS = 9, 10_000
QUICK_ROUNDS, QUICK_TURNS = 3, 2_000
START_SECONDS = 120

IN_NUMPY = """
import numpy as np

def first(v):
    return v + 1

print(first(np.arange(3.0))[0], flush=True)
"""
IN_WEFT = IN_NUMPY.replace("import numpy as np\n\n", "import numpy as np, weft\n\n@weft.program(fallback='error')\n")


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds from starting Python to the first result, the median of the repetitions."""

    name: str
    seconds: float


def measure_costs(cache: Path, rounds: int, turns: int, *names: str) -> list[CallCost]:
    """The cost of calls, in a process of its own."""
    return read_costs(run_python(cache, "-m", "weft_bench.call_costs", str(rounds), str(turns), *names))


def time_start(script: str, cache: Path) -> float:
    """Seconds from starting a process to the line it prints; ending it is not part of that."""
    command = [sys.executable, str(write_script(script, cache))]
    start = time.perf_counter()
    with subprocess.Popen(
        command, env=environment(cache), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.perf_counter() - start
        try:
            _, errors = process.communicate(timeout=START_SECONDS)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise ScriptError(f"the first program did not end within {START_SECONDS} s") from error
    if line.strip() != "1.0" or process.returncode != 0:
        raise ScriptError((errors.strip().splitlines() or [f"the first program printed {line!r}"])[-1])
    return seconds


def measure_starts(directory: Path, repetitions: int) -> list[Start]:
    """From nothing in the cache to everything in it; the repetitions in turn, so that a slow moment hits all."""
    names = ("NumPy alone", "Weft, empty cache", "Weft, new program", "Weft, program in the disk cache")
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(repetitions):
        empty, built = directory / f"empty{turn}" / "cache", fresh_cache(directory, f"built{turn}")
        # The last two share a cache: the new program of one is what the other finds.
        for name, script, cache in zip(
            names, (IN_NUMPY, IN_WEFT, IN_WEFT, IN_WEFT), (empty, empty, built, built), strict=True
        ):
            times[name].append(time_start(script, cache))
    return [Start(name, median(values)) for name, values in times.items()]


def make_call_table(costs: Sequence[CallCost]) -> Table:
    """The cost of calls."""
    table = Table(title="What a call costs", title_justify="left")
    table.add_column("arguments", no_wrap=True)
    for heading in ("Weft", "empty Python function", "NumPy ufunc"):
        table.add_column(heading, justify="right", no_wrap=True)
    for cost in costs:
        numpy = "" if cost.numpy is None else f"{cost.numpy:.0f} ns"
        table.add_row(cost.name, f"{cost.weft:.0f} ns", f"{cost.python:.0f} ns", numpy)
    return table


def make_start_table(starts: Sequence[Start]) -> Table:
    """The time to a first result."""
    table = Table(title="From starting Python to the first result", title_justify="left")
    table.add_column("program", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    for start in starts:
        table.add_row(start.name, show_seconds(start.seconds))
    return table


def read_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="weft bench overhead", description="measure what calling and starting cost")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--quick", action="store_true", help="fewer calls, one start each")
    parser.add_argument("--repetitions", type=int, default=3, help="starts of each kind (3)")
    chosen = parser.parse_args(arguments)
    if chosen.repetitions < 1:
        parser.error("at least one repetition is needed")
    return chosen


def run(argv: Sequence[str]) -> int:
    """Measure and print; the exit status."""
    chosen = read_arguments(argv)
    rounds, turns = (QUICK_ROUNDS, QUICK_TURNS) if chosen.quick else (ROUNDS, TURNS)
    console = Console()
    try:
        with (
            tempfile.TemporaryDirectory(prefix="weft-overhead-") as folder,
            Console(stderr=True).status("measuring calls and starts, about half a minute"),
        ):
            costs = measure_costs(fresh_cache(Path(folder), "calls"), rounds, turns)
            starts = measure_starts(Path(folder), 1 if chosen.quick else chosen.repetitions)
    except ScriptError as error:
        print(f"weft bench overhead: {error}\nWhat Weft found here: weft info", file=sys.stderr)
        return 1
    if chosen.json:
        print(json.dumps({"calls": [asdict(cost) for cost in costs], "starts": [asdict(item) for item in starts]}))
        return 0
    console.print(make_call_table(costs), make_start_table(starts))
    return 0
