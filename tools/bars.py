"""Measure the bars Weft holds itself to and print each with its value: `python tools/bars.py`.

    PASS  first call, dispatcher built     0.38 s   at most 0.5 s    median of 26 kernels; slowest nbody 0.51 s
    FAIL  call with three small arrays     0.71 us  at most 0.5 us   the whole call, its tiny kernel included

Times are taken in processes of their own where starting is part of what is measured, and interleaved where two things
are compared. The exit status is 0 if every bar is kept.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from weft_bench.commands.compile_time import measure_kernels
from weft_bench.commands.overhead import measure_costs
from weft_bench.fresh_process import ScriptError, environment, fresh_cache, run_script, write_script
from weft_bench.kernels import BY_NAME, KERNELS

LOOP_KERNELS = ("crc16", "nussinov", "cholesky")


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar and what was measured; `at_least` turns the comparison around."""

    name: str
    value: float
    limit: float
    unit: str
    note: str = ""
    at_least: bool = False

    @property
    def kept(self) -> bool:
        """Whether the value is on the right side of the limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        verdict = "PASS" if self.kept else "FAIL"
        word = "at least" if self.at_least else "at most"
        value, limit = f"{self.value:.3g} {self.unit}", f"{word} {self.limit:g} {self.unit}"
        return f"{verdict}  {self.name:<38} {value:>10}   {limit:<16} {self.note}"


# ---------------------------------------------------------------- processes

IMPORT = """
import time
import numpy
start = time.perf_counter()
import weft
print(time.perf_counter() - start)
"""

LOOP_RATIO = """
import sys
import weft
from weft_bench.kernels import BY_NAME
from weft_bench.timing import fresh, time_interleaved

kernel = BY_NAME[sys.argv[1]]
inputs = kernel.inputs("M")
program = weft.program(kernel.function, fallback="error")
program(**fresh(inputs))
in_numpy, in_weft = time_interleaved((kernel.function, program), lambda: fresh(inputs), 5)
assert program.stats.fallback_calls == program.stats.resumes == 0
print(in_numpy / in_weft)
"""

INTERRUPTED = """
import time
import numpy as np, weft

@weft.program(fallback="error")
def long(x, n):
    for i in range(n):
        x = (x * 1103515245 + 12345) % 2147483648
    return x

long(1, 10)
print("ready", flush=True)
try:
    long(1, 10**12)
except KeyboardInterrupt:
    print(time.monotonic())
"""


def run(script: str, cache: Path, *arguments: str) -> list[float]:
    """The numbers a script prints."""
    try:
        return [float(word) for word in run_script(script, cache, *arguments).split()]
    except ScriptError as error:
        raise SystemExit(f"bars: a script failed {arguments}\n{error}") from error


# ---------------------------------------------------------------- the bars


def measure_first_calls(directory: Path, repetitions: int) -> list[Bar]:
    """Decoration to first result: compiled, then from the disk cache."""
    rows = list(measure_kernels([kernel.name for kernel in KERNELS], "S", repetitions, directory))
    for row in rows:
        expect(not row.problem, f"{row.kernel}: {row.problem}")
    return [
        over_kernels("first call, dispatcher built", {row.kernel: row.cold_seconds for row in rows}, 0.5, "s"),
        over_kernels(
            "first call, from the disk cache", {row.kernel: row.warm_seconds * 1e3 for row in rows}, 50.0, "ms"
        ),
    ]


def over_kernels(name: str, medians: dict[str, float], limit: float, unit: str) -> Bar:
    """The median over the kernels of each one's median."""
    slowest = max(medians, key=lambda kernel: medians[kernel])
    note = f"median of {len(medians)} kernels; slowest {slowest} {medians[slowest]:.3g} {unit}"
    return Bar(name, median(medians.values()), limit, unit, note)


def measure_import(directory: Path, repetitions: int) -> list[Bar]:
    """`import weft` after NumPy."""
    cache = fresh_cache(directory, "import")
    times = [run(IMPORT, cache)[0] * 1e3 for _ in range(5 * repetitions)]
    return [Bar("import weft, over NumPy", median(times), 40.0, "ms", f"median of {len(times)} processes")]


def measure_call(directory: Path, repetitions: int) -> list[Bar]:
    """A call with three small arrays."""
    cache = fresh_cache(directory, "call")
    times = [measure_costs(cache, 9, 100_000, "3 arrays")[0].weft / 1e3 for _ in range(repetitions)]
    return [Bar("call with three small arrays", median(times), 0.5, "us", "the whole call, its tiny kernel included")]


def measure_loop_kernels(directory: Path, _repetitions: int) -> list[Bar]:
    """Loop kernels against the same loops in Python."""
    cache = fresh_cache(directory, "loops")
    return [
        Bar(f"{name}, times faster than NumPy", run(LOOP_RATIO, cache, name)[0], 20.0, "x",
            f"preset M {dict(BY_NAME[name].presets['M'])}", at_least=True)
        for name in LOOP_KERNELS
    ]  # fmt: skip


def measure_interrupt(directory: Path, repetitions: int) -> list[Bar]:
    """Ctrl-C in a long compiled loop, to KeyboardInterrupt in Python."""
    cache = fresh_cache(directory, "interrupt")
    latencies = [interrupt_once(cache) for _ in range(repetitions)]
    return [Bar("Ctrl-C in a compiled loop", max(latencies), 0.2, "s", f"the worst of {len(latencies)}")]


def interrupt_once(cache: Path) -> float:
    """Seconds from the signal to the exception."""
    process = subprocess.Popen(
        [sys.executable, write_script(INTERRUPTED, cache)],
        env=environment(cache),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        expect(process.stdout.readline() == "ready\n", "the program to interrupt did not start")
        time.sleep(0.3)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        return float(out) - sent
    finally:
        process.kill()


def expect(condition: bool, message: str) -> None:
    """Stop when what is measured is not what is meant."""
    if not condition:
        raise SystemExit(f"bars: {message}")


MEASUREMENTS: dict[str, Callable[[Path, int], list[Bar]]] = {
    "first-call": measure_first_calls,
    "import": measure_import,
    "call": measure_call,
    "loops": measure_loop_kernels,
    "interrupt": measure_interrupt,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(prog="bars.py", description="measure the bars Weft holds itself to")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(MEASUREMENTS)} (default: all)")
    parser.add_argument("--repetitions", type=int, default=3)
    chosen = parser.parse_args(arguments)
    names: list[str] = chosen.names or list(MEASUREMENTS)
    unknown = [name for name in names if name not in MEASUREMENTS]
    if unknown:
        parser.error(f"no measurement named {', '.join(unknown)}")
    broken = 0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="weft-bars-") as directory:
            for bar in MEASUREMENTS[name](Path(directory), chosen.repetitions):
                print(bar, flush=True)
                broken += not bar.kept
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
