"""The paper's Figures 3 and 2 from our data: speed-up over NumPy, and what the adaptations change.

Total            -       ↑4.51    ↑3.02
Linear algebra   -       ↑1.90    ↑1.22
lu               11 ms   ↑9.31³   compile
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from weft_bench.cells import Cell
from weft_bench.colours import INK, MUTED, domain_colour, share_colour, speedup_colour
from weft_bench.figures.canvas import Drawing, finish, new_figure, paint, table_axes, write
from weft_bench.formats import SUPERSCRIPTS, show_factor, show_seconds, show_width
from weft_bench.matrix import Matrix, Row, Score
from weft_bench.statistics import Estimate

CELL_WIDTH, CELL_HEIGHT = 0.92, 0.205  # inches
LABELS, EDGE, HEAD, FOOT = 2.25, 0.25, 0.75, 0.65
EMPTY, PLAIN = "#f5f6f8", "#e9ecf1"

SPEEDUP_CAPTION = (
    "↑ times faster and ↓ times slower than NumPy (ratio of medians of interleaved pairs); first column: NumPy's "
    "median time. Superscript: 95 % interval of the median in percent of it, from 1 % on. Means are geometric, over "
    "what the framework computes rightly."
)
ADAPTATION_CAPTION = (
    "Lines more or fewer than the NumPy program has (last column); superscript, where it is another number: lines "
    "added, removed or altered. Colour: share of NumPy's lines kept as they are, from red (none) to green (all). "
    "Framed: an override file, otherwise the NumPy source as it is with what the adapter adds."
)


def draw_speedups(matrix: Matrix, titles: Mapping[str, str]) -> Drawing:
    """Figure 3 of the paper: NumPy's time, then every framework's ratio; means per domain and in all on top."""
    columns = 1 + len(matrix.frameworks)
    means = 1 + len(matrix.domains)
    figure, axes = _new_table(columns, means + 1.0 + len(matrix.rows) + _gaps(matrix))
    _write_heads(axes, ["NumPy", *(titles[name] for name in matrix.frameworks)])
    _write_title(axes, f"Speed-up over NumPy: preset {matrix.setting.label}")
    _paint_means(axes, matrix)
    for y, row in _places(matrix, means + 1.0):
        write(axes, -0.08, y + 0.5, row.label, ha="right", fontsize=8, color=domain_colour(row.domain))
        numpy = matrix.numpy_seconds(row)
        shown = "" if numpy is None else show_seconds(numpy.value) + show_width(numpy)
        paint(axes, 0.0, y, PLAIN, shown, size=7)
        for x, framework in enumerate(matrix.frameworks, start=1):
            _paint_score(axes, x, y, matrix.score(row, framework))
    _write_foot(axes, columns, SPEEDUP_CAPTION)
    return finish(figure, "heatmap", "Speed-up over NumPy", SPEEDUP_CAPTION)


def draw_adaptations(matrix: Matrix, titles: Mapping[str, str]) -> Drawing | None:
    """Figure 2 of the paper: change in lines as numbers, share kept as colour, NumPy's lines last; None without any."""
    measured = [
        name
        for name in matrix.frameworks
        if any((score := matrix.score(row, name)) and score.cell.adaptation for row in matrix.rows)
    ]
    if not measured:
        return None
    figure, axes = _new_table(len(measured) + 1, len(matrix.rows) + _gaps(matrix))
    _write_heads(axes, [*(titles[name] for name in measured), "NumPy lines"])
    _write_title(axes, "Code adaptation: change in lines, share of NumPy's lines kept")
    for y, row in _places(matrix, 0.0):
        write(axes, -0.08, y + 0.5, row.label, ha="right", fontsize=8, color=domain_colour(row.domain))
        cells = [score.cell if (score := matrix.score(row, name)) else None for name in measured]
        for x, cell in enumerate(cells):
            _paint_adaptation(axes, x, y, cell)
        lines = [cell.adaptation.numpy_lines for cell in cells if cell is not None and cell.adaptation is not None]
        paint(axes, len(measured), y, PLAIN, str(lines[0]) if lines else "")
    _write_foot(axes, len(measured) + 1, ADAPTATION_CAPTION)
    return finish(figure, "adaptation", "Code adaptation", ADAPTATION_CAPTION)


def _new_table(columns: float, rows: float) -> tuple[Any, Any]:
    width = LABELS + EDGE + max(columns, 4) * CELL_WIDTH
    figure = new_figure(width, HEAD + FOOT + rows * CELL_HEIGHT)
    spare = (max(columns, 4) - columns) * CELL_WIDTH
    return figure, table_axes(figure, columns, rows, (LABELS, EDGE + spare, HEAD, FOOT))


def _write_title(axes: Any, text: str) -> None:
    write(axes, -LABELS / CELL_WIDTH + 0.15, -2.6, text, fontsize=11, fontweight="bold")


def _write_heads(axes: Any, heads: list[str]) -> None:
    for x, head in enumerate(heads):
        write(axes, x + 0.5, -0.75, head, ha="center", fontsize=8.5, fontweight="bold")


def _write_foot(axes: Any, columns: int, caption: str) -> None:
    """The caption below the table, broken to its width."""
    signs = int((LABELS + max(columns, 4) * CELL_WIDTH) * 19.5)
    bottom = axes.get_ylim()[0]
    for number, line in enumerate(_broken(caption, signs)):
        write(axes, -LABELS / CELL_WIDTH + 0.15, bottom + 0.9 + 0.68 * number, line, fontsize=6, color=MUTED)


def _broken(text: str, width: int) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield line


def _gaps(matrix: Matrix) -> float:
    return 0.3 * (len(matrix.domains) - 1)


def _places(matrix: Matrix, top: float) -> Iterator[tuple[float, Row]]:
    """Where each row stands, with a gap between two domains."""
    domains = matrix.domains
    for number, row in enumerate(matrix.rows):
        yield top + number + 0.3 * domains.index(row.domain), row


def _paint_means(axes: Any, matrix: Matrix) -> None:
    """The overview on top, whose coloured names are the legend of the domains."""
    lines: list[tuple[str, str | None, str]] = [("Total", None, INK)]
    lines += [(domain, domain, domain_colour(domain)) for domain in matrix.domains]
    for y, (label, domain, colour) in enumerate(lines):
        weight = "bold" if domain is None else "normal"
        write(axes, -0.08, y + 0.5, label, ha="right", fontsize=8, color=colour, fontweight=weight)
        count = sum(1 for row in matrix.rows if domain in (None, row.domain))
        paint(axes, 0.0, y, PLAIN, f"{count} kernel{'' if count == 1 else 's'}", size=6.5)
        for x, framework in enumerate(matrix.frameworks, start=1):
            mean = matrix.mean(framework, matrix.right(framework, domain))
            _paint_estimate(axes, x, y, mean, show=lambda found: show_factor(found.value) + show_width(found))


def _paint_score(axes: Any, x: float, y: float, score: Score | None) -> None:
    if score is not None and score.speedup is not None:
        width = score.superscript
        _paint_estimate(axes, x, y, score.speedup, show=lambda found: show_factor(found.value) + width)
    else:
        paint(axes, x, y, EMPTY, "" if score is None else score.cell.state, size=6.5)


def _paint_estimate(axes: Any, x: float, y: float, found: Estimate | None, show: Callable[[Estimate], str]) -> None:
    if found is None:
        paint(axes, x, y, EMPTY, "")
    else:
        paint(axes, x, y, speedup_colour(found.value), show(found))


def _paint_adaptation(axes: Any, x: float, y: float, cell: Cell | None) -> None:
    if cell is None or cell.adaptation is None:
        paint(axes, x, y, EMPTY, "" if cell is None or cell.state == "ok" else cell.state, size=6.5)
        return
    found = cell.adaptation
    more = found.lines - found.numpy_lines
    changed = str(found.changed).translate(SUPERSCRIPTS) if found.changed != abs(more) else ""
    paint(axes, x, y, share_colour(found.kept), f"{more:+d}{changed}")
    if found.is_override:
        axes.plot(
            [x + 0.03, x + 0.97, x + 0.97, x + 0.03, x + 0.03],
            [y + 0.08] * 2 + [y + 0.92] * 2 + [y + 0.08],
            color=INK,
            linewidth=0.7,
        )
