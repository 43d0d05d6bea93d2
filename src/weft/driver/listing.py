"""The annotated source of a program: as text, and as a page coloured by where the time goes.

in:   lines with their class, notes and share of the time
out:  `Explanation`: text that a terminal shows; in a notebook, and by `save("page.html")`, a page
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import field
from os import PathLike
from pathlib import Path

from weft.support.records import record

COMPILED, NUMPY, PYTHON, LITTLE = "=", "n", "!", " "
LEGEND = "= compiled   n call of NumPy itself   ! runs in Python"
_SOURCE_WIDTH = 72
_LEAST_SHARE = 0.005  # less than this is not said
_NAMES = {COMPILED: "compiled", NUMPY: "numpy", PYTHON: "python"}


@record(frozen=False)
class Line:
    """What is known of one line: its class, notes in order, and its share of the time."""

    kind: str = ""
    notes: list[str] = field(default_factory=list[str])
    nanoseconds: float = 0.0
    share: float = 0.0
    hindrance: str = ""  # what keeps it from being faster

    def note(self, text: str) -> None:
        """Add a note once."""
        if text not in self.notes:
            self.notes.append(text)


@record
class Listing:
    """A program's source with what became of it."""

    title: str
    first_line: int
    texts: Sequence[str]
    lines: dict[int, Line]
    advice: str = ""

    def numbered(self) -> Iterator[tuple[int, str, Line]]:
        """The lines of the source."""
        for number, text in enumerate(self.texts, start=self.first_line):
            yield number, text, self.lines.get(number, Line())

    def text(self) -> str:
        """For a terminal."""
        width = min(max((len(text) for text in self.texts), default=0), _SOURCE_WIDTH)
        digits = len(str(self.first_line + len(self.texts)))
        shown = [self.title, LEGEND]
        for number, text, line in self.numbered():
            share = f"{line.share:.0%}" if line.share >= _LEAST_SHARE else ""
            head = f"{number:>{digits}} {share:>4} {line.kind or ' '}"
            shown.append(f"{head} | {text:<{width}}   {'; '.join(line.notes)}".rstrip())
        return "\n".join([*shown, self.advice] if self.advice else shown)

    def html(self) -> str:
        """For a browser: one table, no script, nothing from elsewhere."""
        rows = "".join(_row(number, text, line) for number, text, line in self.numbered())
        advice = f"<p class=advice>{html.escape(self.advice)}</p>" if self.advice else ""
        return (
            f"<div class=weft><style>{_STYLE}</style><h1>{html.escape(self.title)}</h1>{advice}"
            f"<p><span class='kind compiled'>compiled</span> <span class='kind numpy'>call of NumPy itself</span> "
            f"<span class='kind python'>runs in Python</span> "
            f"&nbsp; colour and per cent: estimated share of the time</p><table>{rows}</table></div>"
        )


def _row(number: int, text: str, line: Line) -> str:
    colour = f" style='background: rgba(240, 140, 0, {min(line.share, 1.0) * 0.75:.2f})'" if line.share else ""
    share = f"{line.share:.0%}" if line.share >= _LEAST_SHARE else ""
    notes = "<br>".join(html.escape(note) for note in line.notes)
    kind = _NAMES.get(line.kind, "none")
    return (
        f"<tr{colour}><td class=number>{number}</td><td class=share>{share}</td>"
        f"<td class='code {kind}'>{html.escape(text) or '&nbsp;'}</td><td class=notes>{notes}</td></tr>\n"
    )


_STYLE = (
    ".weft { font: 14px/1.45 system-ui, sans-serif; color: #1a1a1a; background: #fff; padding: 1em }"
    ".weft h1 { font-size: 1.1em } .weft table { border-collapse: collapse }"
    ".weft td { padding: 1px 8px; vertical-align: top; text-align: left; white-space: normal }"
    ".weft .code { font: 13px/1.45 ui-monospace, monospace; white-space: pre; border-left: 5px solid transparent }"
    ".weft .number, .weft .share { color: #555; text-align: right; font-variant-numeric: tabular-nums }"
    ".weft .notes { color: #333; max-width: 60em }"
    ".weft .compiled { border-left: 5px solid #2b8a3e } .weft .numpy { border-left: 5px solid #1c6fb5 }"
    ".weft .python { border-left: 5px solid #c92a2a } .weft .kind { padding: 0 8px }"
    ".weft .advice { font-weight: 600 }"
)


class Explanation(str):
    """The text of a listing, which notebooks show as a page."""

    __slots__ = ("listing",)
    listing: Listing

    @classmethod
    def of(cls, listing: Listing) -> Explanation:
        """The text with the page at hand."""
        made = cls(listing.text())
        made.listing = listing
        return made

    def _repr_html_(self) -> str:
        return self.listing.html()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file."""
        title = html.escape(self.listing.title)
        page = f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>{self.listing.html()}</html>\n"
        Path(path).write_text(page, encoding="utf-8")
