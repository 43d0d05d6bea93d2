"""`make demo`: compile the kernels, run each against NumPy, print one table.

    kernel           agreement   NumPy     Weft      ratio   compile
    jacobi_2d        ok (bits)   112 ms    20.1 ms   5.6 x   0.31 s

The exit status is 0 if every kernel agrees with NumPy, 1 if one does not, 2 if Weft could not compile.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import weft
from weft_bench.agreement import Agreement, compare_outputs
from weft_bench.formats import show_seconds
from weft_bench.kernel import Kernel, Preset
from weft_bench.kernels import BY_NAME, KERNELS
from weft_bench.timing import fresh, run_once, time_interleaved

AGREES, DIFFERS, CANNOT_COMPILE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Row:
    """What the table says about one kernel; `compile_seconds` is None when the code came from the cache."""

    kernel: Kernel
    agreement: Agreement
    numpy_seconds: float
    weft_seconds: float
    compile_seconds: float | None

    @property
    def ratio(self) -> float:
        """How many times faster than NumPy."""
        return self.numpy_seconds / self.weft_seconds


def measure(kernel: Kernel, preset: Preset, repetitions: int) -> Row:
    """Compile the kernel for its first set of inputs, compare that run with NumPy's, then time both."""
    inputs = kernel.inputs(preset)
    program = weft.program(kernel.function, fallback="error")
    expected_inputs, actual_inputs = fresh(inputs), fresh(inputs)
    expected, _ = run_once(kernel.function, expected_inputs)
    actual, _ = run_once(program, actual_inputs)
    agreement = compare_outputs(
        kernel.collect(expected, expected_inputs),
        kernel.collect(actual, actual_inputs),
        kernel.tolerance(kernel.presets[preset]),
    )
    numpy_seconds, weft_seconds = time_interleaved((kernel.function, program), lambda: fresh(inputs), repetitions)
    stats = program.stats
    compile_seconds = float(stats.compile_seconds) if stats.compiles else None
    return Row(kernel, agreement, numpy_seconds, weft_seconds, compile_seconds)


def measure_all(kernels: Sequence[Kernel], preset: Preset, repetitions: int, console: Console) -> list[Row]:
    """One row per kernel, under a progress bar that goes away at the end."""
    columns = (TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    rows: list[Row] = []
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(kernels))
        for kernel in kernels:
            progress.update(task, description=kernel.name)
            rows.append(measure(kernel, preset, repetitions))
            progress.advance(task)
    return rows


def show_agreement(row: Row) -> str:
    """`ok (bits)`, `ok (2.1 eps)` or what differs."""
    if not row.agreement.ok:
        return f"[bold red]{row.agreement.reason}[/]"
    error = row.agreement.error_eps
    return "[green]ok[/] (bits)" if error == 0.0 else f"[green]ok[/] ({error:.1f} eps)"


def make_table(rows: Sequence[Row]) -> Table:
    """The table of the demo."""
    table = Table(title="Weft and NumPy on the same programs", title_justify="left")
    table.add_column("kernel", no_wrap=True)
    table.add_column("agreement", overflow="fold")
    for heading in ("NumPy", "Weft", "ratio", "compile"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        compiled = "cached" if row.compile_seconds is None else show_seconds(row.compile_seconds)
        numbers = (show_seconds(row.numpy_seconds), show_seconds(row.weft_seconds), f"{row.ratio:.1f} x", compiled)
        table.add_row(row.kernel.name, show_agreement(row), *numbers)
    mean = exp(sum(log(row.ratio) for row in rows) / len(rows))
    table.caption = f"geometric mean of the ratios: {mean:.1f} x"
    return table


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m weft_bench.demo", description="compile and compare the kernels")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="names of kernels (all of them by default)")
    parser.add_argument("--preset", choices=("S", "M", "L"), default="M", help="sizes: NumPy takes 10 ms, 100 ms, 1 s")
    parser.add_argument("--repetitions", type=int, default=5, help="timed runs of each side (5)")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.kernels if name not in BY_NAME]
    if unknown:
        parser.error(f"no kernel named {', '.join(unknown)}; there are {', '.join(BY_NAME)}")
    if chosen.repetitions < 1:
        parser.error("at least one repetition is needed")
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; the exit status."""
    chosen = read_arguments(arguments)
    kernels = [BY_NAME[name] for name in cast("list[str]", chosen.kernels)] or list(KERNELS)
    console = Console()
    try:
        rows = measure_all(kernels, chosen.preset, chosen.repetitions, console)
    except weft.WeftError as error:
        print(f"weft demo: a kernel could not be compiled.\n{error}\nWhat Weft found here: weft info", file=sys.stderr)
        return CANNOT_COMPILE
    console.print(make_table(rows))
    differing = [row.kernel.name for row in rows if not row.agreement.ok]
    if differing:
        print(f"weft demo: {', '.join(differing)} differ from NumPy", file=sys.stderr)
        return DIFFERS
    return AGREES


if __name__ == "__main__":
    sys.exit(main())
