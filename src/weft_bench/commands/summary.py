"""What `weft bench run` shows at its end: tables of speed-ups, geometric means, the noise, and where to go on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from weft_bench.cells import Run
from weft_bench.environments import home
from weft_bench.formats import show_factor, show_range, show_seconds
from weft_bench.matrix import Matrix, Row, framework_titles, make_matrices


def print_summary(run: Run, path: Path, noise: Sequence[str], console: Console) -> None:
    """All of it."""
    for matrix in make_matrices(run):
        console.print(f"Speed-up over NumPy, preset {matrix.setting.label}", style="italic", highlight=False)
        console.print(make_table(matrix))
        for line in describe_frameworks(matrix):
            console.print(line, highlight=False, soft_wrap=True)
    console.print()
    for sentence in noise:
        console.print(sentence, highlight=False, soft_wrap=True)
    for line in where_next(run, path):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def make_table(matrix: Matrix) -> Table:
    """Speed-ups over NumPy; the superscript is the size of the median's 95 % interval in percent of it.

    Frameworks that are not available here are not in it: what they miss is told below.
    """
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("kernel", no_wrap=True)
    table.add_column("NumPy", justify="right", no_wrap=True)
    shown = [name for name in matrix.frameworks if set(matrix.states(name)) != {"not available"}]
    titles = framework_titles(shown)
    for framework in shown:
        table.add_column(titles[framework], justify="right", no_wrap=True)
    for row in matrix.rows:
        seconds = matrix.numpy_seconds(row)
        numbers = [show_cell(matrix, row, framework) for framework in shown]
        table.add_row(escape(row.label), show_seconds(seconds.value) if seconds else "", *numbers)
    return table


def show_cell(matrix: Matrix, row: Row, framework: str) -> str:
    """`↑3.21¹²`, or the state of a failure."""
    score = matrix.score(row, framework)
    if score is None:
        return ""
    if score.speedup is None:
        return f"[red]{score.cell.state}[/]"
    colour = "green" if score.speedup.value >= 1.0 else "yellow"
    return f"[{colour}]{show_factor(score.speedup.value)}[/]{score.superscript}"


def describe_frameworks(matrix: Matrix) -> list[str]:
    """A sentence per framework: geometric mean with interval, over how many kernels, what became of the others."""
    lines: list[str] = []
    for framework in matrix.frameworks:
        rows = matrix.right(framework)
        mean = matrix.mean(framework, rows)
        states = [f"{count} {state}" for state, count in matrix.states(framework).items() if state != "ok"]
        rest = f"; {', '.join(states)}" if states else ""
        if mean is None:
            lines.append(f"[bold]{framework}[/]: no right result{rest}")
        else:
            over = f"{len(rows)} kernel{'' if len(rows) == 1 else 's'}"
            found = f"geometric mean {show_factor(mean.value)} (95 %: {show_range(mean)}) over {over}"
            lines.append(f"[bold]{framework}[/]: {found}{rest}")
    return lines


def where_next(run: Run, path: Path) -> list[str]:
    """Where the numbers are, and what can be done with them."""
    failures = [cell for cell in run.cells if cell.state not in ("ok", "not available")]
    lines = [
        f"Run {run.id} is in {path}, with every sample: `weft bench report {path}` makes figures and a page of it."
    ]
    if failures:
        lines += ["", "Failures:"]
        lines += [f"  {cell.kernel} {cell.framework} {cell.preset}: {cell.state}: {cell.message}" for cell in failures]
        lines.append(f"All that was said is in {home() / 'errors'}.")
    missing = sorted({f"{cell.framework}: {cell.message}" for cell in run.cells if cell.state == "not available"})
    return lines + [f"Not available: {reason}" for reason in missing]
