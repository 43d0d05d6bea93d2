"""Lines of C with indentation, and the Python line above what it became."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import field
from pathlib import PurePath

from weft.support.records import record
from weft.support.spans import Span


@record(frozen=False)
class Writer:
    """C text under construction."""

    lines: list[str] = field(default_factory=list[str])
    depth: int = 0
    place: tuple[str, int] = ("", 0)

    def line(self, text: str = "") -> None:
        """One line at the present depth; labels and preprocessor lines stand at the left."""
        self.lines.append(f"{'    ' * self.depth}{text}" if text and not text.startswith("#") else text)

    def comment(self, span: Span | None) -> None:
        """The source line of a node, unless it is the one last shown."""
        if span is None or (span.file, span.line) == self.place:
            return
        self.place = (span.file, span.line)
        text = span.text.strip().replace("*/", "* /").replace("/*", "/ *").replace("\\", "\\\\")
        self.line(f"/* {PurePath(span.file).name}:{span.line}: {text} */")

    @contextmanager
    def block(self, head: str = "") -> Generator[None]:
        """`head {` ... `}`."""
        self.line(f"{head} {{" if head else "{")
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines) + "\n"
