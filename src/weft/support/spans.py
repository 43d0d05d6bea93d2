"""Places in the user's source.

in:   an `ast` node and the lines of the file it was parsed from
out:  a `Span`, with columns counted in characters

`ast` counts columns in UTF-8 bytes, so `é + b` puts `b` at 5 there and at 4 here.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from types import CodeType
from typing import Protocol

from weft.support.records import record


class Located(Protocol):
    """An `ast` node with a place: an expression, a statement, an argument, a keyword."""

    @property
    def lineno(self) -> int: ...
    @property
    def col_offset(self) -> int: ...
    @property
    def end_lineno(self) -> int | None: ...
    @property
    def end_col_offset(self) -> int | None: ...


@record
class Span:
    """Characters `start` to `stop` (0-based, end excluded) of line `line` (1-based) of `file`; `text` is that line."""

    file: str
    line: int
    start: int
    stop: int
    text: str

    @classmethod
    def from_code(cls, code: CodeType) -> Span:
        """The first line of a function, as far as its file can still be read."""
        text = linecache.getline(code.co_filename, code.co_firstlineno).rstrip()
        start = len(text) - len(text.lstrip())
        return cls(code.co_filename, code.co_firstlineno, start, max(len(text), start + 1), text)

    @classmethod
    def from_node(
        cls, node: Located, file: str, lines: Sequence[str], *, line_offset: int = 0, indent: int = 0
    ) -> Span:
        """The place of `node`; one that goes on over several lines is cut to its first.

        `lines` are the lines the node was parsed from, split at newlines only. Where a function was cut out of its
        file, `line_offset` is the number of lines before it; where it was also dedented, `indent` is the number of
        characters taken off each line, and `lines` are those of the file, not dedented.
        """
        text = lines[node.lineno - 1].rstrip() if 0 < node.lineno <= len(lines) else ""
        parsed = text[indent:].encode()
        start = indent + _characters(parsed, node.col_offset)
        if node.end_col_offset is None or node.end_lineno != node.lineno:
            stop = len(text)
        else:
            stop = indent + _characters(parsed, node.end_col_offset)
        return cls(file, node.lineno + line_offset, start, max(start, stop), text)


def _characters(line: bytes, offset: int) -> int:
    """How many characters the first `offset` bytes of `line` are; a part of a character at the end counts for none."""
    return len(line[:offset].decode(errors="ignore"))
