"""What Weft raises and warns.

The user's mistake is a `CompileError`, ours an `InternalError` or a `VerificationError`; all are `WeftError`. Mistakes
that NumPy or Python report themselves are never wrapped: the program raises NumPy's exception.

    error[E103]: shapes (4, 3) and (4,) do not broadcast
      --> heat.py:12:9
    12 |     y = A + b
       |         ^^^^^
       = help: write b[:, None] to align b with the rows of A
"""

from __future__ import annotations

from pathlib import Path

from weft.support.spans import Span

# With the place, the source line and the caret line: ten lines at most.
_MESSAGE_LINES = 4
_HELP_LINES = 3
_SOURCE_WIDTH = 100
_CUT = "..."


class WeftError(Exception):
    """Everything Weft itself raises."""


class CompileError(WeftError):
    """The user's program cannot be compiled; `str()` is the whole message, ten lines at most."""

    def __init__(self, code: str, message: str, span: Span, hint: str = "") -> None:
        super().__init__(code, message, span, hint)
        self.code, self.message, self.span, self.hint = code, message, span, hint
        self.place: tuple[int, int] | None = None  # of the program's own statement in which it lies
        self.culprit = ""  # the argument that is at fault as a whole

    def __str__(self) -> str:
        span, gutter = self.span, " " * len(str(self.span.line))
        text, caret = _excerpt(span)
        lines = _first_lines(f"error[{self.code}]: {self.message}", _MESSAGE_LINES)
        lines += [
            f"{gutter}--> {span.file}:{span.line}:{span.start + 1}",
            f"{span.line} | {text}",
            f"{gutter} | {caret}",
        ]
        if self.hint:
            first, *rest = _first_lines(self.hint, _HELP_LINES)
            lines.append(f"{gutter} = help: {first}")
            lines += [f"{gutter}         {line}" for line in rest]
        return "\n".join(lines)


class ArgumentError(WeftError, TypeError):
    """A compiled graph was called with arguments it was not compiled for; `str()` is the whole message."""


class InternalError(WeftError):
    """Weft itself is at fault; `reproducer` is a file with all that is needed to see it again, where one was saved."""

    def __init__(self, message: str, reproducer: Path | None = None) -> None:
        super().__init__(message, reproducer)
        self.message, self.reproducer = message, reproducer

    def __str__(self) -> str:
        lines = [f"internal error: {self.message}", "This is a fault in Weft, not in your program. Please report it"]
        if self.reproducer is None:
            lines[-1] += " with the program and the output of `weft info`."
        else:
            lines[-1] += f" with this file: {self.reproducer}"
        return "\n".join(lines)


class VerificationError(WeftError):
    """`verify=True` found a difference; `str()` is the whole message.

    `output` names what differs ("argument 'A'", "the result[1]"), `span` is the statement that last wrote it, `origin`
    a sentence about the pass it comes from, `reproducer` a script that makes the call again, where one was saved.
    """

    def __init__(self, output: str, message: str, span: Span, origin: str, reproducer: Path | None = None) -> None:
        super().__init__(output, message, span, origin, reproducer)
        self.output, self.message, self.span = output, message, span
        self.origin, self.reproducer = origin, reproducer

    def __str__(self) -> str:
        span, gutter = self.span, " " * len(str(self.span.line))
        text, caret = _excerpt(span)
        lines = [
            *_first_lines(self.message, _MESSAGE_LINES),
            f"{gutter}--> {span.file}:{span.line}:{span.start + 1}",
            f"{span.line} | {text}",
            f"{gutter} | {caret}",
            f"{gutter} = origin: {self.origin}",
        ]
        if self.reproducer is not None:
            lines.append(f"{gutter} = reproducer: {self.reproducer}")
        return "\n".join(lines)


class FallbackWarning(UserWarning):
    """Part of a program runs in Python: the results are right, the speed is Python's."""


class PerformanceWarning(UserWarning):
    """A program is compiled and right, but slower than it could be."""


def _first_lines(text: str, limit: int) -> list[str]:
    """The lines of `text`, the last of them marked when there were more than `limit`."""
    lines = text.splitlines() or [""]
    if len(lines) <= limit:
        return lines
    return [*lines[: limit - 1], f"{lines[limit - 1]} {_CUT}"]


def _excerpt(span: Span) -> tuple[str, str]:
    """The source line and the carets under it; of an over-long line, the part around the span."""
    start, stop = span.start, max(span.stop, span.start + 1)
    left, right = 0, len(span.text)
    if right > _SOURCE_WIDTH:
        # The span in the middle, or its beginning when it is itself too long.
        middle = (start + min(stop, start + _SOURCE_WIDTH)) // 2
        left = min(max(0, middle - _SOURCE_WIDTH // 2), max(0, right - _SOURCE_WIDTH))
        right = left + _SOURCE_WIDTH
    head = _CUT if left > 0 else ""
    tail = _CUT if right < len(span.text) else ""
    # Tabs stay tabs, so that the caret stands under its character however wide a tab is shown.
    before = "".join("\t" if character == "\t" else " " for character in head + span.text[left:start])
    padding = before.ljust(len(head) + start - left)
    return head + span.text[left:right] + tail, padding + "^" * (max(min(stop, right), start + 1) - start)
