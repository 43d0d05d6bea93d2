"""What opens below a kernel: every framework with its samples, times, memory, error, lines and share of the limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft_bench.cells import Cell, Work
from weft_bench.formats import show_bytes, show_factor, show_number, show_range, show_seconds
from weft_bench.limits import Limit, fraction, limit_seconds
from weft_bench.matrix import NUMPY, Matrix, Row, Score
from weft_bench.page.markup import Html, element
from weft_bench.page.strips import Scale, draw_strip, make_scale

HEADS = (
    ("Framework", ""),
    ("Samples", "NumPy's above, the framework's below, each against its own median (the upright line)"),
    ("Speed-up", "ratio of the medians over NumPy, with its 95 % interval"),
    ("Median", "of a call"),
    ("First call", "with what the framework compiles then"),
    ("Compile", "build and first call, less a later call"),
    ("Pays after", "calls until the compile time is won back against NumPy"),
    ("Peak memory", "above what the process held before the first call"),
    ("Error", "the largest of the outputs, in units of epsilon"),
    ("Of the limit", "share of the least time the processor needs for the kernel's bytes and operations"),
    ("Lines", "changed; share of NumPy's lines kept"),
)


def make_detail(matrix: Matrix, row: Row, titles: Mapping[str, str], machine: Mapping[str, Any]) -> Html:
    """The text and table of one kernel."""
    scores = [score for name in (NUMPY, *matrix.frameworks) if (score := matrix.score(row, name)) is not None]
    scale = make_scale([score.cell for score in scores])
    works = [score.cell.work for score in scores if score.cell.work is not None]
    limit = find_limit(works[0], machine, matrix.setting.threads, row.dtype) if works else None
    heads = element("tr", *(element("th", head, scope="col", title=title or None) for head, title in HEADS))
    span = "" if scale is None else f" Samples from {scale.text} of their medians."
    lines = [
        _line(score, titles[name], scale, None if name in matrix.on_gpu else limit)
        for score in scores
        for name in (score.cell.framework,)
    ]
    table = element("table", element("thead", heads), element("tbody", *lines), class_="detail-table")
    about = f"{row.title}. {row.domain}, {row.dwarf.lower()}; {row.dtype}."
    return element(
        "div", element("p", about, " ", _work_text(works, limit), span), element("div", table, class_="scroll")
    )


def find_limit(work: Work, machine: Mapping[str, Any], threads: int, dtype: str) -> Limit | None:
    """The least time on that machine; None where it was not measured, or is described in a way we do not know."""
    try:
        return limit_seconds(work, machine, threads, dtype)
    except (KeyError, TypeError, AttributeError, ValueError):
        return None


def _work_text(works: list[Work], limit: Limit | None) -> str:
    if not works:
        return ""
    work = works[0]
    least = f"At least {show_bytes(work.bytes)} to move and {work.flops / 1e6:,.2f} million operations"
    if limit is None:
        return f"{least}."
    where = f"bandwidth of {limit.level}" if limit.bound == "memory" else "arithmetic"
    return f"{least}: no less than {show_seconds(limit.seconds)} on this processor, bound by {where}."


def _line(score: Score, title: str, scale: Scale | None, limit: Limit | None) -> Html:
    cell = score.cell
    name = element("th", title, scope="row")
    if score.speedup is None or score.seconds is None or scale is None:
        text = element("td", element("b", cell.state), f" {cell.message}", colspan=len(HEADS) - 2, class_="failure")
        return element("tr", name, text, element("td", _lines_text(cell), class_="number"))
    strip = draw_strip(cell, scale)
    ratio = [show_factor(score.speedup.value), " ", element("small", show_range(score.speedup))]
    numbers = [
        show_seconds(score.seconds.value),
        "" if cell.first_seconds is None else show_seconds(cell.first_seconds),
        _compile_text(score),
        _break_even(score),
        "" if cell.peak_bytes is None else show_bytes(cell.peak_bytes),
        _error_text(cell),
        "" if limit is None else f"{fraction(limit, score.seconds.value):.1%}",
        _lines_text(cell),
    ]
    cells = [element("td", number, class_="number") for number in numbers]
    return element("tr", name, element("td", strip), element("td", *ratio, class_="number"), *cells)


def _compile_text(score: Score) -> str:
    if score.cell.from_artefacts:
        return "kept"
    seconds = score.compile_seconds
    return "" if seconds is None or score.cell.framework == NUMPY else show_seconds(seconds)


def _break_even(score: Score) -> str:
    """How often the kernel must be called until compiling it has paid."""
    seconds = score.compile_seconds
    if seconds is None or score.seconds is None or score.speedup is None or score.cell.framework == NUMPY:
        return ""
    won = score.seconds.value * (score.speedup.value - 1.0)
    return f"{seconds / won:,.0f}" if won > 0.0 else "never"


def _error_text(cell: Cell) -> str:
    if cell.error_eps is None:
        return ""
    return "same bits" if cell.error_eps == 0.0 else f"{show_number(cell.error_eps)} eps"


def _lines_text(cell: Cell) -> str:
    if cell.adaptation is None:
        return ""
    kind = ", override" if cell.adaptation.is_override else ""
    return f"{cell.adaptation.changed}; {cell.adaptation.kept:.0%}{kind}"
