"""WEFT_DUMP: the graph after each pass, the C text and a log, as files one can read."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from weft.ir.nodes import Program
from weft.ir.printer import print_program
from weft.support.records import record


class NamedStage(Protocol):
    """A step of the compiler and what it gave."""

    @property
    def name(self) -> str: ...
    @property
    def program(self) -> Program: ...


@record
class Dump:
    """Files of one variant: DIR/<program>.<variant>.<number>-<stage>.weft, .c, and DIR/<program>.log.

    What the C text is linked with comes as DIR/<program>.<variant>.unit<number>.c.
    """

    directory: Path
    program: str
    variant: int

    def write(self, stages: Sequence[NamedStage], source: str, units: Sequence[str] = ()) -> None:
        """All of one compile; a directory that cannot be written is no reason to stop."""
        try:
            self._write(stages, source, units)
        except OSError as problem:
            warnings.warn(f"WEFT_DUMP={self.directory}: nothing is dumped: {problem}", stacklevel=2)

    def _write(self, stages: Sequence[NamedStage], source: str, units: Sequence[str]) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        stem = f"{self.program}.{self.variant}"
        for number, stage in enumerate(stages):
            file = self.directory / f"{stem}.{number}-{stage.name}.weft"
            file.write_text(print_program(stage.program), encoding="utf-8")
        (self.directory / f"{stem}.c").write_text(source, encoding="utf-8")
        for number, text in enumerate(units):
            (self.directory / f"{stem}.unit{number}.c").write_text(text, encoding="utf-8")

    def log(self, text: str) -> None:
        """One line in the log."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with (self.directory / f"{self.program}.log").open("a", encoding="utf-8") as file:
                file.write(text.rstrip() + "\n")
        except OSError:
            return  # `write` has said so
