"""Every sample of a kernel as a tick on a line: small pictures that show spread, outliers and two-humped times.

Each side is drawn against its own median, on one scale for the whole kernel: who is faster, the numbers say; who is
steady, only the samples do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import median

from weft_bench.cells import Cell
from weft_bench.formats import show_seconds
from weft_bench.page.markup import Html, element

WIDTH, HEIGHT, MARGIN = 220.0, 24.0, 4.0
LEAST_SPREAD = 0.02  # samples that hardly differ must not fill the strip


@dataclass(frozen=True, slots=True)
class Scale:
    """The axis the strips of one kernel share: logarithms of sample over median."""

    low: float
    high: float

    @property
    def text(self) -> str:
        """`-3 % to +12 %`."""
        return f"{exp(self.low) - 1.0:+.0%} to {exp(self.high) - 1.0:+.0%}"

    def place(self, deviation: float) -> float:
        """Where on the strip."""
        return MARGIN + (deviation - self.low) / (self.high - self.low) * (WIDTH - 2.0 * MARGIN)


def make_scale(cells: Sequence[Cell]) -> Scale | None:
    """Wide enough for every sample of the cells; None without any."""
    sides = [side for cell in cells for side in _sides(cell)]
    found = [deviation for side in sides for deviation in _deviations(side)]
    if not found:
        return None
    return Scale(min(*found, -LEAST_SPREAD), max(*found, LEAST_SPREAD))


def draw_strip(cell: Cell, scale: Scale) -> Html:
    """NumPy's samples above, the framework's below, around the line of the medians."""
    numpy, framework = _sides(cell)
    middle = scale.place(0.0)
    return element(
        "svg",
        element("path", class_="line", d=f"M0 {HEIGHT / 2:g}H{WIDTH:g}M{middle:.1f} 0V{HEIGHT:g}"),
        element("path", class_="numpy", d=_ticks(numpy, scale, top=2.0)),
        element("path", class_="own", d=_ticks(framework, scale, top=HEIGHT / 2 + 1.0)),
        class_="strip",
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        role="img",
        aria_label=f"{len(framework)} samples, {show_seconds(min(framework))} to {show_seconds(max(framework))}",
    )


def _sides(cell: Cell) -> tuple[list[float], list[float]]:
    return [pair.numpy for pair in cell.pairs], [pair.framework for pair in cell.pairs]


def _deviations(seconds: Sequence[float]) -> list[float]:
    known = [value for value in seconds if value > 0.0]
    return [log(value / median(known)) for value in known]


def _ticks(seconds: Sequence[float], scale: Scale, top: float) -> str:
    return "".join(f"M{scale.place(deviation):.1f} {top:g}v9" for deviation in _deviations(seconds))
