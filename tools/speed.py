"""Measure Weft against NumPy on the benchmark kernels and hold the ratios to their bars: `python tools/speed.py`.

          kernel                   NumPy      Weft    ratio  95 % of it     compile
    PASS  jacobi_2d             112.0 ms   20.1 ms     5.57  5.31 .. 5.80    0.31 s
    FAIL  normal_product         63.3 ms   70.2 ms     0.90  0.88 .. 0.93    0.28 s

Each kernel has a process of its own, with nothing of it in the disk cache. The two sides run in turn, on fresh copies
of what they change, which are made outside the time. The interval is a bootstrap over the turns. A kernel passes if its
results agree with NumPy's and the lower end of the interval is at least 0.95. The exit status is 0 if all is well.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import exp, inf, log
from pathlib import Path
from statistics import median
from typing import Any, cast

import numpy as np

import weft
from bars import Bar
from weft_bench.agreement import compare_outputs
from weft_bench.demo import show_seconds
from weft_bench.fresh_process import environment, fresh_cache
from weft_bench.kernel import Kernel, Preset
from weft_bench.kernels import BY_NAME
from weft_bench.timing import fresh, run_once, time_every_run

# Both sides call the same library for nearly all of their time: there is little to win.
PRODUCTS = frozenset({
    "matrix_product", "two_products", "three_products", "normal_product", "biconjugate_products", "mode_product",
    "transposed_products", "summed_products", "rank_two_update", "triangular_solve", "perceptron", "covariance_product",
    "library_cholesky", "contour_integral",
})  # fmt: skip
# NumPy runs these element by element in Python: there is everything to win.
SCALAR_LOOPS = frozenset({"cholesky", "crc16", "nussinov", "seidel_2d"})

NOT_SLOWER = 0.95  # the lower end of a kernel's ratio
RESAMPLES = 4000
THREAD_VARIABLES = ("WEFT_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured on one kernel; `problem` says why it fails whatever its speed."""

    name: str
    numpy_seconds: float
    weft_seconds: float
    ratio: float
    low: float
    high: float
    compile_seconds: float
    legality_seconds: float = 0.0  # the part of it in the legality core
    problem: str = ""

    @property
    def kept(self) -> bool:
        """Whether the kernel agrees and is not slower."""
        return not self.problem and self.low >= NOT_SLOWER

    def __str__(self) -> str:
        verdict = "PASS" if self.kept else "FAIL"
        sides = f"{show_seconds(self.numpy_seconds):>9} {show_seconds(self.weft_seconds):>9}"
        interval = f"{self.ratio:8.2f}  {self.low:.2f} .. {self.high:.2f}"
        return (
            f"{verdict}  {self.name:<22} {sides} {interval:<28} {self.compile_seconds:5.2f} s  {self.problem}".rstrip()
        )


# ---------------------------------------------------------------- one kernel, in a process of its own


def measure(kernel: Kernel, preset: Preset, repetitions: int) -> Row:
    """Compile, compare the first results, then time both sides in turn."""
    inputs = kernel.inputs(preset)
    program = weft.program(kernel.function, fallback="error")
    expected_inputs, actual_inputs = fresh(inputs), fresh(inputs)
    expected, _ = run_once(kernel.function, expected_inputs)
    actual, _ = run_once(program, actual_inputs)
    compiling = (float(program.stats.compile_seconds), float(program.stats.legality_seconds))
    problem = compare_outputs(
        kernel.collect(expected, expected_inputs),
        kernel.collect(actual, actual_inputs),
        kernel.tolerance(kernel.presets[preset]),
    ).reason
    del expected, actual, expected_inputs, actual_inputs
    in_numpy, in_weft = time_every_run((kernel.function, program), lambda: fresh(inputs), repetitions)
    stats = program.stats
    if stats.resumes or stats.fallback_calls or stats.python_calls or stats.compiles != 1:
        problem = problem or "Python ran a part of it, or it was compiled more than once"
    ratio, low, high = compare_times(in_numpy, in_weft)
    return Row(kernel.name, median(in_numpy), median(in_weft), ratio, low, high, *compiling, problem)


def compare_times(in_numpy: Sequence[float], in_weft: Sequence[float]) -> tuple[float, float, float]:
    """The ratio of the medians, and the ends of its 95 % bootstrap interval over the turns."""
    pairs = np.array([in_numpy, in_weft])
    turns = np.random.default_rng(1).integers(0, pairs.shape[1], (RESAMPLES, pairs.shape[1]))
    medians = np.median(pairs[:, turns], axis=-1)
    low, high = np.percentile(medians[0] / medians[1], [2.5, 97.5])
    return median(in_numpy) / median(in_weft), float(low), float(high)


def measure_apart(name: str, cache: Path, chosen: argparse.Namespace) -> Row:
    """`measure` in another process; one that ends badly is a row that fails."""
    threads = {} if chosen.threads is None else dict.fromkeys(THREAD_VARIABLES, str(chosen.threads))
    command = [sys.executable, __file__, "--here", name, "--preset", chosen.preset]
    result = subprocess.run(
        [*command, "--repetitions", str(chosen.repetitions)],
        env={**environment(cache), **threads}, capture_output=True, text=True, check=False, timeout=1200,
    )  # fmt: skip
    if result.returncode != 0:
        words = result.stderr.strip().splitlines() or [f"the process ended with {result.returncode}"]
        return Row(name, inf, inf, 0.0, 0.0, 0.0, 0.0, problem=words[-1])
    return Row(**cast("dict[str, Any]", json.loads(result.stdout)))


# ---------------------------------------------------------------- all of them


def summarise(rows: Sequence[Row]) -> list[Bar]:
    """The bars over all kernels that could be measured."""
    measured = [row for row in rows if row.ratio > 0.0]
    others = [row for row in measured if row.name not in PRODUCTS]
    bars: list[Bar] = []
    if others:
        arrays = [row for row in others if row.name not in SCALAR_LOOPS]
        note = f"{len(others)} kernels; without those NumPy runs element by element {geometric_mean(arrays):.3g} x"
        bars.append(Bar("stencils, loops, element-wise: mean", geometric_mean(others), 4.0, "x", note, at_least=True))
    if measured:
        seconds = {row.name: row.compile_seconds for row in measured}
        slowest = max(seconds, key=lambda name: seconds[name])
        bars.append(Bar("compiling, median", median(seconds.values()), 0.6, "s", f"{len(seconds)} kernels"))
        bars.append(Bar("compiling, worst", seconds[slowest], 2.0, "s", slowest))
        shares = {row.name: row.legality_seconds / row.compile_seconds for row in measured if row.compile_seconds}
        most = max(shares, key=lambda name: shares[name])
        bars.append(Bar("compiling, share of the legality core", shares[most], 1 / 3, "", f"the worst, {most}"))
    return bars


def geometric_mean(rows: Sequence[Row]) -> float:
    """Of the ratios; 1 of none."""
    return exp(sum(log(row.ratio) for row in rows) / len(rows)) if rows else 1.0


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="speed.py", description="measure Weft against NumPy on the kernels")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="names of kernels (all of them by default)")
    parser.add_argument("--preset", choices=("S", "M", "L"), default="M", help="sizes: NumPy takes 10 ms, 100 ms, 1 s")
    parser.add_argument("--repetitions", type=int, default=11, help="turns, each a run of both sides (11)")
    parser.add_argument("--threads", type=int, help="threads of Weft and of NumPy's library (the machine's default)")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON instead of a table")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # one kernel, in this process
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.kernels if name not in BY_NAME]
    if unknown:
        parser.error(f"no kernel named {', '.join(unknown)}; there are {', '.join(BY_NAME)}")
    if chosen.repetitions < 1 or (chosen.threads is not None and chosen.threads < 1):
        parser.error("at least one repetition and one thread are needed")
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the exit status."""
    chosen = read_arguments(arguments)
    names: list[str] = chosen.kernels or list(BY_NAME)
    if chosen.here:
        print(json.dumps(asdict(measure(BY_NAME[names[0]], chosen.preset, chosen.repetitions))))
        return 0
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="weft-speed-") as directory:
        cache = fresh_cache(Path(directory), "speed")
        if not chosen.json:
            print(f"      {'kernel':<22} {'NumPy':>9} {'Weft':>9} {'ratio':>8}  {'95 % of it':<18} compile")
        for name in names:
            rows.append(measure_apart(name, cache, chosen))
            if not chosen.json:
                print(rows[-1], flush=True)
    bars = summarise(rows)
    if chosen.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "bars": [asdict(bar) for bar in bars]}, indent=2))
    else:
        print("", *bars, f"{sum(row.kept for row in rows)} of {len(rows)} kernels pass", sep="\n")
    return 0 if all(item.kept for item in (*rows, *bars)) else 1


if __name__ == "__main__":
    sys.exit(main())
