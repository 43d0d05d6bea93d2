"""What is told while a run goes on: a bar with the time left on a terminal, a line per cell elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from weft_bench.cells import Cell
from weft_bench.formats import show_factor
from weft_bench.matrix import make_score
from weft_bench.runner import Plan


class Told:
    """The progress of a run; `already` cells are there from an earlier part of it."""

    def __init__(self, console: Console, total: int, already: int) -> None:
        self._console, self._total, self._done = console, total, 0
        self._start = time.monotonic()
        columns = (
            TextColumn("{task.description:<36}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(),
        )  # fmt: skip
        self._bar = Progress(
            *columns,
            console=console,
            transient=True,
            disable=not console.is_terminal,
            refresh_per_second=1,  # drawing takes time from what is measured
            speed_estimate_period=3600,  # cells may be minutes apart
        )
        self._task = self._bar.add_task("", total=total)
        if already:
            console.print(f"{already} cells are there already, {total} to go", highlight=False)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, plan: Plan) -> None:
        """A cell is being measured."""
        self._bar.update(self._task, description=f"{plan.program.label} {plan.framework.name} {plan.preset}")

    def end(self, cell: Cell) -> None:
        """It is there: what came out, on the terminal only if it is a failure."""
        self._done += 1
        self._bar.advance(self._task)
        failed = cell.state not in ("ok", "not available")
        if failed or not self._console.is_terminal:
            place = f"{cell.kernel} {cell.framework} {cell.preset}"
            self._console.print(
                f"[{self._done}/{self._total}] {place}: {outcome(cell)}{self._time_left()}",
                highlight=False, markup=False, soft_wrap=True,
            )  # fmt: skip

    def _time_left(self) -> str:
        if self._console.is_terminal or self._done == self._total:
            return ""
        seconds = (time.monotonic() - self._start) / self._done * (self._total - self._done)
        return f" (about {seconds / 60:.0f} min left)" if seconds >= 90 else f" (about {seconds:.0f} s left)"


def outcome(cell: Cell) -> str:
    """`↑3.21`, or the kind of failure and its message."""
    ratio = make_score(cell).speedup
    return show_factor(ratio.value) if ratio is not None else f"{cell.state}: {cell.message}"
