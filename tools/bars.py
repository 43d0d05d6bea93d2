"""Measure the bars Weft holds itself to and print each with its value: `python tools/bars.py`.

    PASS  first call, dispatcher built     0.38 s   at most 0.5 s    median of 26 kernels; slowest nbody 0.51 s
    FAIL  call with three small arrays     0.71 us  at most 0.5 us   the whole call, its tiny kernel included

Times are taken in processes of their own where starting is part of what is measured, and interleaved where two things
are compared. The exit status is 0 if every bar is kept.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

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

# Decoration to first result: imports of NumPy, Weft's front door and the inputs come before the clock starts.
FIRST_CALL = """
import sys, time
import weft
from weft_bench.kernels import BY_NAME

kernel = BY_NAME[sys.argv[1]]
inputs = kernel.inputs("S")
start = time.perf_counter()
program = weft.program(kernel.function, fallback="error")
program(**inputs)
seconds = time.perf_counter() - start
print(seconds, program.stats.compiles, program.stats.cache_hits)
"""

# Another program, so that the dispatcher is built and the kernels are not.
WARM_UP = """
import numpy as np, weft

@weft.program(fallback="error")
def warm_up(v):
    return v + 1

warm_up(np.arange(3.0))
"""

IMPORT = """
import time
import numpy
start = time.perf_counter()
import weft
print(time.perf_counter() - start)
"""

CALL = """
import timeit
import numpy as np, weft

@weft.program(fallback="error")
def touch(a, b, c):
    c[0] = a[0] + b[0]

a, b, c = np.arange(4.0), np.arange(4.0), np.zeros(4)
touch(a, b, c)
assert c[0] == 0.0 and touch.stats.native_calls == 1
turns = 200_000
best = min(timeit.repeat("touch(a, b, c)", globals=globals(), number=turns, repeat=9))
nothing = min(timeit.repeat("pass", number=turns, repeat=9))
print((best - nothing) / turns)
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


def environment(cache: Path) -> dict[str, str]:
    """This environment with another cache and no other setting of Weft."""
    # A user's Python keeps its compiled modules; without them every import below would be a compilation.
    dropped = "PYTHONDONTWRITEBYTECODE"
    kept = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_") and k != dropped}  # noqa: TID251
    return {**kept, "WEFT_CACHE_DIR": str(cache)}


def run(script: str, cache: Path, *arguments: str) -> list[float]:
    """The numbers a script prints; it runs from a file, as users' programs do."""
    path = cache.parent / "script.py"
    path.write_text(script, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, path, *arguments],
        env=environment(cache), capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if result.returncode != 0:
        raise SystemExit(f"bars: a script failed {arguments}\n{result.stdout}{result.stderr}")
    return [float(word) for word in result.stdout.split()]


def fresh_cache(directory: Path, name: str) -> Path:
    """A cache with the dispatcher in it and no kernel."""
    cache = directory / name / "cache"
    cache.parent.mkdir()
    run(WARM_UP, cache)
    return cache


# ---------------------------------------------------------------- the bars


def measure_first_calls(directory: Path, repetitions: int) -> list[Bar]:
    """Decoration to first result: compiled, then from the disk cache."""
    cold: dict[str, list[float]] = {kernel.name: [] for kernel in KERNELS}
    warm: dict[str, list[float]] = {kernel.name: [] for kernel in KERNELS}
    for turn in range(repetitions):
        cache = fresh_cache(directory, f"turn{turn}")
        for name, times in cold.items():
            seconds, compiles, _ = run(FIRST_CALL, cache, name)
            expect(compiles == 1, f"{name} was not compiled in a cold cache")
            times.append(seconds)
            seconds, compiles, hits = run(FIRST_CALL, cache, name)
            expect(compiles == 0 and hits == 1, f"{name} did not come from the cache")
            warm[name].append(seconds * 1e3)
    return [
        over_kernels("first call, dispatcher built", cold, 0.5, "s"),
        over_kernels("first call, from the disk cache", warm, 50.0, "ms"),
    ]


def over_kernels(name: str, times: dict[str, list[float]], limit: float, unit: str) -> Bar:
    """The median over the kernels of each one's median."""
    medians = {kernel: median(values) for kernel, values in times.items()}
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
    times = [run(CALL, cache)[0] * 1e6 for _ in range(repetitions)]
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
    path = cache.parent / "script.py"
    path.write_text(INTERRUPTED, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, path], env=environment(cache), stdout=subprocess.PIPE, text=True, start_new_session=True
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
