"""`weft bench report [FILE]`: figures, a page and the table of a run.

The page (report.html) needs nothing but a browser. The figures (SVG and PNG) need matplotlib, which comes by
pip install 'weft[bench]'.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from weft_bench.cells import Run
from weft_bench.commands.sources import find_run, make_console
from weft_bench.commands.summary import describe_frameworks, make_table
from weft_bench.figures import Drawing, FiguresUnavailableError, explain_missing, make_drawings
from weft_bench.matrix import Matrix, make_matrices
from weft_bench.page import make_page
from weft_bench.statistics import estimate_noise
from weft_bench.store import DEFAULT_FILE
from weft_bench.words import UsageError

DEFAULT_FOLDER = "weft-bench-report"


def parser() -> argparse.ArgumentParser:
    """The options of `weft bench report`."""
    made = argparse.ArgumentParser(
        prog="weft bench report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = made.add_argument
    add("file", nargs="?", default=DEFAULT_FILE, metavar="FILE", help=f"of results, or FILE#RUN ({DEFAULT_FILE})")
    add("-o", "--output", default=DEFAULT_FOLDER, metavar="FOLDER", help=f"where to write ({DEFAULT_FOLDER})")
    add("--run", type=int, metavar="N", help="which run of the file (the last)")
    add("--no-figures", action="store_true", help="the page and the table alone, which is quicker")
    return made


def run(argv: Sequence[str]) -> int:
    """Write the report and print its table."""
    options = parser().parse_args(argv)
    store, chosen = find_run(options.file, options.run)
    matrices = make_matrices(chosen)
    note = "The figures were left out (--no-figures)."
    drawings: list[Drawing] = []
    if not options.no_figures:
        drawings, note = draw(chosen, matrices, store.runs())
    written = write_report(Path(options.output), chosen, matrices, drawings, note)
    print_tables(chosen, matrices, make_console())
    print(f"Written: {', '.join(str(path) for path in written)}")
    if note and not options.no_figures:
        print(f"weft bench report: {note}", file=sys.stderr)
    return 0


def draw(chosen: Run, matrices: Sequence[Matrix], history: Sequence[Run]) -> tuple[list[Drawing], str]:
    """The figures, or none and the reason."""
    try:
        drawings = make_drawings(chosen, matrices, history)
    except FiguresUnavailableError as error:
        return [], str(error)
    missing = explain_missing(drawings)
    return drawings, f"Not drawn: {'; '.join(missing)}." if missing else ""


def write_report(
    folder: Path, chosen: Run, matrices: Sequence[Matrix], drawings: Sequence[Drawing], note: str
) -> list[Path]:
    """All files, the page first."""
    texts = {"report.html": make_page(chosen, matrices, drawings, note).encode("utf-8")}
    for drawing in drawings:
        texts[f"{drawing.name}.svg"] = drawing.svg.encode("utf-8")
        texts[f"{drawing.name}.png"] = drawing.png
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in texts.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        msg = f"{folder}: the report cannot be written there ({error.strerror}); choose another folder by -o"
        raise UsageError(msg) from error
    return [folder / name for name in texts]


def print_tables(chosen: Run, matrices: Sequence[Matrix], console: Console) -> None:
    """The tables `weft bench run` ends with, and what the noise was."""
    for matrix in matrices:
        console.print(f"Speed-up over NumPy, preset {matrix.setting.label}", style="italic", highlight=False)
        console.print(make_table(matrix))
        for line in describe_frameworks(matrix):
            console.print(line, highlight=False, soft_wrap=True)
    console.print(estimate_noise(chosen.cells).text, highlight=False, soft_wrap=True)
