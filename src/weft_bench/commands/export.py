"""`weft bench export FILE --format csv|json`: results for other programs.

CSV has a row for each cell, JSON every sample as well.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from weft_bench.cells import Cell, Run
from weft_bench.commands.sources import find_run, split_number
from weft_bench.matrix import find_kernel, make_score
from weft_bench.statistics import Estimate, median_estimate
from weft_bench.store import DEFAULT_FILE, open_store
from weft_bench.words import UsageError


def parser() -> argparse.ArgumentParser:
    """The options of `weft bench export`."""
    made = argparse.ArgumentParser(prog="weft bench export", description=__doc__)
    add = made.add_argument
    add("file", nargs="?", default=DEFAULT_FILE, metavar="FILE", help=f"of results, or FILE#RUN ({DEFAULT_FILE})")
    add("--format", choices=("csv", "json"), default="csv", help="csv: a row for each cell; json: every sample too")
    add("--run", type=int, metavar="N", help="one run of the file (all of them)")
    add("-o", "--output", metavar="OUT", help="file to write (standard output)")
    return made


def run(argv: Sequence[str]) -> int:
    """Write the results."""
    options = parser().parse_args(argv)
    text = export(_chosen(options.file, options.run), options.format)
    if options.output is None:
        sys.stdout.write(text)
        return 0
    try:
        Path(options.output).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        msg = f"{options.output}: cannot be written ({error.strerror}); choose another file by -o"
        raise UsageError(msg) from error
    return 0


def export(runs: Sequence[Run], form: str) -> str:
    """The text of either format."""
    if form == "json":
        return json.dumps([make_document(chosen) for chosen in runs], indent=1, allow_nan=False) + "\n"
    return write_csv([make_row(chosen, cell) for chosen in runs for cell in chosen.cells])


def make_row(chosen: Run, cell: Cell) -> dict[str, Any]:
    """A cell in one row; what is not known is empty."""
    score = make_score(cell)
    kernel = find_kernel(cell.kernel)
    plain = asdict(cell)
    nested = ("pairs", "adaptation", "work")
    lines: dict[str, Any] = dict.fromkeys(("numpy_lines", "lines", "changed", "kept", "is_override"))
    if cell.adaptation is not None:
        lines = asdict(cell.adaptation)
    return {
        "run": chosen.id,
        "started": chosen.started,
        "known_as": kernel.known_as if kernel else None,
        "domain": kernel.domain if kernel else None,
        "dwarf": kernel.dwarf if kernel else None,
        **{name: value for name, value in plain.items() if name not in nested},
        "samples": len(cell.pairs),
        **_estimated("numpy_seconds", median_estimate([p.numpy for p in cell.pairs]) if cell.pairs else None),
        **_estimated("seconds", score.seconds),
        **_estimated("speedup", score.speedup),
        "compile_seconds": score.compile_seconds,
        **lines,
        "work_bytes": cell.work.bytes if cell.work else None,
        "work_flops": cell.work.flops if cell.work else None,
    }


def make_document(chosen: Run) -> dict[str, Any]:
    """A run with its machine, its cells and every sample, in seconds."""
    cells = [
        {name: _finite(value) for name, value in make_row(chosen, cell).items() if name not in ("run", "started")}
        | {"pairs": [[_finite(pair.numpy), _finite(pair.framework)] for pair in cell.pairs]}
        for cell in chosen.cells
    ]
    about = {"run": chosen.id, "started": chosen.started, "command": chosen.command}
    return about | {"machine": _finite(chosen.machine), "cells": cells}


def write_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Comma separated, with a head; booleans as 0 and 1."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: int(value) if isinstance(value, bool) else value for name, value in row.items()})
    return text.getvalue()


def _chosen(word: str, number: int | None) -> list[Run]:
    """The run that is named, or all of the file that have results."""
    path, named = split_number(word)
    if number is not None or named is not None:
        return [find_run(word, number)[1]]
    return [found for found in open_store(path).runs() if found.cells] or [find_run(word)[1]]


def _estimated(name: str, found: Estimate | None) -> dict[str, float | None]:
    low = found.low if found is not None and found.is_bounded else None
    high = found.high if found is not None and found.is_bounded else None
    return {name: None if found is None else found.value, f"{name}_low": low, f"{name}_high": high}


def _finite(value: Any) -> Any:
    """JSON has no infinity (an error without bound, say): null stands for it."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in _items(value)}
    return [_finite(item) for item in _listed(value)] if isinstance(value, list | tuple) else value


def _items(value: Any) -> Iterable[tuple[Any, Any]]:
    return value.items()


def _listed(value: Any) -> Iterable[Any]:
    return value
