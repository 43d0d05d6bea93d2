"""`weft bench compare A B`: what became faster or slower from one run to another, with intervals.

A and B are files of results (their last runs) or runs of them, FILE#3. Compared are the speed-ups over NumPy, which was
measured beside each: another day or machine cancels as far as it hits both.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from weft_bench.cells import Run
from weft_bench.commands.sources import find_run, make_console
from weft_bench.comparison import Change, Comparison, compare_runs
from weft_bench.formats import show_factor, show_interval, show_number
from weft_bench.statistics import Estimate, estimate_noise
from weft_bench.words import UsageError

COLOURS = {"faster": "green", "slower": "red", "same": "dim"}


def parser() -> argparse.ArgumentParser:
    """The options of `weft bench compare`."""
    made = argparse.ArgumentParser(
        prog="weft bench compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("before", metavar="A", help="file of results, or FILE#RUN")
    made.add_argument("after", metavar="B", help="file of results, or FILE#RUN")
    made.add_argument("--changed", action="store_true", help="only what changed beyond the noise")
    return made


def run(argv: Sequence[str]) -> int:
    """Compare and print; the status is 0 whatever the comparison finds."""
    options = parser().parse_args(argv)
    _, before = find_run(options.before)
    _, after = find_run(options.after)
    found = compare_runs(before, after)
    if not found.changes:
        raise UsageError(_nothing_shared(before, after))
    print_comparison(found, before, after, make_console(), changed_only=options.changed)
    return 0


def print_comparison(found: Comparison, before: Run, after: Run, console: Console, *, changed_only: bool) -> None:
    """The table, the means and what they are worth."""
    console.print(
        f"A: run {before.id}, {before.started}: {before.command}", markup=False, highlight=False, soft_wrap=True
    )
    console.print(f"B: run {after.id}, {after.started}: {after.command}", markup=False, highlight=False, soft_wrap=True)
    shown = [change for change in found.changes if change.is_news or not changed_only]
    if shown:
        console.print(make_table(shown))
    for line in describe(found, before, after):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def make_table(changes: Sequence[Change]) -> Table:
    """A line for each cell that is in both runs."""
    table = Table(box=box.SIMPLE_HEAD)
    for head in ("kernel", "framework", "preset"):
        table.add_column(head, no_wrap=True)
    for head in ("A", "B", "B over A", "95 %"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for change in changes:
        cell = change.after
        where = (escape(cell.kernel), escape(cell.framework), escape(f"{cell.preset}, {cell.threads}"))
        table.add_row(*where, _side(change.before.state, change.old), _side(cell.state, change.new), *_outcome(change))
    return table


def describe(found: Comparison, before: Run, after: Run) -> list[str]:
    """The means, then what the reader must know to believe them."""
    lines = [
        f"{framework}: B is {show_number(mean.value)} times as fast as A against NumPy (geometric mean over {count}, "
        f"95 %: {show_interval(mean)})"
        for framework, (mean, count) in found.means.items()
    ]
    faster, slower = (sum(c.verdict == verdict for c in found.changes) for verdict in ("faster", "slower"))
    lines.append(f"Beyond the noise of {found.noise:.1%}: {faster} faster, {slower} slower of {len(found.changes)}.")
    for name, chosen in (("A", before), ("B", after)):
        if estimate_noise(chosen.cells).verdict not in ("quiet", "noisy"):
            lines.append(f"{name}: {estimate_noise(chosen.cells).text}")
    if found.numpy_ratio is not None and found.numpy_ratio.excludes(1.0):
        change = found.numpy_ratio
        lines.append(
            f"NumPy itself was {show_number(change.value)} times as fast in B (95 %: {show_interval(change)})."
        )
    if found.only_before or found.only_after:
        lines.append(f"Not compared, being in one run alone: {found.only_before} of A, {found.only_after} of B.")
    return lines


def _side(state: str, found: Estimate | None) -> str:
    return f"[red]{state}[/]" if found is None else show_factor(found.value)


def _outcome(change: Change) -> tuple[str, str, str]:
    if change.ratio is None:
        return "", "", "[red]other outcome[/]" if change.is_news else ""
    word = "" if change.verdict == "same" else f"[{COLOURS[change.verdict]}]{change.verdict}[/]"
    return show_number(change.ratio.value), show_interval(change.ratio), word


def _nothing_shared(before: Run, after: Run) -> str:
    """What each of the runs has, so that the next one can match."""
    sides: list[str] = []
    for name, chosen in (("A", before), ("B", after)):
        frameworks = sorted({cell.framework for cell in chosen.cells})
        settings = sorted({f"{cell.preset} with {cell.threads} threads" for cell in chosen.cells})
        sides.append(f"{name} has {', '.join(frameworks)} at {', '.join(settings)}")
    return (
        f"the two runs share no kernel, framework, preset and thread count: {'; '.join(sides)}. "
        "Run the second with the options of the first."
    )
