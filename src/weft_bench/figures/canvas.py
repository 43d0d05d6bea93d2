"""The one place that knows matplotlib: blank figures, text that is only text, SVG and PNG.

matplotlib is an extra (`weft[bench]`). It is loaded by name, so that nothing else of the suite needs it.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from typing import Any

from weft_bench.colours import INK, ink_on

DOTS_PER_INCH = 150
SETTINGS = {
    "svg.fonttype": "none",  # text stays text: small files, and it can be searched
    "svg.hashsalt": "weft",  # the same data, the same file
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica"],
    "text.parse_math": False,  # a name with two dollars is a name
    "axes.spines.top": False,
    "axes.spines.right": False,
}


class FiguresUnavailableError(Exception):
    """There is no matplotlib here; the message says how to get it."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A finished figure; `name` is that of its files."""

    name: str
    title: str
    caption: str
    svg: str
    png: bytes

    def inline_svg(self) -> str:
        """The SVG for a page: without XML head and metadata, ids its own, as wide as its place allows."""
        body = re.sub(r"<metadata>.*?</metadata>", "", self.svg[self.svg.index("<svg") :], flags=re.DOTALL)
        body = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{self.name}-", body)
        size = r'<svg\b([^>]*?) width="([^"]*)" height="[^"]*"'
        return re.sub(size, rf'<svg role="img" aria-label="{self.title}" style="max-width:\2"\1', body, count=1)


def new_figure(width: float, height: float) -> Any:
    """An empty figure of so many inches."""
    figure_module = _load("matplotlib.figure")
    with _settings():
        return figure_module.Figure(figsize=(width, height), facecolor="white")


def new_panels(figure: Any, columns: int) -> list[Any]:
    """Ordinary axes side by side."""
    with _settings():
        return list(figure.subplots(1, columns, squeeze=False)[0])


def finish(figure: Any, name: str, title: str, caption: str) -> Drawing:
    """Write the figure in both formats."""
    svg, png = BytesIO(), BytesIO()
    with _settings(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the SVG has it, a browser's font will
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": "weft bench"})
        figure.savefig(png, format="png", dpi=DOTS_PER_INCH)
    return Drawing(name, title, caption, svg.getvalue().decode("utf-8"), png.getvalue())


def write(axes: Any, x: float, y: float, text: str, **style: Any) -> None:
    """Text that is taken literally; what no font has a sign for is left out."""
    shown = "".join(sign for sign in text if sign.isprintable() or sign == "\n")
    axes.text(x, y, shown, parse_math=False, **({"color": INK, "va": "center", "clip_on": False} | style))


def paint(axes: Any, x: float, y: float, colour: str, text: str, size: float = 7.5) -> None:
    """One cell of a heat map, a unit wide and high, with its text in the middle."""
    patches = _load("matplotlib.patches")
    axes.add_patch(patches.Rectangle((x, y), 1.0, 1.0, facecolor=colour, edgecolor="white", linewidth=0.8))
    write(axes, x + 0.5, y + 0.5, text, ha="center", fontsize=size, color=ink_on(colour))


def table_axes(figure: Any, columns: float, rows: float, margins: tuple[float, float, float, float]) -> Any:
    """Axes in units of cells, y down, nothing drawn; `margins` are inches left, right, above and below."""
    width, height = figure.get_size_inches()
    left, right, above, below = margins
    box = (left / width, below / height, 1.0 - (left + right) / width, 1.0 - (above + below) / height)
    axes = figure.add_axes(box)
    axes.set_xlim(0.0, columns)
    axes.set_ylim(rows, 0.0)
    axes.set_axis_off()
    return axes


def _load(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        msg = (
            f"no figures: matplotlib cannot be imported here ({error}). "
            "Install it with `pip install 'weft[bench]'` or `pip install matplotlib`; table and page need none."
        )
        raise FiguresUnavailableError(msg) from error


def _settings() -> Any:
    return _load("matplotlib").rc_context(SETTINGS)
