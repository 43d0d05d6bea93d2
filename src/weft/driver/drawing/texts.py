"""Text in boxes of bounded size: how wide it is, and what is left of it."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

FONT_SIZE = 12.0
LINE_HEIGHT = 16.0
CHARACTER_WIDTH = 7.3  # of a monospace font of that size, rounded up
_ELLIPSIS = "…"


def cells(text: str) -> int:
    """Columns a text takes in a monospace font; East Asian characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def text_width(lines: Sequence[str]) -> float:
    """The width of the widest line."""
    return CHARACTER_WIDTH * max((cells(line) for line in lines), default=0)


def clip(text: str, width: int) -> str:
    """The text in so many columns, the end cut off with an ellipsis."""
    if cells(text) <= width:
        return text
    kept = text[: width - 1]
    while cells(kept) > width - 1:
        kept = kept[:-1]
    return kept + _ELLIPSIS


def clip_lines(lines: Sequence[str], width: int, count: int) -> tuple[str, ...]:
    """So many lines of so many columns; the last says how many are left out."""
    shown = lines if len(lines) <= count else lines[: count - 1]
    left = len(lines) - len(shown)
    return (*(clip(line, width) for line in shown), *((f"{_ELLIPSIS} {left} more",) if left else ()))


def wrap_code(lines: Sequence[str], width: int, count: int) -> tuple[str, ...]:
    """Lines broken after commas and spaces where they are too long, then clipped."""
    wrapped: list[str] = []
    for line in lines:
        rest, indent = line, ""
        while cells(indent + rest) > width:
            cut = rest.rfind(" ", 1, width - len(indent))
            if cut <= 0:
                break
            wrapped.append(indent + rest[:cut])
            rest, indent = rest[cut + 1 :], "  "
        wrapped.append(indent + rest)
    return clip_lines(wrapped, width, count)
