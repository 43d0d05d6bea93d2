"""A program's dataflow graph in the user's hands."""

from __future__ import annotations

from dataclasses import dataclass
from types import FunctionType
from typing import Any

from weft.codegen.python import emit_python
from weft.driver.compiler import lower
from weft.ir.nodes import Program
from weft.ir.printer import print_program
from weft.passes.base import Pass


@dataclass(frozen=True, slots=True)
class Graph:
    """An immutable graph: `text`, `apply` a pass to get another, `to_python` to run it in plain Python."""

    program: Program

    @classmethod
    def of_call(cls, function: FunctionType, arguments: tuple[Any, ...]) -> Graph:
        """The graph at the array level for a call."""
        return cls(lower(function, arguments).program)

    @property
    def text(self) -> str:
        """The text form; `weft.ir.parser.parse_program` reads it back."""
        return print_program(self.program)

    def apply(self, step: Pass | type[Pass]) -> Graph:
        """The graph after a pass; this one is unchanged."""
        from weft.ir.verifier import verify

        chosen = step() if isinstance(step, type) else step
        program = chosen.run(self.program)
        verify(program)
        return self if program is self.program else Graph(program)

    def to_python(self) -> str:
        """The graph as runnable Python."""
        return emit_python(self.program)

    def __str__(self) -> str:
        return self.text
